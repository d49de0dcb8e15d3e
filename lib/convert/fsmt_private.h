/* fsmt_private.h - FSMT models of Hugging Face's transformers (src/transformers/models/fsmt):
 * models of fairseq (fairseq_private.h) with a config.json. */
#ifndef TF_CONVERT_FSMT_PRIVATE_H
#define TF_CONVERT_FSMT_PRIVATE_H

#include "convert/program_private.h"

/* A directory has config.json, model.safetensors or pytorch_model.bin, vocab-src.json,
 * vocab-tgt.json, merges.txt, and tokenizer_config.json if there is one. */
extern const struct tf_program tf_fsmt;

/* m->json and m->bundle. Errors also: sizes of vocabularies other than those of the embeddings. */
int tf_fsmt_import(struct tf_import *m, struct tf_err *err) TF_MUST_CHECK;

#endif
