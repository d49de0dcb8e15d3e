/* hf_settings.c - see hf_settings_private.h. */
#include "cbor/json.h"
#include "convert/hf_settings_private.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

int tf_hf_settings_read(struct tf_hf_settings *s, struct tf_arena *a, const char *json, size_t n,
                        struct tf_err *err)
{
    *s = (struct tf_hf_settings){0};
    if (tf_value_from_json_text(&s->json, a, json, n, TF_JSON_PLAIN, "value", err) < 0)
        return -1;
    return s->json.kind == TF_MAP ? 0 : tf_fail(err, "not a JSON object");
}

void tf_hf_refuse(struct tf_hf_settings *s, const char *key, const char *value)
{
    tf_buf_item(&s->refused, "%s: %s", key, value);
}

void tf_hf_settings_release(struct tf_hf_settings *s)
{
    tf_buf_release(&s->refused);
}

int tf_hf_require_flag(struct tf_hf_settings *s, const char *key, bool want, struct tf_err *err)
{
    bool got = want;
    if (tf_value_bool_of(&s->json, key, &got, err) < 0)
        return -1;
    if (got != want)
        tf_hf_refuse(s, key, got ? "true" : "false");
    return 0;
}

int tf_hf_number(struct tf_hf_settings *s, const char *key, int64_t most, int64_t *to,
                 struct tf_err *err)
{
    const int rc = tf_value_int_of(&s->json, key, 0, most, to, err);
    return rc == 1 ? tf_fail(err, "%s is missing", key) : rc;
}

int tf_hf_both(struct tf_hf_settings *s, const char *what, int64_t most, int64_t *to,
               struct tf_err *err)
{
    char key[64], other[64], value[32];
    int64_t more;
    snprintf(key, sizeof key, "encoder_%s", what);
    snprintf(other, sizeof other, "decoder_%s", what);
    if (tf_hf_number(s, key, most, to, err) != 0 || tf_hf_number(s, other, most, &more, err) != 0)
        return -1;
    snprintf(value, sizeof value, "%" PRId64, more);
    if (*to != more)
        tf_hf_refuse(s, other, value);
    return 0;
}

int tf_hf_activation(struct tf_hf_settings *s, const char *absent, struct tf_config *c,
                     struct tf_err *err)
{
    const char *word = absent;
    if (tf_value_text_of(&s->json, "activation_function", &word, err) < 0)
        return -1;
    c->activation = strcmp(word, "relu") == 0 ? TF_ACTIVATION_RELU : TF_ACTIVATION_SWISH;
    if (strcmp(word, "relu") != 0 && strcmp(word, "swish") != 0 && strcmp(word, "silu") != 0)
        tf_hf_refuse(s, "activation_function", word);
    return 0;
}

int tf_hf_head_width(struct tf_config *c, struct tf_err *err)
{
    if (c->heads < 1 || c->d_model % c->heads != 0)
        return tf_fail(err, "d_model %" PRId64 ": not a multiple of %" PRId64 " heads", c->d_model,
                       c->heads);
    c->d_k = c->d_v = c->d_model / c->heads;
    return 0;
}
