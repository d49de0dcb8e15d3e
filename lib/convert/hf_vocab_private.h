/* hf_vocab_private.h - the ids of M2M100 and NLLB in transformers
 * (src/transformers/models/m2m_100/tokenization_m2m_100.py, models/nllb/tokenization_nllb.py). */
#ifndef TF_MODEL_HF_VOCAB_PRIVATE_H
#define TF_MODEL_HF_VOCAB_PRIVATE_H

#include "text/piece_list.h"

/* list: the pieces by id, `size` of them. M2M100: those of vocab.json (pieces, a path), the tags of
 * languages. NLLB (pieces NULL): <s> <pad> </s> <unk>, the SentencePiece model's [n] after its
 * first three, the tags, <mask>. Ids that are left are <unused-N>. tokens: the path of
 * special_tokens_map.json or tokenizer_config.json, whose additional_special_tokens are the tags in
 * the order of their ids. Errors: more pieces than `size`; no tags. */
int tf_hf_m2m_pieces(struct tf_piece_list *list, struct tf_arena *a, const void *spm, size_t n,
                     const char *pieces, const char *tokens, int64_t size,
                     struct tf_err *err) TF_MUST_CHECK;

#endif
