/* hf_settings_private.h - config.json of a model of transformers, and what of it the model cannot
 * express. */
#ifndef TF_CONVERT_HF_SETTINGS_PRIVATE_H
#define TF_CONVERT_HF_SETTINGS_PRIVATE_H

#include "convert/import_private.h"

enum { TF_HF_MOST_IDS = 1 << 24 };

struct tf_hf_settings {
    struct tf_import *m;  /* config and ff are set; json is as it is in the file */
    struct tf_value json; /* with what transformers adds */
};

/* The model_type of m->json, or "". */
const char *tf_hf_type(const struct tf_import *m);
/* Fail if it is not a type that has a row, and say what it is. */
int tf_hf_check_type(const struct tf_import *m, struct tf_err *err) TF_MUST_CHECK;
/* Take m->json, and give it what its model_type's class of transformers 5.24 has for keys that it
 * lacks. m->config begins as tf_names_config(). */
int tf_hf_settings_read(struct tf_hf_settings *s, struct tf_import *m,
                        struct tf_err *err) TF_MUST_CHECK;

/* A setting that the model cannot express, for the error that names all of them. */
void tf_hf_refuse(struct tf_hf_settings *s, const char *key, const char *value);
/* A flag that has to be `want`, or absent where it has no default. */
int tf_hf_require_flag(struct tf_hf_settings *s, const char *key, bool want,
                       struct tf_err *err) TF_MUST_CHECK;
int tf_hf_number(struct tf_hf_settings *s, const char *key, int64_t most, int64_t *to,
                 struct tf_err *err) TF_MUST_CHECK;

/* Set members of m->config: layers, d_model and d_ff, and m->heads; eos, pad and *start, with which
 * the decoder starts; vocab_size, and source_vocab_size where m->files has two lists; the three
 * kinds of dropout; the activation. */
int tf_hf_shape(struct tf_hf_settings *s, struct tf_err *err) TF_MUST_CHECK;
/* All of these of a model with one vocab_size; also heads, d_k and d_v. */
int tf_hf_common(struct tf_hf_settings *s, int64_t *start, struct tf_err *err) TF_MUST_CHECK;
/* The decoder has to start with eos. */
void tf_hf_start_with_eos(struct tf_hf_settings *s, int64_t start);
int tf_hf_ids(struct tf_hf_settings *s, int64_t *start, struct tf_err *err) TF_MUST_CHECK;
int tf_hf_dropout(struct tf_hf_settings *s, struct tf_err *err) TF_MUST_CHECK;
int tf_hf_activation(struct tf_hf_settings *s, struct tf_err *err) TF_MUST_CHECK;

#endif
