/* hf_tokenizer_private.h - tokenizer.json of Hugging Face's tokenizers
 * (github.com/huggingface/tokenizers), where it stands for a SentencePiece model, as in what
 * transformers 5 saves. */
#ifndef TF_CONVERT_HF_TOKENIZER_PRIVATE_H
#define TF_CONVERT_HF_TOKENIZER_PRIVATE_H

#include "base/buf.h"
#include "text/piece_list.h"

/* Append to *spm (empty) the SentencePiece model that segments text as json [n] says, and set
 * *list to its pieces and added tokens by id; ids that are left out are <unused-N>. Of kind Unigram
 * the pieces keep their scores. Of kind BPE they are priced by the order of their merges: the file
 * has to have all of a piece, one after the other, as one that a SentencePiece model became has.
 * <s>, </s>, <pad>, <mask> and tags of languages are control pieces, if they are special; of the
 * other added tokens (*added)[id] has flags of text/added.h. Where several blanks are not one,
 * those at the beginning are a piece of their own, and tokenizers make it one with the space that
 * they add. Text is normalised as SentencePiece does it; of a letter and its marks, up to 5 bytes,
 * tokenizers keep what the shortest beginning in the table becomes.
 * Errors: other kinds; normalizers and pre-tokenizers that SentencePiece has not, by name; merges
 * that it would not make; a BPE model that does not make one <unk> of a run of unknown characters,
 * or has a piece of several characters that no merge makes. */
int tf_hf_tokenizer(struct tf_buf *spm, struct tf_piece_list *list, const uint8_t **added,
                    struct tf_arena *a, const char *json, size_t n,
                    struct tf_err *err) TF_MUST_CHECK;

#endif
