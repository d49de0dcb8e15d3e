/* hf_vocab_private.h - the ids of M2M100 and NLLB in transformers
 * (src/transformers/models/m2m_100/tokenization_m2m_100.py, models/nllb/tokenization_nllb.py). */
#ifndef TF_MODEL_HF_VOCAB_PRIVATE_H
#define TF_MODEL_HF_VOCAB_PRIVATE_H

#include "text/piece_list.h"

/* Make *list `size` pieces long, with <unused-N>. Errors: it is longer. */
int tf_hf_pad_pieces(struct tf_piece_list *list, struct tf_arena *a, int64_t size,
                     struct tf_err *err) TF_MUST_CHECK;

/* list: the pieces by id, `size` of them. M2M100: those of vocab.json (pieces, a path), the tags of
 * languages. NLLB (pieces NULL): <s> <pad> </s> <unk>, the SentencePiece model's [n] after its
 * first three, the tags, <mask>. Ids that are left are <unused-N>. tokens: the path of
 * special_tokens_map.json or tokenizer_config.json, whose additional_special_tokens or
 * extra_special_tokens (of transformers 5) are the tags in the order of their ids; where they are
 * empty and language_codes is m2m100, those 100 of M2M100. Errors: more pieces than `size`; no
 * tags; for NLLB those of transformers 5, which puts <mask> before them where it made the ids, but
 * not where it read them from an older file. */
int tf_hf_m2m_pieces(struct tf_piece_list *list, struct tf_arena *a, const void *spm, size_t n,
                     const char *pieces, const char *tokens, int64_t size,
                     struct tf_err *err) TF_MUST_CHECK;

#endif
