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
 * <s>, </s>, <pad>, <mask> and tags of languages are control pieces, if they are special; other
 * added tokens are pieces that text may contain anywhere, the space before one and the word after
 * it as pieces of text; at the beginning of a text tokenizers add no space before one, and within a
 * word one after it. Those with lstrip or the form of a tag, (*takes_space)[id], have the space
 * before them. One with * single_word is found within words, too, which is a warning.
 * Blanks at the ends of a text are those of SentencePiece: dropped where several become one;
 * otherwise one at the beginning is a piece of its own, and tokenizers make it one with the space
 * that they add.
 * Errors: other kinds; normalizers and pre-tokenizers that SentencePiece has not, by name; merges
 * that it would not make; a BPE model that does not make one <unk> of a run of unknown characters,
 * or has a piece of several characters that no merge makes. */
int tf_hf_tokenizer(struct tf_buf *spm, struct tf_piece_list *list, const bool **takes_space,
                    struct tf_arena *a, const char *json, size_t n,
                    struct tf_err *err) TF_MUST_CHECK;

#endif
