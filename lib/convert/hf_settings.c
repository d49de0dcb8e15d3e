/* hf_settings.c - see hf_settings_private.h. */
#include "cbor/json.h"
#include "convert/hf_settings_private.h"
#include "convert/hf_type_private.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* What the configuration classes of transformers 5.24 have for keys that a file lacks
 * (models/marian/configuration_marian.py and the like): a file saved there contains them all, one
 * that was trimmed or written by hand may not. */
#define OF_ALL \
    "\"d_model\": 1024, \"encoder_layers\": 12, \"decoder_layers\": 12, " \
    "\"encoder_ffn_dim\": 4096, \"decoder_ffn_dim\": 4096, " \
    "\"encoder_attention_heads\": 16, \"decoder_attention_heads\": 16, " \
    "\"dropout\": 0.1, \"activation_dropout\": 0.0, "
#define OF_FAIRSEQ \
    "\"activation_function\": \"relu\", \"scale_embedding\": true, " \
    "\"decoder_start_token_id\": 2, \"pad_token_id\": 1, \"eos_token_id\": 2, "

static const struct {
    const char *type, *json;
} defaults[] = {
    {"marian",
     "{" OF_ALL "\"activation_function\": \"gelu\", \"scale_embedding\": false, "
     "\"vocab_size\": 58101, \"decoder_start_token_id\": 58100, \"pad_token_id\": 58100, "
     "\"eos_token_id\": 0, \"attention_dropout\": 0.0, "
     "\"share_encoder_decoder_embeddings\": true, \"tie_word_embeddings\": true}"},
    {"m2m_100", "{" OF_ALL OF_FAIRSEQ "\"vocab_size\": 128112, \"attention_dropout\": 0.1, "
                "\"tie_word_embeddings\": true}"},
    {"fsmt", "{" OF_ALL OF_FAIRSEQ "\"src_vocab_size\": 42024, \"tgt_vocab_size\": 42024, "
             "\"attention_dropout\": 0.0, \"tie_word_embeddings\": false, "
             "\"langs\": [\"en\", \"de\"]}"},
};

/* Other names that these classes have for a key (attribute_map). */
static const struct {
    const char *key, *other;
} aliases[] = {{"encoder_attention_heads", "num_attention_heads"},
               {"encoder_layers", "num_hidden_layers"},
               {"d_model", "hidden_size"},
               {"tgt_vocab_size", "vocab_size"}}; /* of FSMT */

static const char *defaults_of(const char *type)
{
    size_t i = 0;
    while (strcmp(type, defaults[i].type) != 0) /* tf_hf_type_of knows the same types */
        i++;
    return defaults[i].json;
}

static int add_defaults(struct tf_hf_settings *s, struct tf_arena *a, struct tf_err *err)
{
    struct tf_value add;
    const char *json = defaults_of(s->type);
    if (tf_value_from_json_text(&add, a, json, strlen(json), TF_JSON_PLAIN, "value", err) < 0)
        return -1;
    for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++) {
        const struct tf_value *other = tf_value_get(&s->own, aliases[i].other);
        if (other != NULL)
            tf_value_put(a, &add, aliases[i].key, *other);
    }
    for (size_t i = 0; i < add.n; i++)
        if (tf_value_get(&s->own, add.keys[i]) == NULL)
            tf_value_put(a, &s->json, add.keys[i], add.items[i]);
    return 0;
}

static int read_object(struct tf_value *v, struct tf_arena *a, const char *json, size_t n,
                       struct tf_err *err)
{
    if (tf_value_from_json_text(v, a, json, n, TF_JSON_PLAIN, "value", err) < 0)
        return -1;
    return v->kind == TF_MAP ? 0 : tf_fail(err, "not a JSON object");
}

int tf_hf_tokenizer_read(struct tf_hf_settings *s, struct tf_arena *a, const char *json, size_t n,
                         struct tf_err *err)
{
    *s = (struct tf_hf_settings){.type = ""};
    const int rc = read_object(&s->json, a, json, n, err);
    s->own = s->json;
    return rc;
}

int tf_hf_settings_read(struct tf_hf_settings *s, struct tf_arena *a, const char *json, size_t n,
                        struct tf_err *err)
{
    *s = (struct tf_hf_settings){.type = ""};
    if (read_object(&s->own, a, json, n, err) != 0 || tf_hf_type_of(&s->type, &s->own, err) != 0)
        return -1;
    s->json = tf_value_clone(a, &s->own);
    return add_defaults(s, a, err);
}

void tf_hf_refuse(struct tf_hf_settings *s, const char *key, const char *value)
{
    const bool absent =
        tf_value_get(&s->own, key) == NULL && tf_value_get(&s->json, key) != NULL;
    tf_buf_item(&s->refused, "%s: %s%s", key, value,
                absent ? " (which transformers takes, as the key is absent)" : "");
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

bool tf_hf_is_null(const struct tf_hf_settings *s, const char *key)
{
    const struct tf_value *v = tf_value_get(&s->json, key);
    return v == NULL || v->kind == TF_NULL;
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

int tf_hf_activation(struct tf_hf_settings *s, struct tf_config *c, struct tf_err *err)
{
    const char *word = "missing";
    if (tf_value_text_of(&s->json, "activation_function", &word, err) < 0)
        return -1;
    c->activation = strcmp(word, "relu") == 0 ? TF_ACTIVATION_RELU : TF_ACTIVATION_SWISH;
    if (strcmp(word, "relu") != 0 && strcmp(word, "swish") != 0 && strcmp(word, "silu") != 0)
        tf_hf_refuse(s, "activation_function", word);
    return 0;
}

int tf_hf_dropout(const struct tf_hf_settings *s, struct tf_config *c, struct tf_err *err)
{
    const struct tf_value *json = &s->json;
    return tf_value_real_of(json, "dropout", 0, 0.999, &c->dropout, err) < 0 ||
                   tf_value_real_of(json, "attention_dropout", 0, 0.999, &c->attention_dropout,
                                    err) < 0 ||
                   tf_value_real_of(json, "activation_dropout", 0, 0.999, &c->relu_dropout, err) < 0
               ? -1
               : 0;
}

int tf_hf_head_width(struct tf_config *c, struct tf_err *err)
{
    if (c->heads < 1 || c->d_model % c->heads != 0)
        return tf_fail(err, "d_model %" PRId64 ": not a multiple of %" PRId64 " heads", c->d_model,
                       c->heads);
    c->d_k = c->d_v = c->d_model / c->heads;
    return 0;
}
