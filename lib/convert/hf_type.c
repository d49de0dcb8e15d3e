/* hf_type.c - see hf_type_private.h. */
#include "convert/hf_type_private.h"
#include "base/input.h"
#include "cbor/json.h"
#include "convert/conversion_private.h"

#include <stdlib.h>
#include <string.h>

static const char *const supported[] = {"marian", "m2m_100", "fsmt"};

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
    {"bart", "BART, which has learned positions and a norm of embeddings; "},
    {"mbart", "BART, which has learned positions and a norm of embeddings; "},
    {"pegasus", "Pegasus, which has other inner layers; "},
    {"nllb-moe", "a mixture of experts; "},
    {"encoder-decoder", "two models, an encoder and a decoder of other kinds; "},
    {"whisper", SPEECH},
    {"speech_to_text", SPEECH},
    {"seamless_m4t", SPEECH},
    {"seamless_m4t_v2", SPEECH},
    {"gpt2", DECODER},
};

/* The same by the end of the name of a class. */
static const struct {
    const char *end, *what;
} classes[] = {{"ForCausalLM", DECODER},
               {"LMHeadModel", DECODER},
               {"ForMaskedLM", ENCODER},
               {"ForSequenceClassification", ENCODER},
               {"ForSpeechSeq2Seq", SPEECH}};

static const char *what_of(const char *type, const struct tf_value *config)
{
    const struct tf_value *list = tf_value_get(config, "architectures");
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(type, others[i].type) == 0)
            return others[i].what;
    if (list == NULL || list->kind != TF_ARRAY || list->n == 0 || list->items[0].kind != TF_TEXT)
        return "";
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
        const size_t n = strlen(classes[i].end);
        if (list->items[0].n > n &&
            strcmp(list->items[0].text + list->items[0].n - n, classes[i].end) == 0)
            return classes[i].what;
    }
    return "";
}

int tf_hf_type_of(const char **type, const struct tf_value *config, struct tf_err *err)
{
    *type = "missing";
    if (tf_value_text_of(config, "model_type", type, err) < 0)
        return -1;
    for (size_t i = 0; i < sizeof supported / sizeof *supported; i++)
        if (strcmp(*type, supported[i]) == 0)
            return 0;
    return tf_fail(err, "model_type: %.80s: %sonly marian, m2m_100 and fsmt are supported", *type,
                   what_of(*type, config));
}

int tf_hf_type(const char **type, struct tf_arena *a, const char *path, struct tf_err *err)
{
    char *json;
    size_t n;
    struct tf_value config;
    if (tf_read_file(&json, &n, path, TF_MAX_CONFIG, err) != 0)
        return -1;
    int rc = tf_value_from_json_text(&config, a, json, n, TF_JSON_PLAIN, "value", err);
    free(json);
    if (rc == 0)
        rc = config.kind == TF_MAP ? tf_hf_type_of(type, &config, err)
                                   : tf_fail(err, "not a JSON object");
    return rc != 0 ? tf_context(err, "%s", path) : 0;
}
