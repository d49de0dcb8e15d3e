/* hf_settings.c - see hf_settings_private.h. */
#include "convert/hf_settings_private.h"
#include "cbor/json.h"
#include "convert/names_private.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- which model it is ---- */

#define DECODER "a language model, which has no encoder; "
#define ENCODER "an encoder, which writes no text; "
#define SPEECH "a model of speech; "

/* The types that people have most, and what they are. */
static const struct {
    const char *type, *what;
} others[] = {
    {"t5", "T5, whose positions, norms and inner layers are others; "},
    {"mt5", "T5, whose positions, norms and inner layers are others; "},
    {"umt5", "T5, whose positions, norms and inner layers are others; "},
    {"longt5", "T5, whose positions, norms and inner layers are others; "},
    {"pegasus", "Pegasus, which has other inner layers; "},
    {"nllb-moe", "a mixture of experts; "},
    {"encoder-decoder", "two models, an encoder and a decoder of other kinds; "},
    {"whisper", SPEECH},
    {"speech_to_text", SPEECH},
    {"seamless_m4t", SPEECH},
    {"seamless_m4t_v2", SPEECH},
    {"gpt2", DECODER},
};

/* Kinds of models by the end of the name of their class. */
static const struct {
    const char *end, *what;
} classes[] = {{"ForCausalLM", DECODER},
               {"LMHeadModel", DECODER},
               {"ForMaskedLM", ENCODER},
               {"ForSequenceClassification", ENCODER},
               {"ForSpeechSeq2Seq", SPEECH}};

static const char *describe_type(const char *type, const struct tf_value *config)
{
    const struct tf_value *list = tf_value_find(config, "architectures", TF_ARRAY);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(type, others[i].type) == 0)
            return others[i].what;
    if (list == NULL || list->n == 0 || list->items[0].kind != TF_TEXT)
        return "";
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
        if (tf_ends_with(list->items[0].text, classes[i].end))
            return classes[i].what;
    return "";
}

const char *tf_hf_type(const struct tf_import *m)
{
    const struct tf_value *type = tf_value_find(&m->json, "model_type", TF_TEXT);
    return type != NULL ? type->text : "";
}

/* ---- what files lack ---- */

/* What the configuration classes of transformers 5.24 have for keys that a file lacks
 * (models/marian/configuration_marian.py and the like): a file saved there contains them all, one
 * that was trimmed or written by hand may not. */
#define COMMON \
    "\"d_model\": 1024, \"encoder_layers\": 12, \"decoder_layers\": 12, " \
    "\"encoder_ffn_dim\": 4096, \"decoder_ffn_dim\": 4096, " \
    "\"encoder_attention_heads\": 16, \"decoder_attention_heads\": 16, " \
    "\"dropout\": 0.1, \"activation_dropout\": 0.0, "
#define FAIRSEQ_COMMON \
    "\"activation_function\": \"relu\", \"scale_embedding\": true, " \
    "\"decoder_start_token_id\": 2, \"pad_token_id\": 1, \"eos_token_id\": 2, "

#define BART_COMMON \
    "\"activation_function\": \"gelu\", \"scale_embedding\": false, \"vocab_size\": 50265, " \
    "\"pad_token_id\": 1, \"eos_token_id\": 2, \"attention_dropout\": 0.0, " \
    "\"tie_word_embeddings\": true"

static const struct {
    const char *type, *json;
} defaults[] = {
    {"bart", "{" COMMON BART_COMMON ", \"decoder_start_token_id\": 2}"},
    {"mbart", "{" COMMON BART_COMMON "}"},
    {"marian",
     "{" COMMON "\"activation_function\": \"gelu\", \"scale_embedding\": false, "
     "\"vocab_size\": 58101, \"decoder_start_token_id\": 58100, \"pad_token_id\": 58100, "
     "\"eos_token_id\": 0, \"attention_dropout\": 0.0, "
     "\"share_encoder_decoder_embeddings\": true, \"tie_word_embeddings\": true}"},
    {"m2m_100", "{" COMMON FAIRSEQ_COMMON "\"vocab_size\": 128112, \"attention_dropout\": 0.1, "
                "\"tie_word_embeddings\": true}"},
    {"fsmt", "{" COMMON FAIRSEQ_COMMON "\"src_vocab_size\": 42024, \"tgt_vocab_size\": 42024, "
             "\"attention_dropout\": 0.0, \"tie_word_embeddings\": false, "
             "\"langs\": [\"en\", \"de\"]}"},
};

/* Other names that these classes have for a key (attribute_map); the last is FSMT's. */
static const struct {
    const char *key, *other;
} aliases[] = {{"encoder_attention_heads", "num_attention_heads"},
               {"encoder_layers", "num_hidden_layers"},
               {"d_model", "hidden_size"},
               {"tgt_vocab_size", "vocab_size"}};

static const char *find_defaults(const char *type)
{
    for (size_t i = 0; i < sizeof defaults / sizeof *defaults; i++)
        if (strcmp(type, defaults[i].type) == 0)
            return defaults[i].json;
    return NULL;
}

int tf_hf_check_type(const struct tf_import *m, struct tf_err *err)
{
    const char *type = "missing";
    if (tf_value_text_of(&m->json, "model_type", &type, err) < 0)
        return -1;
    if (tf_value_get(&m->json, "model_type") == NULL &&
        tf_value_get(&m->json, "decoder_start_token") != NULL)
        return tf_fail(err,
                       "a model of CTranslate2 without model.bin, or without shared_vocabulary or "
                       "source_vocabulary beside it");
    return find_defaults(type) != NULL
               ? 0
               : tf_fail(err, "model_type: %.80s: %sonly marian, m2m_100, fsmt, bart and mbart are "
                         "supported",
                         type, describe_type(type, &m->json));
}

int tf_hf_settings_read(struct tf_hf_settings *s, struct tf_import *m, struct tf_err *err)
{
    struct tf_value add;
    const char *json = find_defaults(tf_hf_type(m));
    *s = (struct tf_hf_settings){.m = m, .json = tf_value_clone(m->arena, &m->json)};
    m->config = tf_names_config();
    if (json == NULL)
        TF_BUG("a model_type that tf_hf_check_type has not seen");
    if (tf_value_from_json_text(&add, m->arena, json, strlen(json), TF_JSON_PLAIN, "value", err) <
        0)
        return -1;
    for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++) {
        const struct tf_value *other = tf_value_get(&m->json, aliases[i].other);
        if (other != NULL)
            tf_value_put(m->arena, &add, aliases[i].key, *other);
    }
    for (size_t i = 0; i < add.n; i++)
        if (tf_value_get(&m->json, add.keys[i]) == NULL)
            tf_value_put(m->arena, &s->json, add.keys[i], add.items[i]);
    return 0;
}

/* ---- single settings ---- */

void tf_hf_refuse(struct tf_hf_settings *s, const char *key, const char *value)
{
    const bool absent =
        tf_value_get(&s->m->json, key) == NULL && tf_value_get(&s->json, key) != NULL;
    tf_buf_item(&s->m->refused, "%s: %s%s", key, value,
                absent ? " (which transformers takes, as the key is absent)" : "");
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

int tf_hf_shape(struct tf_hf_settings *s, struct tf_err *err)
{
    struct tf_config *c = &s->m->config;
    int64_t *ff = s->m->ff, *heads = s->m->heads;
    char value[32];
    if (tf_hf_number(s, "encoder_layers", TF_MAX_LAYERS, &c->encoder_layers, err) != 0 ||
        tf_hf_number(s, "decoder_layers", TF_MAX_LAYERS, &c->decoder_layers, err) != 0 ||
        tf_hf_number(s, "d_model", TF_MAX_WIDTH, &c->d_model, err) != 0 ||
        tf_hf_number(s, "encoder_ffn_dim", TF_MAX_WIDTH, &ff[0], err) != 0 ||
        tf_hf_number(s, "decoder_ffn_dim", TF_MAX_WIDTH, &ff[1], err) != 0 ||
        tf_hf_number(s, "encoder_attention_heads", 1024, &heads[0], err) != 0 ||
        tf_hf_number(s, "decoder_attention_heads", 1024, &heads[1], err) != 0)
        return -1;
    snprintf(value, sizeof value, "%" PRId64, ff[1]);
    if (!tf_names_ff(s->m))
        tf_hf_refuse(s, "decoder_ffn_dim", value);
    return 0;
}

int tf_hf_ids(struct tf_hf_settings *s, int64_t *start, struct tf_err *err)
{
    struct tf_config *c = &s->m->config;
    return tf_hf_number(s, "eos_token_id", TF_HF_MOST_IDS, &c->eos, err) != 0 ||
                   tf_hf_number(s, "pad_token_id", TF_HF_MOST_IDS, &c->pad, err) != 0
               ? -1
               : tf_hf_number(s, "decoder_start_token_id", TF_HF_MOST_IDS, start, err);
}

static int read_vocab_size(struct tf_hf_settings *s, struct tf_err *err)
{
    static const char key[] = "decoder_vocab_size";
    struct tf_config *c = &s->m->config;
    const struct tf_value *v = tf_value_get(&s->json, key);
    int64_t source;
    if (tf_hf_number(s, "vocab_size", TF_HF_MOST_IDS, &source, err) != 0)
        return -1;
    c->vocab_size = source;
    if (v != NULL && v->kind != TF_NULL &&
        tf_hf_number(s, key, TF_HF_MOST_IDS, &c->vocab_size, err) != 0)
        return -1;
    if (s->m->files.pieces[1] != NULL)
        c->source_vocab_size = source;
    else if (source != c->vocab_size)
        tf_hf_refuse(s, key, "another than vocab_size");
    return 0;
}

int tf_hf_dropout(struct tf_hf_settings *s, struct tf_err *err)
{
    struct tf_config *c = &s->m->config;
    return tf_value_real_of(&s->json, "dropout", 0, 0.999, &c->dropout, err) < 0 ||
                   tf_value_real_of(&s->json, "attention_dropout", 0, 0.999, &c->attention_dropout,
                                    err) < 0 ||
                   tf_value_real_of(&s->json, "activation_dropout", 0, 0.999, &c->relu_dropout,
                                    err) < 0
               ? -1
               : 0;
}

int tf_hf_activation(struct tf_hf_settings *s, struct tf_err *err)
{
    static const struct {
        const char *word;
        enum tf_activation activation;
    } known[] = {{"relu", TF_ACTIVATION_RELU},
                 {"swish", TF_ACTIVATION_SWISH},
                 {"silu", TF_ACTIVATION_SWISH},
                 {"gelu", TF_ACTIVATION_GELU}};
    const char *word = "missing";
    if (tf_value_text_of(&s->json, "activation_function", &word, err) < 0)
        return -1;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(word, known[i].word) == 0) {
            s->m->config.activation = known[i].activation;
            return 0;
        }
    tf_hf_refuse(s, "activation_function", word);
    return 0;
}

int tf_hf_common(struct tf_hf_settings *s, int64_t *start, struct tf_err *err)
{
    return tf_hf_activation(s, err) != 0 || tf_hf_shape(s, err) != 0 ||
                   tf_hf_ids(s, start, err) != 0 || read_vocab_size(s, err) != 0 ||
                   tf_names_heads(s->m, "d_model", err) != 0
               ? -1
               : tf_hf_dropout(s, err);
}

void tf_hf_start_with_eos(struct tf_hf_settings *s, int64_t start)
{
    struct tf_config *c = &s->m->config;
    if (start != c->eos)
        tf_hf_refuse(s, "decoder_start_token_id", "another than eos_token_id");
    c->bos = c->eos;
}
