/* marian.c - see marian_private.h. */
#include "model/marian_private.h"
#include "base/buf.h"
#include "base/parse.h"
#include "exchange/yaml.h"
#include "model/names_private.h"
#include "text/sp_check.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define SETTINGS "special:model.yml"
enum { MAX_SETTINGS = 1 << 20 };

struct import {
    struct tf_bundle *b;
    struct tf_yaml yaml;
    struct tf_config c;
};

static const struct tf_tensor *find(const struct import *m, const char *name)
{
    for (size_t i = 0; i < m->b->n; i++)
        if (strcmp(m->b->tensors[i].name, name) == 0)
            return &m->b->tensors[i];
    return NULL;
}

bool tf_marian_is(const struct tf_bundle *b)
{
    const struct import m = {.b = (struct tf_bundle *)b};
    return find(&m, SETTINGS) != NULL;
}

/* ---- settings ---- */

/* Values that are computed, separated by "|"; a setting that is not there has a good one. Numbers
 * and the other settings that shape the model are read in read_settings(). */
static const struct {
    const char *key, *allowed;
} fixed[] = {
    {"type", "transformer"},
    {"transformer-decoder-autoreg", "self-attention|rnn"},
    {"transformer-preprocess", "|n"},
    {"transformer-postprocess", "dan|an|da|a"},
    {"transformer-postprocess-top", "|n"},
    {"transformer-postprocess-emb", "|d"},
    {"transformer-ffn-activation", "swish|relu"},
    {"transformer-ffn-depth", "2"},
    {"transformer-decoder-ffn-depth", "0|2"},
    {"transformer-no-projection", "false"},
    {"transformer-rnn-projection", "false"},
    {"transformer-no-bias", "false"},
    {"transformer-no-affine", "false"},
    {"transformer-train-positions", "false"},
    {"transformer-train-position-embeddings", "false"},
    {"transformer-disable-position-embeddings", "false"},
    {"transformer-alibi-trainable", "false"},
    {"transformer-alibi-shift", "false"},
    {"transformer-attention-mask", "default"},
    {"transformer-pool", "false"},
    {"layer-normalization", "false"},
    {"right-left", "false"},
    {"ulr", "false"},
    {"lemma-dim-emb", "0"},
    {"factors-dim-emb", "0"},
};

static const char *text_of(const struct import *m, const char *key, const char *missing)
{
    const struct tf_yaml_entry *e = tf_yaml_find(&m->yaml, key);
    return e != NULL && e->n == 1 ? e->v[0] : e == NULL ? missing : "";
}

static bool is_one_of(const char *word, const char *list)
{
    const size_t n = strlen(word);
    for (;;) {
        const char *end = strchr(list, '|');
        const size_t len = end != NULL ? (size_t)(end - list) : strlen(list);
        if (len == n && memcmp(list, word, n) == 0)
            return true;
        if (end == NULL)
            return false;
        list = end + 1;
    }
}

static bool is_recurrent(const struct import *m)
{
    return strcmp(text_of(m, "transformer-decoder-autoreg", "self-attention"), "rnn") == 0;
}

/* Refuse all that is not computed, at once. */
static int check_settings(const struct import *m, struct tf_err *err)
{
    struct tf_buf refused = {0};
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++) {
        const struct tf_yaml_entry *e = tf_yaml_find(&m->yaml, fixed[i].key);
        const char *v = text_of(m, fixed[i].key, "");
        if (e != NULL && (e->n > 1 || !is_one_of(v, fixed[i].allowed)))
            tf_buf_printf(&refused, "%s%s: %s", refused.len > 0 ? ", " : "", e->key,
                          e->n > 1 ? "a list" : v);
    }
    const char *cell = text_of(m, "dec-cell", "gru");
    if (is_recurrent(m) && strcmp(cell, "ssru") != 0)
        tf_buf_printf(&refused, "%sdec-cell: %s", refused.len > 0 ? ", " : "", cell);
    const struct tf_yaml_entry *inputs = tf_yaml_find(&m->yaml, "input-types");
    if (inputs != NULL && inputs->n > 0)
        tf_buf_printf(&refused, "%sinput-types", refused.len > 0 ? ", " : "");
    const int rc = refused.len > 0 ? tf_fail(err, "settings that are not supported: %.*s",
                                             (int)refused.len, refused.p)
                                   : 0;
    tf_buf_release(&refused);
    return rc;
}

static int number(const struct import *m, const char *key, int64_t *to, int64_t most,
                  struct tf_err *err)
{
    const char *v = text_of(m, key, NULL);
    if (v == NULL)
        return tf_fail(err, "%s: the setting is missing", key);
    return tf_parse_int(to, v, 1, most, err) != 0 ? tf_context(err, "%s", key) : 0;
}

static bool is_true(const struct import *m, const char *key)
{
    return strcmp(text_of(m, key, "false"), "true") == 0;
}

/* The tensors say which matrices are one. */
static enum tf_tie tie_of(const struct import *m)
{
    const bool project = find(m, "decoder_ff_logit_out_Wt") != NULL ||
                         find(m, "decoder_ff_logit_out_W") != NULL;
    return project ? TF_TIE_NONE : find(m, "Wemb") != NULL ? TF_TIE_ALL : TF_TIE_DECODER;
}

static int vocab_size(const struct import *m, int64_t *size, struct tf_err *err)
{
    const struct tf_yaml_entry *e = tf_yaml_find(&m->yaml, "dim-vocabs");
    if (e == NULL || e->n == 0 || tf_parse_int(size, e->v[0], 1, 1 << 24, err) != 0)
        return tf_fail(err, "dim-vocabs: the setting is missing or no list of sizes");
    for (size_t i = 1; i < e->n; i++)
        if (strcmp(e->v[i], e->v[0]) != 0)
            return tf_fail(err, "dim-vocabs: %s and %s: vocabularies of different sizes are not "
                                "supported",
                           e->v[0], e->v[i]);
    return 0;
}

static int read_settings(struct import *m, struct tf_err *err)
{
    struct tf_config *c = &m->c;
    int64_t decoder_ff = 0;
    if (check_settings(m, err) != 0 ||
        number(m, "enc-depth", &c->encoder_layers, TF_MAX_LAYERS, err) != 0 ||
        number(m, "dec-depth", &c->decoder_layers, TF_MAX_LAYERS, err) != 0 ||
        number(m, "dim-emb", &c->d_model, TF_MAX_WIDTH, err) != 0 ||
        number(m, "transformer-dim-ffn", &c->d_ff, TF_MAX_WIDTH, err) != 0 ||
        number(m, "transformer-heads", &c->heads, 1024, err) != 0 ||
        vocab_size(m, &c->vocab_size, err) != 0)
        return -1;
    if (tf_parse_int(&decoder_ff, text_of(m, "transformer-decoder-dim-ffn", "0"), 0, TF_MAX_WIDTH,
                     err) != 0 ||
        (decoder_ff != 0 && decoder_ff != c->d_ff))
        return tf_fail(err, "transformer-decoder-dim-ffn: only that of the encoder is supported");
    if (c->d_model % c->heads != 0)
        return tf_fail(err, "dim-emb %" PRId64 ": not a multiple of transformer-heads %" PRId64,
                       c->d_model, c->heads);
    c->d_k = c->d_v = c->d_model / c->heads;
    const char *post = text_of(m, "transformer-postprocess", "dan");
    c->pre_norm = strcmp(text_of(m, "transformer-preprocess", ""), "n") == 0;
    c->final_norm = strcmp(text_of(m, "transformer-postprocess-top", ""), "n") == 0;
    if (c->pre_norm == (strchr(post, 'n') != NULL))
        return tf_fail(err, "transformer-preprocess and -postprocess: one norm is supported, "
                            "before a layer or after it");
    c->activation = strcmp(text_of(m, "transformer-ffn-activation", "swish"), "relu") == 0
                        ? TF_ACTIVATION_RELU
                        : TF_ACTIVATION_SWISH;
    c->decoder_self = is_recurrent(m) ? TF_DECODER_SSRU : TF_DECODER_ATTENTION;
    c->output_bias = !is_true(m, "output-omit-bias");
    c->tie = tie_of(m);
    return 0;
}

/* ---- tensors ---- */

/* "@" is "_pre" where a norm comes before its layer. */
static const struct tf_names_row of_layers[] = {
    {"self.qkv.w", "self_Wq self_Wk self_Wv"},
    {"self.qkv.b", "self_bq self_bk self_bv"},
    {"self.o.w", "self_Wo"},
    {"self.o.b", "self_bo"},
    {"self.norm.g", "self_Wo_ln_scale@"},
    {"self.norm.b", "self_Wo_ln_bias@"},
    {"self.ssru.w", "rnn_W rnn_Wf"},
    {"self.ssru.b", "rnn_bf"},
    {"ssru.norm.g", "rnn_ffn_ln_scale@"},
    {"ssru.norm.b", "rnn_ffn_ln_bias@"},
    {"cross.q.w", "context_Wq"},
    {"cross.q.b", "context_bq"},
    {"cross.kv.w", "context_Wk context_Wv"},
    {"cross.kv.b", "context_bk context_bv"},
    {"cross.o.w", "context_Wo"},
    {"cross.o.b", "context_bo"},
    {"cross.norm.g", "context_Wo_ln_scale@"},
    {"cross.norm.b", "context_Wo_ln_bias@"},
    {"ff.1.w", "ffn_W1"},
    {"ff.1.b", "ffn_b1"},
    {"ff.2.w", "ffn_W2"},
    {"ff.2.b", "ffn_b2"},
    {"ff.norm.g", "ffn_ffn_ln_scale@"},
    {"ff.norm.b", "ffn_ffn_ln_bias@"},
    {NULL, NULL},
};

static const struct tf_names_row of_model[] = {
    {"embed", "Wemb"},
    {"enc.embed", "encoder_Wemb Wemb"},
    {"dec.embed", "decoder_Wemb Wemb"},
    {"dec.project", "decoder_ff_logit_out_Wt decoder_ff_logit_out_W'"},
    {"dec.project.b", "decoder_ff_logit_out_b"},
    {"enc.norm.g", "encoder_top_ln_scale"},
    {"enc.norm.b", "encoder_top_ln_bias"},
    {"dec.norm.g", "decoder_top_ln_scale"},
    {"dec.norm.b", "decoder_top_ln_bias"},
    {NULL, NULL},
};

/* transformer-tied-layers: layer i (from 0) has the parameters of layer list[i] (from 1). */
static int64_t layer_in_file(const struct import *m, int64_t layer)
{
    const struct tf_yaml_entry *e = tf_yaml_find(&m->yaml, "transformer-tied-layers");
    struct tf_err unused;
    int64_t tied;
    if (e == NULL || (size_t)layer >= e->n ||
        tf_parse_int(&tied, e->v[layer], 1, TF_MAX_LAYERS, &unused) != 0)
        return layer + 1;
    return tied;
}

static void name_of_layer(const struct tf_names *f, char *to, bool decoder, int64_t layer,
                          const char *word, size_t n)
{
    const struct import *m = f->arg;
    const bool norm = word[n - 1] == '@';
    snprintf(to, TF_FOREIGN_NAME, "%s_l%" PRId64 "_%.*s%s", decoder ? "decoder" : "encoder",
             layer_in_file(m, layer), (int)n - norm, word, norm && m->c.pre_norm ? "_pre" : "");
}

static bool is_extra(const char *name)
{
    return strncmp(name, "special:", 8) == 0;
}

static struct tf_names names_of(const struct import *m)
{
    return (struct tf_names){.of_layers = of_layers,
                             .of_model = of_model,
                             .of_layer = name_of_layer,
                             .arg = m,
                             .is_extra = is_extra};
}

/* ---- all of it ---- */

/* Ids, which Marian looks up by the text of a piece. */
static int read_vocab(struct import *m, int64_t *unk, const void *vocab, size_t vocab_n,
                      struct tf_err *err)
{
    if (tf_sp_check(vocab, vocab_n, err) != 0)
        return tf_context(err, "vocabulary");
    m->c.eos = tf_sp_id(vocab, vocab_n, "</s>");
    /* That Marian has neither of these is no matter: start is zero. */
    m->c.bos = tf_sp_id(vocab, vocab_n, "<s>");
    m->c.pad = tf_sp_id(vocab, vocab_n, "<pad>");
    *unk = tf_sp_id(vocab, vocab_n, "<unk>");
    if (m->c.eos < 0)
        return tf_fail(err, "vocabulary: no piece </s>");
    return 0;
}

int tf_marian_import(struct tf_bundle *b, struct tf_config *c, int64_t *unk, const void *vocab,
                     size_t vocab_n, struct tf_err *err)
{
    struct import m = {.b = b};
    const struct tf_tensor *settings = find(&m, SETTINGS);
    if (settings->bytes > MAX_SETTINGS)
        return tf_fail(err, SETTINGS ": %zu bytes: at most %d", settings->bytes, MAX_SETTINGS);
    m.c = (struct tf_config){
        .dialect = TF_AS_T2T,
        .positions = TF_POS_SIN,
        .start = TF_START_ZERO,
        .attention_bias = true,
        .source_eos = true,
        .norm_eps = 1e-6,
        .dropout = 0.1, /* for training from it: a model of Marian has lost its own */
        .label_smoothing = 0.1,
        .initializer = TF_INITIALIZER_SCALED,
    };
    if (tf_yaml_read(&m.yaml, &b->arena, settings->data, settings->bytes, err) != 0)
        return tf_context(err, SETTINGS);
    if (read_settings(&m, err) != 0 || read_vocab(&m, unk, vocab, vocab_n, err) != 0 ||
        tf_config_check(&m.c, err) != 0)
        return -1;
    struct tf_params p;
    tf_params_init(&p, &m.c);
    const struct tf_names f = names_of(&m);
    const int rc = tf_names_import(&f, b, &m.c, &p, err);
    tf_params_release(&p);
    if (rc == 0)
        *c = m.c;
    return rc;
}
