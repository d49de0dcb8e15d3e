/* import_marian.c - see import_marian_private.h. */
#include "model/import_marian_private.h"
#include "base/buf.h"
#include "base/parse.h"
#include "exchange/yaml.h"
#include "model/params.h"
#include "text/sp_check.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define SETTINGS "special:model.yml"
enum { MAX_SETTINGS = 1 << 20, MAX_PARTS = 2 * TF_MAX_LAYERS };

struct import {
    struct tf_bundle *b;
    struct tf_yaml yaml;
    struct tf_config c;
    const struct tf_tensor **used; /* [b->n] in the order of use */
    size_t n_used;
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

/* Ours, after enc.N. or dec.N., and Marian's, after encoder_lN_ or decoder_lN_; those of one of
 * ours are its columns in turn. "@" is "_pre" where a norm comes before its layer. */
static const struct {
    const char *ours, *theirs;
} of_layers[] = {
    {"self.qkv.w", "self_Wq self_Wk self_Wv"},
    {"self.qkv.b", "self_bq self_bk self_bv"},
    {"self.o.w", "self_Wo"},
    {"self.o.b", "self_bo"},
    {"self.norm.g", "self_Wo_ln_scale@"},
    {"self.norm.b", "self_Wo_ln_bias@"},
    {"self.ssru.w", "rnn_W rnn_Wf"},
    {"self.ssru.b", "rnn_bf"},
    {"cross.q.w", "context_Wq"},
    {"cross.q.b", "context_bq"},
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
};

/* Of the whole model: the first of these that is there. */
static const struct {
    const char *ours, *theirs;
} of_model[] = {
    {"embed", "Wemb"},
    {"enc.embed", "encoder_Wemb Wemb"},
    {"dec.embed", "decoder_Wemb Wemb"},
    {"dec.project", "decoder_ff_logit_out_Wt decoder_ff_logit_out_W"},
    {"dec.project.b", "decoder_ff_logit_out_b"},
    {"enc.norm.g", "encoder_top_ln_scale"},
    {"enc.norm.b", "encoder_top_ln_bias"},
    {"dec.norm.g", "decoder_top_ln_scale"},
    {"dec.norm.b", "decoder_top_ln_bias"},
};

/* The first word of *list, which then begins after it; 0 at the end. */
static size_t next_word(const char **word, const char **list)
{
    *word = *list;
    const size_t n = strcspn(*list, " ");
    *list += n + ((*list)[n] == ' ');
    return n;
}

/* Parts of one of our tensors. */
struct parts {
    const struct tf_tensor *v[MAX_PARTS];
    size_t n;
};

static int add_part(struct import *m, struct parts *p, const char *name, struct tf_err *err)
{
    const struct tf_tensor *t = find(m, name);
    if (t == NULL)
        return tf_fail(err, "tensor '%s' is missing", name);
    if (t->dtype != TF_F32)
        return tf_fail(err, "tensor '%s': dtype %s, want f32", name, tf_dtype_name(t->dtype));
    p->v[p->n++] = t;
    m->used[m->n_used++] = t;
    return 0;
}

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

static int add_of_layer(struct import *m, struct parts *p, const char *side, int64_t layer,
                        const char *theirs, struct tf_err *err)
{
    const char *word;
    for (size_t n; (n = next_word(&word, &theirs)) > 0;) {
        char name[80];
        const bool norm = word[n - 1] == '@';
        snprintf(name, sizeof name, "%s_l%" PRId64 "_%.*s%s", side, layer_in_file(m, layer),
                 (int)n - norm, word, norm && m->c.pre_norm ? "_pre" : "");
        if (add_part(m, p, name, err) != 0)
            return -1;
    }
    return 0;
}

/* dec.cross.kv: keys and values of all layers. */
static int add_cross(struct import *m, struct parts *p, bool bias, struct tf_err *err)
{
    for (int64_t l = 0; l < m->c.decoder_layers; l++)
        if (add_of_layer(m, p, "decoder", l,
                         bias ? "context_bk context_bv" : "context_Wk context_Wv", err) != 0)
            return -1;
    return 0;
}

static int add_of_model(struct import *m, struct parts *p, const char *ours, struct tf_err *err)
{
    for (size_t i = 0; i < sizeof of_model / sizeof *of_model; i++) {
        const char *list = of_model[i].theirs, *word;
        if (strcmp(of_model[i].ours, ours) != 0)
            continue;
        char name[80] = "";
        for (size_t n; (n = next_word(&word, &list)) > 0;) {
            snprintf(name, sizeof name, "%.*s", (int)n, word);
            if (find(m, name) != NULL)
                break;
        }
        return add_part(m, p, name, err);
    }
    return tf_fail(err, "%s: Marian has no such parameter", ours);
}

/* Marian's names of row i of of_layers. */
static const char *of_layer(const struct import *m, size_t i, bool encoder)
{
    if (encoder || m->c.decoder_self != TF_DECODER_SSRU)
        return of_layers[i].theirs;
    return strcmp(of_layers[i].ours, "self.norm.g") == 0   ? "rnn_ffn_ln_scale@"
           : strcmp(of_layers[i].ours, "self.norm.b") == 0 ? "rnn_ffn_ln_bias@"
                                                           : of_layers[i].theirs;
}

static int find_parts(struct import *m, struct parts *p, const char *ours, struct tf_err *err)
{
    int layer, rest = 0;
    char side[4];
    if (strncmp(ours, "dec.cross.kv.", 13) == 0)
        return add_cross(m, p, ours[13] == 'b', err);
    if (sscanf(ours, "%3[a-z].%d.%n", side, &layer, &rest) != 2 || rest == 0)
        return add_of_model(m, p, ours, err);
    const bool encoder = strcmp(side, "enc") == 0;
    for (size_t i = 0; i < sizeof of_layers / sizeof *of_layers; i++)
        if (strcmp(of_layers[i].ours, ours + rest) == 0)
            return add_of_layer(m, p, encoder ? "encoder" : "decoder", layer,
                                of_layer(m, i, encoder), err);
    return tf_fail(err, "%s: Marian has no such parameter", ours);
}

/* Rows and columns of a tensor of ours, a vector being one row. */
struct shape {
    uint64_t rows, cols;
};

static struct shape shape_of(const struct tf_tensor *t)
{
    return t->rank == 2   ? (struct shape){t->dims[0], t->dims[1]}
           : t->rank == 1 ? (struct shape){1, t->dims[0]}
                          : (struct shape){0, 0};
}

/* *out [rows, cols] = the parts, side by side. One part is used where it is; transposed, of a
 * legacy name, it is copied. */
static int join(struct import *m, struct tf_tensor *out, const struct parts *p, struct shape want,
                struct tf_err *err)
{
    uint64_t cols = 0;
    const bool transposed = strcmp(p->v[0]->name, "decoder_ff_logit_out_W") == 0;
    for (size_t i = 0; i < p->n; i++) {
        const struct shape s = shape_of(p->v[i]);
        const uint64_t rows = transposed ? s.cols : s.rows, more = transposed ? s.rows : s.cols;
        if (rows != want.rows || more > want.cols - cols)
            return tf_fail(err, "tensor '%s': %" PRIu64 " x %" PRIu64 " does not fit the settings",
                           p->v[i]->name, s.rows, s.cols);
        cols += more;
    }
    if (cols != want.cols)
        return tf_fail(err, "tensor '%s': %" PRIu64 " columns, want %" PRIu64, p->v[0]->name, cols,
                       want.cols);
    out->data = p->v[0]->data;
    if (p->n == 1 && !transposed)
        return 0;
    char *data = tf_arena_alloc(&m->b->arena, out->bytes), *to = data;
    for (uint64_t r = 0; r < want.rows; r++)
        for (size_t i = 0; i < p->n; i++) {
            const char *from = p->v[i]->data;
            const uint64_t n = transposed ? 1 : shape_of(p->v[i]).cols;
            for (uint64_t k = 0; transposed && k < want.cols; k++, to += 4)
                memcpy(to, from + (k * want.rows + r) * 4, 4);
            if (!transposed) {
                memcpy(to, from + r * n * 4, n * 4);
                to += n * 4;
            }
        }
    out->data = data;
    return 0;
}

static int import_tensor(struct import *m, struct tf_tensor *out, const struct tf_param *q,
                         struct tf_err *err)
{
    struct parts p = {.n = 0};
    if (find_parts(m, &p, q->name, err) != 0)
        return -1;
    *out = (struct tf_tensor){
        .name = tf_arena_strndup(&m->b->arena, q->name, strlen(q->name)),
        .dtype = TF_F32,
        .rank = q->rank,
        .dims = {(uint64_t)q->dims[0], q->rank == 2 ? (uint64_t)q->dims[1] : 0},
        .bytes = q->n * 4,
    };
    return join(m, out, &p, shape_of(out), err);
}

static int check_left_over(const struct import *m, struct tf_err *err)
{
    for (size_t i = 0; i < m->b->n; i++) {
        const struct tf_tensor *t = &m->b->tensors[i];
        size_t k = 0;
        while (k < m->n_used && m->used[k] != t)
            k++;
        if (k == m->n_used && strncmp(t->name, "special:", 8) != 0)
            return tf_fail(err, "tensor '%s' belongs to no parameter of these settings", t->name);
    }
    return 0;
}

static int import_tensors(struct import *m, const struct tf_params *p, struct tf_err *err)
{
    struct tf_bundle *b = m->b;
    struct tf_tensor *out = tf_arena_zalloc(&b->arena, (p->n + 1) * sizeof *out);
    m->used = tf_arena_zalloc(&b->arena, (3 * p->n + MAX_PARTS) * sizeof *m->used);
    for (size_t i = 0; i < p->n; i++)
        if (import_tensor(m, &out[i], &p->v[i], err) != 0)
            return -1;
    if (check_left_over(m, err) != 0)
        return -1;
    b->tensors = out;
    b->n = p->n;
    return 0;
}

/* ---- all of it ---- */

/* The id of a piece, which Marian looks up by its text; -1: none. */
static int64_t id_of(const char *const *texts, size_t n, const char *piece)
{
    for (size_t i = 0; i < n; i++)
        if (texts[i] != NULL && strcmp(texts[i], piece) == 0)
            return (int64_t)i;
    return -1;
}

static int read_vocab(struct import *m, int64_t *unk, const void *vocab, size_t vocab_n,
                      struct tf_err *err)
{
    const char *const *texts;
    size_t n;
    if (tf_sp_texts(&m->b->arena, vocab, vocab_n, &texts, &n, err) != 0)
        return tf_context(err, "vocabulary");
    m->c.eos = id_of(texts, n, "</s>");
    m->c.bos = id_of(texts, n, "<s>"); /* that Marian has neither is no matter: start is zero */
    m->c.pad = id_of(texts, n, "<pad>");
    *unk = id_of(texts, n, "<unk>");
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
    const int rc = import_tensors(&m, &p, err);
    tf_params_release(&p);
    if (rc == 0)
        *c = m.c;
    return rc;
}
