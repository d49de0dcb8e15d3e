/* hf_type_private.h - which model of transformers a config.json is of. */
#ifndef TF_MODEL_HF_TYPE_PRIVATE_H
#define TF_MODEL_HF_TYPE_PRIVATE_H

#include "base/arena.h"
#include "base/err.h"

/* *type = model_type of the config.json at path: marian, m2m_100 or fsmt. Errors: another type, by
 * what it is; none. */
int tf_hf_type(const char **type, struct tf_arena *a, const char *path,
               struct tf_err *err) TF_MUST_CHECK;
/* The same of a value that has been read. */
struct tf_value;
int tf_hf_type_of(const char **type, const struct tf_value *config,
                  struct tf_err *err) TF_MUST_CHECK;

#endif
