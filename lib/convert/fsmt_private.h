/* fsmt_private.h - FSMT models of Hugging Face's transformers (src/transformers/models/fsmt):
 * models of fairseq (fairseq_private.h) with a config.json. */
#ifndef TF_MODEL_FSMT_PRIVATE_H
#define TF_MODEL_FSMT_PRIVATE_H

#include "convert/fairseq_private.h"

/* Replace the tensors of *b by those of the configuration *c, under our names. json [n]: the
 * contents of config.json. langs: as "langs" there has them, or NULL. Errors: settings that the
 * model cannot express, all of them by their names; sizes of vocabularies other than those of the
 * embeddings; tensors that are missing, of another shape or left over. */
int tf_fsmt_import(struct tf_bundle *b, struct tf_config *c, struct tf_fairseq_langs *langs,
                   const char *json, size_t n, struct tf_err *err) TF_MUST_CHECK;

/* Check the contents of tokenizer_config.json: a tokenizer that makes text lower case is refused.
 */
int tf_fsmt_check_tokenizer(const char *json, size_t n, struct tf_err *err) TF_MUST_CHECK;

#endif
