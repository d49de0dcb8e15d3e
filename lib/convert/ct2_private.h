/* ct2_private.h - models of CTranslate2 (github.com/OpenNMT/CTranslate2,
 * python/ctranslate2/specs/transformer_spec.py). */
#ifndef TF_CONVERT_CT2_PRIVATE_H
#define TF_CONVERT_CT2_PRIVATE_H

#include "convert/program_private.h"

/* A directory has model.bin, config.json if there is one, shared_vocabulary or source_vocabulary
 * and target_vocabulary (.json or .txt), and SentencePiece models beside them. */
extern const struct tf_program tf_ct2;
/* A package of Argos has such a directory, "model", beside SentencePiece models or codes
 * (bpe.model), and metadata.json with a target_prefix. */
extern const struct tf_program tf_argos;

/* The tensors and config.json of a model; m->pieces are set. A list without <unk> gets it as its
 * last. Without a table, positions count from 1 in t2t's, as OpenNMT-tf counts them. A source ends
 * with eos if add_source_eos says so, and where the decoder starts with a zero vector or with eos:
 * there the tools before CTranslate2 add it. */
int tf_ct2_import(struct tf_import *m, struct tf_err *err) TF_MUST_CHECK;

#endif
