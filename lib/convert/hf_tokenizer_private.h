/* hf_tokenizer_private.h - tokenizer.json of Hugging Face's tokenizers
 * (github.com/huggingface/tokenizers), where it stands for a SentencePiece model, as in what
 * transformers 5 saves. */
#ifndef TF_MODEL_HF_TOKENIZER_PRIVATE_H
#define TF_MODEL_HF_TOKENIZER_PRIVATE_H

#include "base/buf.h"
#include "text/piece_list.h"

/* Append to *spm (empty) the SentencePiece model that segments text as json [n] says, and set
 * *list to its pieces and added tokens by id; ids that are left out are <unused-N>. Of kind Unigram
 * the pieces keep their scores. Of kind BPE they are priced by the order of their merges: the file
 * has to have all of a piece, one after the other, as one that a SentencePiece model became has.
 * Special tokens are control pieces; other added ones are pieces that are never split. Blanks at
 * the end of a text are dropped, as SentencePiece drops them. Errors: other kinds; normalizers and
 * pre-tokenizers that SentencePiece has not, by name; merges that it would not make. */
int tf_hf_tokenizer(struct tf_buf *spm, struct tf_piece_list *list, struct tf_arena *a,
                    const char *json, size_t n, struct tf_err *err) TF_MUST_CHECK;

#endif
