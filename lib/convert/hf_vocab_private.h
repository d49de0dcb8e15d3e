/* hf_vocab_private.h - the ids of M2M100 and NLLB in transformers
 * (src/transformers/models/m2m_100/tokenization_m2m_100.py, models/nllb/tokenization_nllb.py). */
#ifndef TF_CONVERT_HF_VOCAB_PRIVATE_H
#define TF_CONVERT_HF_VOCAB_PRIVATE_H

#include "convert/import_private.h"

/* Set m->pieces[0] to the pieces by id, as many as there are embeddings. M2M100: those of
 * vocab.json (m->files.pieces), the tags of languages. NLLB (no such file): <s> <pad> </s> <unk>,
 * the pieces of the SentencePiece model spm [n] after its first three, the tags, <mask>. Ids that
 * are left are <unused-N>. additional_special_tokens or extra_special_tokens (of transformers 5) of
 * special_tokens_map.json or tokenizer_config.json are the tags in the order of their ids; where
 * they are empty and language_codes is m2m100, those 100 of M2M100; where there is no list of them,
 * they and <mask> are left to added_tokens_decoder, if it has <mask>.
 * Errors: more pieces than embeddings; no tags; for NLLB those of transformers 5, which puts <mask>
 * before them where it made the ids, but not where it read them from an older file. */
int tf_hf_m2m_pieces(struct tf_import *m, const void *spm, size_t n,
                     struct tf_err *err) TF_MUST_CHECK;

#endif
