/* marian.c - see marian_private.h. */
#include "base/buf.h"
#include "base/parse.h"
#include "convert/marian_private.h"
#include "convert/names_private.h"
#include "exchange/npz.h"
#include "exchange/yaml.h"
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
    int64_t ff[2]; /* widths of the inner layers of encoder and decoder */
    int64_t *tied; /* [decoder_layers], from 1: whose parameters a layer has; NULL: its own */
};

bool tf_marian_is(const struct tf_bundle *b)
{
    const struct import m = {.b = (struct tf_bundle *)b};
    return tf_bundle_find(m.b, SETTINGS) != NULL;
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
        if (e != NULL && (e->n > 1 || !tf_is_word_of(v, fixed[i].allowed)))
            tf_buf_item(&refused, "%s: %s", e->key, e->n > 1 ? "a list" : v);
    }
    const char *cell = text_of(m, "dec-cell", "gru");
    if (is_recurrent(m) && strcmp(cell, "ssru") != 0)
        tf_buf_item(&refused, "dec-cell: %s", cell);
    const struct tf_yaml_entry *inputs = tf_yaml_find(&m->yaml, "input-types");
    if (inputs != NULL && inputs->n > 0)
        tf_buf_item(&refused, "input-types");
    const int rc = tf_refused(&refused, err);
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
    const bool project = tf_bundle_find(m->b, "decoder_ff_logit_out_Wt") != NULL ||
                         tf_bundle_find(m->b, "decoder_ff_logit_out_W") != NULL;
    if (project)
        return TF_TIE_NONE;
    return tf_bundle_find(m->b, "Wemb") != NULL ? TF_TIE_ALL : TF_TIE_DECODER;
}

/* With embeddings of their own, sources and targets may have two vocabularies of one size: a model
 * does not say so, the user does. */
static int vocab_sizes(struct import *m, enum tf_marian_vocabs vocabs, struct tf_err *err)
{
    const struct tf_yaml_entry *e = tf_yaml_find(&m->yaml, "dim-vocabs");
    int64_t source;
    if (e == NULL || e->n == 0 || e->n > 2 ||
        tf_parse_int(&source, e->v[0], 1, 1 << 24, err) != 0 ||
        tf_parse_int(&m->c.vocab_size, e->v[e->n - 1], 1, 1 << 24, err) != 0)
        return tf_fail(err, "dim-vocabs: the setting is missing or no list of sizes");
    const bool one_matrix = tf_bundle_find(m->b, "Wemb") != NULL;
    if (one_matrix && vocabs == TF_MARIAN_TWO)
        return tf_fail(err, "one matrix of embeddings, and two vocabularies: --pieces with the ids "
                            "of both is needed, too");
    if (!one_matrix && vocabs == TF_MARIAN_ONE_GIVEN)
        return tf_fail(err, "sources and targets have embeddings of their own: --vocab-target is "
                            "needed, too (the same file, if they have one vocabulary)");
    if (vocabs == TF_MARIAN_TWO)
        m->c.source_vocab_size = source;
    else if (source != m->c.vocab_size)
        return tf_fail(err, "dim-vocabs: %s and %s: not of one vocabulary", e->v[0], e->v[1]);
    return 0;
}

/* transformer-tied-layers, which is about the decoder only. */
static int read_tied_layers(struct import *m, struct tf_err *err)
{
    static const char key[] = "transformer-tied-layers";
    const struct tf_yaml_entry *e = tf_yaml_find(&m->yaml, key);
    if (e == NULL || e->n == 0)
        return 0;
    if ((int64_t)e->n != m->c.decoder_layers)
        return tf_fail(err, "%s: %zu numbers for %" PRId64 " layers of the decoder", key, e->n,
                       m->c.decoder_layers);
    m->tied = tf_arena_alloc(&m->b->arena, e->n * sizeof *m->tied);
    for (size_t i = 0; i < e->n; i++)
        if (tf_parse_int(&m->tied[i], e->v[i], 1, m->c.decoder_layers, err) != 0)
            return tf_context(err, "%s", key);
    return 0;
}

static int read_settings(struct import *m, enum tf_marian_vocabs vocabs, struct tf_err *err)
{
    struct tf_config *c = &m->c;
    if (check_settings(m, err) != 0 ||
        number(m, "enc-depth", &c->encoder_layers, TF_MAX_LAYERS, err) != 0 ||
        number(m, "dec-depth", &c->decoder_layers, TF_MAX_LAYERS, err) != 0 ||
        number(m, "dim-emb", &c->d_model, TF_MAX_WIDTH, err) != 0 ||
        number(m, "transformer-dim-ffn", &m->ff[0], TF_MAX_WIDTH, err) != 0 ||
        number(m, "transformer-heads", &c->heads, 1024, err) != 0 ||
        read_tied_layers(m, err) != 0 || vocab_sizes(m, vocabs, err) != 0)
        return -1;
    if (tf_parse_int(&m->ff[1], text_of(m, "transformer-decoder-dim-ffn", "0"), 0, TF_MAX_WIDTH,
                     err) != 0)
        return tf_context(err, "transformer-decoder-dim-ffn");
    if (m->ff[1] == 0)
        m->ff[1] = m->ff[0];
    if (!tf_names_ff(c, m->ff))
        return tf_fail(err, "transformer-decoder-dim-ffn: %" PRId64 ", and transformer-dim-ffn %"
                            PRId64 ": one is more than 8 times the other",
                       m->ff[1], m->ff[0]);
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
    if (is_recurrent(m)) /* students, which were trained without, and unlearn everything with it */
        c->dropout = 0;
    c->output_bias = !is_true(m, "output-omit-bias");
    c->tie = tie_of(m);
    return 0;
}

/* ---- tensors ---- */

/* Marian's names where the norm comes after the layer, and before it. */
#define NORM(ours, after, before)                                \
    {ours ".norm.g", after "_ln_scale|" before "_ln_scale_pre"}, \
        {ours ".norm.b", after "_ln_bias|" before "_ln_bias_pre"}

static const struct tf_names_row of_layers[] = {
    {"self.qkv.w", "self_Wq self_Wk self_Wv"},
    {"self.qkv.b", "self_bq self_bk self_bv"},
    {"self.o.w", "self_Wo"},
    {"self.o.b", "self_bo"},
    NORM("self", "self_Wo", "self_Wo"),
    {"self.ssru.w", "rnn_W rnn_Wf"},
    {"self.ssru.b", "rnn_bf"},
    NORM("ssru", "rnn_ffn", "rnn"),
    {"cross.q.w", "context_Wq"},
    {"cross.q.b", "context_bq"},
    {"cross.kv.w", "context_Wk context_Wv"},
    {"cross.kv.b", "context_bk context_bv"},
    {"cross.o.w", "context_Wo"},
    {"cross.o.b", "context_bo"},
    NORM("cross", "context_Wo", "context_Wo"),
    {"ff.1.w", "ffn_W1"},
    {"ff.1.b", "ffn_b1"},
    {"ff.2.w", "ffn_W2"},
    {"ff.2.b", "ffn_b2"},
    NORM("ff", "ffn_ffn", "ffn_ffn"),
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

static void name_of_layer(const struct tf_names *f, char *to, bool decoder, int64_t layer,
                          const char *word, size_t n)
{
    const struct import *m = f->arg;
    const char *bar = memchr(word, '|', n);
    if (bar != NULL && m->c.pre_norm) {
        n -= (size_t)(bar + 1 - word);
        word = bar + 1;
    } else if (bar != NULL) {
        n = (size_t)(bar - word);
    }
    snprintf(to, TF_FOREIGN_NAME, "%s_l%" PRId64 "_%.*s", decoder ? "decoder" : "encoder",
             decoder && m->tied != NULL ? m->tied[layer] : layer + 1, (int)n, word);
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
                             .ff = {m->ff[0], m->ff[1]},
                             .is_extra = is_extra};
}

/* ---- all of it ---- */

/* Ids, which Marian looks up by the text of a piece. */
static int read_vocab(struct import *m, int64_t *unk, const struct tf_marian_vocab *vocab,
                      struct tf_err *err)
{
    const struct tf_marian_vocab *target = vocab[1].n > 0 ? &vocab[1] : &vocab[0];
    if (tf_sp_check(vocab->p, vocab->n, err) != 0 || tf_sp_check(target->p, target->n, err) != 0)
        return tf_context(err, "vocabulary");
    m->c.eos = tf_sp_id(target->p, target->n, "</s>");
    /* That Marian has neither of these is no matter: start is zero. */
    m->c.bos = tf_sp_id(target->p, target->n, "<s>");
    m->c.pad = tf_sp_id(target->p, target->n, "<pad>");
    *unk = tf_sp_id(target->p, target->n, "<unk>");
    if (m->c.eos < 0)
        return tf_fail(err, "vocabulary: no piece </s>");
    return m->c.source_vocab_size == 0 || tf_sp_id(vocab->p, vocab->n, "</s>") == m->c.eos
               ? 0
               : tf_fail(err, "vocabularies: </s> has another id in the source's");
}

int tf_marian_import(struct tf_bundle *b, struct tf_config *c, int64_t *unk,
                     const struct tf_marian_vocab vocab[2], enum tf_marian_vocabs vocabs,
                     struct tf_err *err)
{
    struct import m = {.b = b};
    const struct tf_tensor *settings = tf_bundle_find(m.b, SETTINGS);
    if (settings->bytes > MAX_SETTINGS)
        return tf_fail(err, SETTINGS ": %zu bytes: at most %d", settings->bytes, MAX_SETTINGS);
    m.c = tf_names_config();
    m.c.start = TF_START_ZERO;
    m.c.norm_eps = 1e-6;
    if (tf_yaml_read(&m.yaml, &b->arena, settings->data, settings->bytes, err) != 0)
        return tf_context(err, SETTINGS);
    if (read_settings(&m, vocabs, err) != 0 || read_vocab(&m, unk, vocab, err) != 0 ||
        tf_config_check(&m.c, err) != 0)
        return -1;
    const struct tf_names f = names_of(&m);
    const int rc = tf_names_import(&f, b, &m.c, err);
    if (rc == 0)
        *c = m.c;
    return rc;
}

/* ---- writing ---- */

static const struct tf_export_member has[] = {
    {"start", "zero", " (but tf-train --start zero)"},
    {"positions", "sin", NULL},
    {"position_table", "t2t", " (but tf-train --as t2t)"},
    {"norm_eps", "1e-6", NULL},
    {"source_eos", "true", NULL},
    {"pre_norm", NULL, NULL},
    {"final_norm", NULL, NULL},
    {"decoder_self", "attention|ssru", NULL},
    {"source_vocab_size", NULL, NULL},
    {NULL, NULL, NULL},
};

static const char *word(bool x)
{
    return x ? "true" : "false";
}

static void put_settings(struct tf_buf *b, const struct tf_config *c)
{
    const bool ssru = c->decoder_self == TF_DECODER_SSRU;
    tf_buf_printf(b, "type: transformer\nenc-depth: %" PRId64 "\ndec-depth: %" PRId64 "\n",
                  c->encoder_layers, c->decoder_layers);
    tf_buf_printf(b, "dim-emb: %" PRId64 "\ndim-vocabs:\n  - %" PRId64 "\n  - %" PRId64 "\n",
                  c->d_model, tf_config_source_ids(c), c->vocab_size);
    tf_buf_printf(b, "tied-embeddings: %s\ntied-embeddings-all: %s\ntied-embeddings-src: false\n",
                  word(c->tie == TF_TIE_DECODER), word(c->tie == TF_TIE_ALL));
    tf_buf_printf(b, "transformer-heads: %" PRId64 "\ntransformer-dim-ffn: %" PRId64 "\n",
                  c->heads, c->d_ff);
    tf_buf_printf(b, "transformer-ffn-activation: %s\n", tf_activations[c->activation]);
    tf_buf_printf(b, "transformer-preprocess: %s\n", c->pre_norm ? "n" : "\"\"");
    tf_buf_printf(b, "transformer-postprocess: %s\n", c->pre_norm ? "da" : "dan");
    tf_buf_printf(b, "transformer-postprocess-top: %s\n", c->final_norm ? "n" : "\"\"");
    tf_buf_printf(b, "transformer-decoder-autoreg: %s\ndec-cell: %s\n",
                  ssru ? "rnn" : "self-attention", ssru ? "ssru" : "gru");
    tf_buf_printf(b, "output-omit-bias: %s\n", word(!c->output_bias));
    /* What Marian would take from its defaults, and refuses to do without. */
    tf_buf_str(b, "transformer-postprocess-emb: d\ntransformer-ffn-depth: 2\n"
                  "transformer-decoder-ffn-depth: 0\ntransformer-decoder-dim-ffn: 0\n"
                  "transformer-tied-layers:\n  []\ntransformer-train-position-embeddings: false\n"
                  "transformer-no-projection: false\ntransformer-guided-alignment-layer: last\n"
                  "dec-cell-base-depth: 2\ndec-cell-high-depth: 1\nenc-cell: gru\n"
                  "enc-cell-depth: 1\nenc-type: bidirectional\ndim-rnn: 1024\nskip: false\n"
                  "layer-normalization: false\nright-left: false\nulr: false\n"
                  "lemma-dim-emb: 0\nfactors-dim-emb: 0\nfactors-combine: sum\n"
                  "input-types:\n  []\n");
}

/* decoder.yml. */
static void put_decoder(struct tf_buf *b, const struct tf_export *e)
{
    char number[32];
    const double factor = tf_export_search(e, "max-factor", 0);
    tf_buf_printf(b,
                  "relative-paths: true\nmodels:\n  - model.npz\nvocabs:\n  - vocab.spm\n"
                  "  - %s\nbeam-size: %d\nnormalize: %s\n",
                  e->own_segmenter ? "vocab.target.spm" : "vocab.spm",
                  (int)tf_export_search(e, "beam", 4),
                  tf_format_real(number, tf_export_search(e, "normalize", 1)));
    if (tf_export_search(e, "allow-unk", 0) != 0)
        tf_buf_str(b, "allow-unk: true\n");
    if (factor > 0)
        tf_buf_printf(b, "max-length-factor: %s\n", tf_format_real(number, factor));
}

static void convert_to_marian(struct tf_export *e)
{
    struct tf_bundle *b = &e->theirs;
    const struct import m = {.c = e->config};
    struct tf_names f = names_of(&m);
    struct tf_buf text = {0};
    f.vectors_are_rows = true;
    tf_names_export(&f, b, &e->config, &e->params, e->ours, 1);
    put_settings(&text, &e->config);
    tf_buf_byte(&text, 0);
    b->tensors[b->n++] =
        (struct tf_tensor){.name = SETTINGS,
                           .dtype = TF_I8,
                           .rank = 1,
                           .dims = {text.len},
                           .data = tf_arena_strndup(&b->arena, text.p, text.len),
                           .bytes = text.len};
    tf_buf_release(&text);
    put_decoder(&e->text[0], e);
}

const struct tf_export_format tf_marian_format = {
    .program = "Marian",
    .has = has,
    .f32_only = true,
    .convert = convert_to_marian,
    .write_weights = tf_npz_write,
    .weights = "model.npz",
    .segmenter = {"vocab.spm", "vocab.target.spm"},
    .text = {"decoder.yml"},
};
