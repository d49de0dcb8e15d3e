/* hf_settings_private.h - config.json of a model of transformers, and what of it the model cannot
 * express. */
#ifndef TF_MODEL_HF_SETTINGS_PRIVATE_H
#define TF_MODEL_HF_SETTINGS_PRIVATE_H

#include "base/buf.h"
#include "cbor/value.h"
#include "model/config.h"

struct tf_hf_settings {
    struct tf_value json, own; /* with what transformers adds; as it is in the file */
    const char *type;          /* model_type */
    struct tf_buf refused;     /* settings that are not supported, by name */
};

/* Read config.json [n], and give it what its model_type's class of transformers 5.24 has for keys
 * that it lacks. Errors: not an object in JSON; another model_type than marian, m2m_100 and fsmt.
 * The values are in the arena. */
int tf_hf_settings_read(struct tf_hf_settings *s, struct tf_arena *a, const char *json, size_t n,
                        struct tf_err *err) TF_MUST_CHECK;
/* The settings of a tokenizer, which have no defaults. */
int tf_hf_tokenizer_read(struct tf_hf_settings *s, struct tf_arena *a, const char *json, size_t n,
                         struct tf_err *err) TF_MUST_CHECK;
void tf_hf_refuse(struct tf_hf_settings *s, const char *key, const char *value);
void tf_hf_settings_release(struct tf_hf_settings *s);

/* A flag that has to be `want`, or absent where it has no default. */
int tf_hf_require_flag(struct tf_hf_settings *s, const char *key, bool want,
                       struct tf_err *err) TF_MUST_CHECK;
bool tf_hf_is_null(const struct tf_hf_settings *s, const char *key); /* or absent */
int tf_hf_number(struct tf_hf_settings *s, const char *key, int64_t most, int64_t *to,
                 struct tf_err *err) TF_MUST_CHECK;
/* The same of both stacks: encoder_WHAT and decoder_WHAT. */
int tf_hf_both(struct tf_hf_settings *s, const char *what, int64_t most, int64_t *to,
               struct tf_err *err) TF_MUST_CHECK;
int tf_hf_activation(struct tf_hf_settings *s, struct tf_config *c,
                     struct tf_err *err) TF_MUST_CHECK;
int tf_hf_dropout(const struct tf_hf_settings *s, struct tf_config *c,
                  struct tf_err *err) TF_MUST_CHECK;
/* d_k and d_v; d_model and heads are set. */
int tf_hf_head_width(struct tf_config *c, struct tf_err *err) TF_MUST_CHECK;

#endif
