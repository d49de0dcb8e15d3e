/* marian.c - see marian_private.h. */
#include "convert/marian_private.h"
#include "base/gunzip.h"
#include "base/parse.h"
#include "base/path.h"
#include "convert/foreign_private.h"
#include "convert/names_private.h"
#include "convert/search_private.h"
#include "convert/segmenters_private.h"
#include "exchange/marian_bin.h"
#include "exchange/npz.h"
#include "exchange/yaml.h"
#include "stream/search_settings.h"
#include "ops/search_state.h"
#include "text/sp_check.h"
#include "text/text_file.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SETTINGS "special:model.yml"

struct marian {
    struct tf_import *m;
    struct tf_yaml yaml;
    int64_t *tied; /* [decoder_layers], from 1: whose parameters a layer has; NULL: its own */
};

/* ---- settings ---- */

/* Values that are computed, separated by "|"; a setting that is not there has a good one. Numbers
 * and the other settings that shape the model are read in read_marian_settings(). */
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

static const char *setting_text(const struct marian *x, const char *key, const char *missing)
{
    const struct tf_yaml_entry *e = tf_yaml_find(&x->yaml, key);
    return e != NULL && e->n == 1 ? e->v[0] : e == NULL ? missing : "";
}

static bool is_recurrent(const struct marian *x)
{
    return strcmp(setting_text(x, "transformer-decoder-autoreg", "self-attention"), "rnn") == 0;
}

/* Refuse all that is not computed, at once. */
static int check_fixed(const struct marian *x, struct tf_err *err)
{
    struct tf_buf *refused = &x->m->refused;
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++) {
        const struct tf_yaml_entry *e = tf_yaml_find(&x->yaml, fixed[i].key);
        const char *v = setting_text(x, fixed[i].key, "");
        if (e != NULL && (e->n > 1 || !tf_is_word_of(v, fixed[i].allowed)))
            tf_buf_item(refused, "%s: %s", e->key, e->n > 1 ? "a list" : v);
    }
    const char *cell = setting_text(x, "dec-cell", "gru");
    if (is_recurrent(x) && strcmp(cell, "ssru") != 0)
        tf_buf_item(refused, "dec-cell: %s", cell);
    const struct tf_yaml_entry *inputs = tf_yaml_find(&x->yaml, "input-types");
    if (inputs != NULL && inputs->n > 0)
        tf_buf_item(refused, "input-types");
    return tf_import_refused(x->m, err);
}

static int setting_number(const struct marian *x, const char *key, int64_t *to, int64_t most,
                  struct tf_err *err)
{
    const char *v = setting_text(x, key, NULL);
    if (v == NULL)
        return tf_fail(err, "%s: the setting is missing", key);
    return tf_parse_int(to, v, 1, most, err) != 0 ? tf_context(err, "%s", key) : 0;
}

static bool is_set(const struct marian *x, const char *key)
{
    return strcmp(setting_text(x, key, "false"), "true") == 0;
}

/* Which matrices are one, as the tensors say. */
static enum tf_tie find_tie(const struct marian *x)
{
    const bool project = tf_bundle_find(&x->m->bundle, "decoder_ff_logit_out_Wt") != NULL ||
                         tf_bundle_find(&x->m->bundle, "decoder_ff_logit_out_W") != NULL;
    if (project)
        return TF_TIE_NONE;
    return tf_bundle_find(&x->m->bundle, "Wemb") != NULL ? TF_TIE_ALL : TF_TIE_DECODER;
}

/* Sources and targets with embeddings of their own may have two vocabularies of one size: a model
 * does not say so, the user does. */
static int read_vocab_sizes(struct marian *x, struct tf_err *err)
{
    const struct tf_yaml_entry *e = tf_yaml_find(&x->yaml, "dim-vocabs");
    int64_t source;
    if (e == NULL || e->n == 0 || e->n > 2 ||
        tf_parse_int(&source, e->v[0], 1, 1 << 24, err) != 0 ||
        tf_parse_int(&x->m->config.vocab_size, e->v[e->n - 1], 1, 1 << 24, err) != 0)
        return tf_fail(err, "dim-vocabs: the setting is missing or no list of sizes");
    const bool one_matrix = tf_bundle_find(&x->m->bundle, "Wemb") != NULL,
               two_vocabs = x->m->segmenter[1].len > 0 && x->m->files.pieces[0] == NULL;
    if (one_matrix && two_vocabs)
        return tf_fail(err, "one matrix of embeddings, and two vocabularies: --pieces with the ids "
                            "of both is needed, too");
    if (!one_matrix && x->m->files.vocab[1] == NULL)
        return tf_fail(err, "sources and targets have embeddings of their own: --vocab-target is "
                            "needed, too (the same file, if they have one vocabulary)");
    if (two_vocabs)
        x->m->config.source_vocab_size = source;
    else if (source != x->m->config.vocab_size)
        return tf_fail(err, "dim-vocabs: %s and %s: not of one vocabulary", e->v[0], e->v[1]);
    return 0;
}

/* transformer-tied-layers, which is about the decoder only. */
static int read_tied_layers(struct marian *x, struct tf_err *err)
{
    static const char key[] = "transformer-tied-layers";
    const struct tf_yaml_entry *e = tf_yaml_find(&x->yaml, key);
    if (e == NULL || e->n == 0)
        return 0;
    if ((int64_t)e->n != x->m->config.decoder_layers)
        return tf_fail(err, "%s: %zu numbers for %" PRId64 " layers of the decoder", key, e->n,
                       x->m->config.decoder_layers);
    x->tied = tf_arena_alloc(x->m->arena, e->n * sizeof *x->tied);
    for (size_t i = 0; i < e->n; i++)
        if (tf_parse_int(&x->tied[i], e->v[i], 1, x->m->config.decoder_layers, err) != 0)
            return tf_context(err, "%s", key);
    return 0;
}

static int read_marian_settings(struct marian *x, struct tf_err *err)
{
    struct tf_config *c = &x->m->config;
    int64_t *ff = x->m->ff;
    if (check_fixed(x, err) != 0 ||
        setting_number(x, "enc-depth", &c->encoder_layers, TF_MAX_LAYERS, err) != 0 ||
        setting_number(x, "dec-depth", &c->decoder_layers, TF_MAX_LAYERS, err) != 0 ||
        setting_number(x, "dim-emb", &c->d_model, TF_MAX_WIDTH, err) != 0 ||
        setting_number(x, "transformer-dim-ffn", &ff[0], TF_MAX_WIDTH, err) != 0 ||
        setting_number(x, "transformer-heads", &c->heads, 1024, err) != 0 ||
        read_tied_layers(x, err) != 0 || read_vocab_sizes(x, err) != 0)
        return -1;
    if (tf_parse_int(&ff[1], setting_text(x, "transformer-decoder-dim-ffn", "0"), 0, TF_MAX_WIDTH,
                     err) != 0)
        return tf_context(err, "transformer-decoder-dim-ffn");
    if (ff[1] == 0)
        ff[1] = ff[0];
    if (!tf_names_ff(x->m))
        return tf_fail(err, "transformer-decoder-dim-ffn: %" PRId64 ", and transformer-dim-ffn %"
                            PRId64 ": one is more than 8 times the other",
                       ff[1], ff[0]);
    if (c->d_model % c->heads != 0)
        return tf_fail(err, "dim-emb %" PRId64 ": not a multiple of transformer-heads %" PRId64,
                       c->d_model, c->heads);
    c->d_k = c->d_v = c->d_model / c->heads;
    const char *post = setting_text(x, "transformer-postprocess", "dan");
    c->pre_norm = strcmp(setting_text(x, "transformer-preprocess", ""), "n") == 0;
    c->final_norm = strcmp(setting_text(x, "transformer-postprocess-top", ""), "n") == 0;
    if (c->pre_norm == (strchr(post, 'n') != NULL))
        return tf_fail(err, "transformer-preprocess and -postprocess: one norm is supported, "
                            "before a layer or after it");
    c->activation = strcmp(setting_text(x, "transformer-ffn-activation", "swish"), "relu") == 0
                        ? TF_ACTIVATION_RELU
                        : TF_ACTIVATION_SWISH;
    c->decoder_self = is_recurrent(x) ? TF_DECODER_SSRU : TF_DECODER_ATTENTION;
    if (is_recurrent(x)) /* students, which were trained without, and unlearn everything with it */
        c->dropout = 0;
    c->output_bias = !is_set(x, "output-omit-bias");
    c->tie = find_tie(x);
    return 0;
}

/* ---- tensors ---- */

#define NORM(ours, after, before)                                \
    {ours ".norm.g", after "_ln_scale|" before "_ln_scale_pre"}, \
        {ours ".norm.b", after "_ln_bias|" before "_ln_bias_pre"}

static const struct tf_names_row layer_names[] = {
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

static const struct tf_names_row model_names[] = {
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

static bool is_special(const char *name)
{
    return strncmp(name, "special:", 8) == 0;
}

static struct tf_names marian_names(const struct tf_config *c)
{
    return (struct tf_names){.layers = layer_names,
                             .model = model_names,
                             .layer = {"encoder_l", "decoder_l"},
                             .after = "_",
                             .first_layer = 1,
                             .pre_norm = c->pre_norm,
                             .is_extra = is_special};
}

/* ---- all of it ---- */

/* Ids, which Marian looks up by the text of a piece. */
static int read_ids(struct tf_import *m, struct tf_err *err)
{
    const struct tf_buf *source = &m->segmenter[0],
                        *target = &m->segmenter[m->segmenter[1].len > 0];
    struct tf_config *c = &m->config;
    if (tf_sp_check(source->p, source->len, err) != 0 ||
        tf_sp_check(target->p, target->len, err) != 0)
        return tf_context(err, "vocabulary");
    c->eos = tf_sp_id(target->p, target->len, "</s>");
    /* That Marian has neither of these is no matter: start is zero. */
    c->bos = tf_sp_id(target->p, target->len, "<s>");
    c->pad = tf_sp_id(target->p, target->len, "<pad>");
    m->header.special.unk = tf_sp_id(target->p, target->len, "<unk>");
    if (c->eos < 0)
        return tf_fail(err, "vocabulary: no piece </s>");
    return c->source_vocab_size == 0 || tf_sp_id(source->p, source->len, "</s>") == c->eos
               ? 0
               : tf_fail(err, "vocabularies: </s> has another id in the source's");
}

/* The layer whose first head Marian's own --alignment prints, and which guided alignment trains if
 * it is used: a number or "last", which is also what older models mean. */
static int read_align_layer(struct marian *x, struct tf_err *err)
{
    static const char key[] = "transformer-guided-alignment-layer";
    const char *layer = setting_text(x, key, "last");
    int64_t *to = &x->m->align_layer;
    *to = x->m->config.decoder_layers;
    return strcmp(layer, "last") == 0 || tf_parse_int(to, layer, 1, *to, err) == 0
               ? 0
               : tf_context(err, "%s", key);
}

int tf_marian_import(struct tf_import *m, struct tf_err *err)
{
    struct marian x = {.m = m};
    const struct tf_tensor *settings = tf_bundle_find(&m->bundle, SETTINGS);
    if (settings->bytes > TF_MAX_CONFIG)
        return tf_fail(err, SETTINGS ": %zu bytes: at most %d", settings->bytes, TF_MAX_CONFIG);
    m->config = tf_names_config();
    m->config.start = TF_START_ZERO;
    m->config.norm_eps = 1e-6;
    if (tf_yaml_read(&x.yaml, m->arena, settings->data, settings->bytes, err) != 0)
        return tf_context(err, SETTINGS);
    if (read_marian_settings(&x, err) != 0 || read_align_layer(&x, err) != 0 ||
        read_ids(m, err) != 0 || tf_config_check(&m->config, err) != 0)
        return -1;
    struct tf_names f = marian_names(&m->config);
    f.tied_layers = x.tied;
    return tf_names_import(&f, m, err);
}

/* The settings that Marian writes beside a model, or NULL. */
static const char *decoder_beside(const struct tf_import *m)
{
    static const char end[] = ".decoder.yml";
    const size_t n = strlen(m->name) - (tf_ends_with(m->name, ".gz") ? 3 : 0);
    char *path = tf_arena_alloc(m->arena, n + sizeof end);
    memcpy(path, m->name, n);
    memcpy(path + n, end, sizeof end);
    return (tf_is_named(m->name, ".npz") || tf_is_named(m->name, ".bin")) &&
                   access(path, F_OK) == 0
               ? path
               : NULL;
}

bool tf_marian_is(const struct tf_import *m)
{
    return tf_bundle_find(&m->bundle, SETTINGS) != NULL;
}

/* A .bin. */
static int read_marian_weights(struct tf_import *m, const void *p, size_t n, struct tf_err *err)
{
    if (tf_marian_bin_read(&m->bundle, p, n, err) != 0)
        return -1;
    return tf_marian_is(m) ? 0 : tf_fail(err, "a binary model of Marian without " SETTINGS);
}

/* A model of Marian has no vocabulary in its file. */
static int read_marian(struct tf_import *m, struct tf_err *err)
{
    if (m->opts->config != NULL)
        return tf_fail_status(err, TF_USAGE, "--config: %s has the settings of Marian", m->name);
    if (m->files.vocab[0] == NULL)
        return tf_fail_status(err, TF_USAGE,
                              "%s: a model of Marian: --vocab with its SentencePiece model is "
                              "needed",
                              m->name);
    if (m->dir == NULL)
        m->files.settings = decoder_beside(m);
    m->vocab_name = m->files.vocab[0];
    if (tf_import_pieces(m, err) != 0 || tf_import_segmenters(m, err) != 0)
        return -1;
    return tf_marian_import(m, err) != 0 ? tf_context(err, "%s", m->name) : 0;
}

/* ---- search ---- */

static int read_yaml_file(struct tf_import *m, struct tf_yaml *y, const char *path,
                          struct tf_err *err)
{
    char *text;
    size_t n;
    if (tf_text_read_file(&text, &n, path, TF_MAX_CONFIG, err) != 0)
        return -1;
    const int rc = tf_yaml_read(y, m->arena, text, n, err);
    free(text);
    return rc != 0 ? tf_context(err, "%s", path) : 0;
}

static const char *yaml_scalar(const struct tf_yaml *y, const char *key, const char *missing)
{
    const struct tf_yaml_entry *e = tf_yaml_find(y, key);
    return e != NULL && e->n == 1 ? e->v[0] : missing;
}

static int yaml_number(const struct tf_yaml *y, const char *key, const char *missing, double lo,
                         double hi, double *to, struct tf_err *err)
{
    const char *text = yaml_scalar(y, key, missing);
    if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0)
        text = strcmp(text, "true") == 0 ? "1" : "0";
    return tf_parse_real(to, text, lo, hi, err) != 0 ? tf_context(err, "%s", key) : 0;
}

#define UNIT 1e6 /* a factor of length has that many parts */

/* A hypothesis of f (n + 1) words or more is the last (src/translator/beam_search.cpp): to the n of
 * the source its end is added. So the limit of a fraction is rounded up. */
static void put_factor(struct tf_import *m, double f)
{
    const bool whole = f == floor(f);
    const double below = floor(f * UNIT + 0.5) - 1;
    tf_search_put_limit(m, whole ? f : below / UNIT, 1, !whole, "max-length-factor");
}

static int read_decoder(struct tf_import *m, const struct tf_yaml *y, struct tf_err *err)
{
    double beam, normalize, word, factor;
    if (yaml_number(y, "beam-size", "12", 1, TF_SEARCH_MAX_BEAM, &beam, err) != 0 ||
        yaml_number(y, "normalize", "0", 0, 100, &normalize, err) != 0 ||
        yaml_number(y, "max-length-factor", "3", 0, 1e9, &factor, err) != 0 ||
        yaml_number(y, "word-penalty", "0", -1e9, 1e9, &word, err) != 0)
        return -1;
    put_factor(m, factor);
    tf_search_put(m, "beam", tf_value_int((int64_t)beam));
    tf_search_put(m, "normalize", tf_value_real(normalize));
    if (word < 0 || word > 0)
        tf_buf_item(&m->left, "word-penalty");
    if (strcmp(yaml_scalar(y, "allow-unk", "false"), "true") == 0)
        tf_search_put(m, "allow-unk", tf_value_bool(true));
    if (strncmp(yaml_scalar(y, "gemm-precision", ""), "int8", 4) == 0 ||
        strcmp(yaml_scalar(y, "int8shift", "false"), "true") == 0)
        tf_search_put_word(m, "precision", "int8");
    return 0;
}

/* That of decoder.yml, with Marian's defaults for what it lacks; without it the penalty that its
 * models are commonly used with. */
static int search_of_marian(struct tf_import *m, struct tf_err *err)
{
    const char *settings = m->files.settings;
    struct tf_yaml y;
    char head[32];
    tf_search_put_word(m, "search", "marian");
    snprintf(head, sizeof head, "%" PRId64 ",1", m->align_layer);
    tf_search_put_word(m, TF_ALIGNMENT_HEAD, head);
    if (settings == NULL) {
        tf_search_put(m, "normalize", tf_value_real(1));
        put_factor(m, 3);
        return 0;
    }
    if (read_yaml_file(m, &y, settings, err) != 0)
        return -1;
    return read_decoder(m, &y, err) != 0 ? tf_context(err, "%s", settings) : 0;
}

/* ---- files of a directory ---- */

#define NAME_ONE "name one of them, with --vocab (and --vocab-target, if targets have their own)"

/* A file that the settings name: without the directory where it was when they were written. */
static const char *name_of(const char *path)
{
    const char *windows = strrchr(tf_path_name(path), '\\');
    return windows != NULL ? windows + 1 : tf_path_name(path);
}

static const char *find_named(const struct tf_dir *d, const char *path)
{
    return tf_dir_has(d, name_of(path));
}

/* "shortlist": its file, and of one in text perhaps the first, the best, and a threshold; of one of
 * Firefox whether to check it. */
static int use_list(struct tf_import *m, const struct tf_yaml_entry *e, struct tf_err *err)
{
    struct tf_model_files *f = &m->files;
    double n[] = {TF_SHORTLIST_FIRST, TF_SHORTLIST_BEST, 0};
    struct tf_err none = {0};
    if (e == NULL || e->n == 0)
        return 0;
    f->list = find_named(m->dir, e->v[0]);
    if (f->list == NULL)
        tf_buf_item(&m->left, "the shortlist %s, which is not in the directory", e->v[0]);
    f->has_cut = e->n > 1 && tf_parse_real(&n[0], e->v[1], 0, 1e9, &none) == 0;
    for (size_t i = 1; f->has_cut && i < 3 && i + 1 < e->n; i++)
        if (tf_parse_real(&n[i], e->v[i + 1], 0, 1e9, err) != 0)
            return tf_context(err, "shortlist");
    f->list_cut = (struct tf_shortlist_cut){(size_t)n[0], (size_t)n[1], n[2]};
    return 0;
}

static int use_decoder(struct tf_import *m, const struct tf_yaml *y, struct tf_err *err)
{
    struct tf_model_files *f = &m->files;
    if (use_list(m, tf_yaml_find(y, "shortlist"), err) != 0)
        return -1;
    const struct tf_yaml_entry *models = tf_yaml_find(y, "models"),
                               *vocabs = tf_yaml_find(y, "vocabs");
    if (models != NULL && models->n > 1)
        return tf_fail(err, "%zu models: " NAME_ONE, models->n);
    f->weights = models != NULL && models->n == 1 ? find_named(m->dir, models->v[0]) : NULL;
    if (vocabs == NULL || vocabs->n == 0 || f->vocab[0] != NULL)
        return 0;
    const char *source = find_named(m->dir, vocabs->v[0]),
               *target = find_named(m->dir, vocabs->v[vocabs->n - 1]);
    if (source == NULL || target == NULL)
        return tf_fail(err, "no %s in the directory: copy it from where the model comes from",
                       name_of(vocabs->v[source == NULL ? 0 : vocabs->n - 1]));
    if (tf_is_named(source, ".spm")) {
        f->vocab[0] = source;
        f->vocab[1] = target;
    } else if (strcmp(source, target) == 0) {
        f->pieces[0] = source;
    } else {
        return tf_fail(err, "separate vocabularies are not supported");
    }
    return 0;
}

static int read_decoder_file(struct tf_import *m, const char *path, struct tf_err *err)
{
    struct tf_yaml y;
    if (read_yaml_file(m, &y, path, err) != 0)
        return -1;
    return use_decoder(m, &y, err) != 0 ? tf_context(err, "%s", path) : 0;
}

/* The vocabularies of both sides, as OPUS-MT and Firefox name them, or the only one. */
static int find_vocabularies(struct tf_import *m, struct tf_err *err)
{
    static const char *const opus[] = {"source.spm", "target.spm"},
                            *const firefox[] = {"srcvocab.*.spm", "trgvocab.*.spm"};
    const struct tf_dir *d = m->dir;
    struct tf_model_files *f = &m->files;
    const char *const *pair = opus;
    for (int i = 0; i < 2 && f->vocab[0] == NULL && f->vocab[1] == NULL; i++) {
        pair = i == 0 ? opus : firefox;
        (void)tf_dir_match(d, pair[0], &f->vocab[0]);
        (void)tf_dir_match(d, pair[1], &f->vocab[1]);
    }
    if ((f->vocab[0] == NULL) != (f->vocab[1] == NULL))
        return tf_fail(err,
                       "%s: no %s: copy it from where the model comes from, or name the "
                       "vocabularies of both sides, --vocab and --vocab-target",
                       d->path, pair[f->vocab[0] != NULL]);
    if (f->vocab[0] == NULL) {
        if (tf_dir_only(d, "*.spm", "name those of sources and targets, --vocab and --vocab-target",
                        &f->vocab[0], err) != 0)
            return -1;
        f->vocab[1] = f->vocab[0];
    }
    return f->pieces[0] == NULL && f->vocab[1] != f->vocab[0]
               ? tf_dir_only(d, "*vocab.yml", "name one of them, with --vocab and --vocab-target",
                             &f->pieces[0], err)
               : 0;
}

static int fail_unknown(const struct tf_dir *d, struct tf_err *err)
{
    const char *newest = NULL;
    for (size_t i = 0; i < d->n; i++) /* in the order of their steps */
        if (strncmp(d->v[i].name, "ckpt-", 5) == 0 && tf_ends_with(d->v[i].name, ".tfm"))
            newest = d->v[i].file;
    if (tf_dir_has(d, "adapter_config.json") != NULL)
        return tf_fail(err, "%s: an adapter of another model: merge it into that first", d->path);
    if (tf_dir_has(d, "model.safetensors") != NULL || tf_dir_has(d, "pytorch_model.bin") != NULL)
        return tf_fail(err,
                       "%s: no config.json, the settings of a model of transformers: copy it from "
                       "the model that this one comes from",
                       d->path);
    return newest != NULL
               ? tf_fail(err,
                         "%s: the directory of a run; name a model in it: %s/%s, or the average "
                         "that tf-avgckpt makes",
                         d->path, d->path, newest)
               : tf_fail(err, "%s: no model of a format that is known", d->path);
}

static int find_marian_files(struct tf_import *m, struct tf_err *err)
{
    const struct tf_dir *d = m->dir;
    struct tf_model_files *f = &m->files;
    f->settings = tf_dir_has(d, "decoder.yml");
    if (f->settings == NULL && tf_dir_match(d, "*decoder.yml", &f->settings) > 1 &&
        tf_dir_only(d, "*.npz", NAME_ONE, &f->weights, err) != 0)
        return -1; /* of a training that keeps the best by several measures */
    if (f->settings == NULL)
        (void)tf_dir_match(d, "config*.yml", &f->settings);
    if (f->settings != NULL && read_decoder_file(m, f->settings, err) != 0)
        return -1;
    if (f->settings == NULL && m->opts->list == NULL &&
        tf_dir_only(d, "lex.*.bin", "name one of them, with --shortlist", &f->list, err) != 0)
        return -1;
    if (tf_dir_only(d, "*.npz", NAME_ONE, &f->weights, err) != 0 ||
        tf_dir_only(d, "model*.bin*", NAME_ONE, &f->weights, err) != 0)
        return -1;
    if (f->weights == NULL)
        return fail_unknown(d, err);
    if (f->vocab[0] == NULL && find_vocabularies(m, err) != 0)
        return -1;
    return f->vocab[0] != NULL ? 0 : tf_fail(err, "%s: no SentencePiece model (.spm)", d->path);
}

static bool claims_rest(const struct tf_import *m)
{
    return m->dir != NULL;
}

/* ---- writing ---- */

static const struct tf_export_member marian_has[] = {
    {"start", "zero", " (but tf-train --start zero)"},
    {"positions", "sin", NULL},
    {"position_table", "t2t", " (but tf-train --as t2t)"},
    {"norm_eps", "1e-6", NULL},
    {"source_eos", "true", NULL},
    {"activation", "relu|swish", NULL},
    {"decoder_self", "attention|ssru", NULL},
    {NULL, NULL, NULL},
};

static const char *bool_word(bool x)
{
    return x ? "true" : "false";
}

/* Marian's --alignment prints the first head of this layer. */
static void put_align_layer(struct tf_buf *b, const struct tf_export *e)
{
    const char *text = "";
    int64_t layer, head;
    struct tf_err none = {0};
    tf_buf_str(b, "transformer-guided-alignment-layer: ");
    if (tf_value_text_of(e->search, TF_ALIGNMENT_HEAD, &text, &none) == 0 &&
        tf_alignment_head_parse(text, &layer, &head, &none) == 0 && head == 1 &&
        layer < e->config.decoder_layers)
        tf_buf_printf(b, "%" PRId64 "\n", layer);
    else
        tf_buf_str(b, "last\n");
}

static void put_settings(struct tf_buf *b, const struct tf_export *e)
{
    const struct tf_config *c = &e->config;
    const bool ssru = c->decoder_self == TF_DECODER_SSRU;
    tf_buf_printf(b, "type: transformer\nenc-depth: %" PRId64 "\ndec-depth: %" PRId64 "\n",
                  c->encoder_layers, c->decoder_layers);
    tf_buf_printf(b, "dim-emb: %" PRId64 "\ndim-vocabs:\n  - %" PRId64 "\n  - %" PRId64 "\n",
                  c->d_model, tf_config_source_ids(c), c->vocab_size);
    tf_buf_printf(b, "tied-embeddings: %s\ntied-embeddings-all: %s\ntied-embeddings-src: false\n",
                  bool_word(c->tie == TF_TIE_DECODER), bool_word(c->tie == TF_TIE_ALL));
    tf_buf_printf(b, "transformer-heads: %" PRId64 "\ntransformer-dim-ffn: %" PRId64 "\n",
                  c->heads, c->d_ff);
    tf_buf_printf(b, "transformer-ffn-activation: %s\n", tf_activations[c->activation]);
    tf_buf_printf(b, "transformer-preprocess: %s\n", c->pre_norm ? "n" : "\"\"");
    tf_buf_printf(b, "transformer-postprocess: %s\n", c->pre_norm ? "da" : "dan");
    tf_buf_printf(b, "transformer-postprocess-top: %s\n", c->final_norm ? "n" : "\"\"");
    tf_buf_printf(b, "transformer-decoder-autoreg: %s\ndec-cell: %s\n",
                  ssru ? "rnn" : "self-attention", ssru ? "ssru" : "gru");
    tf_buf_printf(b, "output-omit-bias: %s\n", bool_word(!c->output_bias));
    /* What Marian would take from its defaults, and refuses to do without. */
    tf_buf_str(b, "transformer-postprocess-emb: d\ntransformer-ffn-depth: 2\n"
                  "transformer-decoder-ffn-depth: 0\ntransformer-decoder-dim-ffn: 0\n"
                  "transformer-tied-layers:\n  []\ntransformer-train-position-embeddings: false\n"
                  "transformer-no-projection: false\n"
                  "dec-cell-base-depth: 2\ndec-cell-high-depth: 1\nenc-cell: gru\n"
                  "enc-cell-depth: 1\nenc-type: bidirectional\ndim-rnn: 1024\nskip: false\n"
                  "layer-normalization: false\nright-left: false\nulr: false\n"
                  "lemma-dim-emb: 0\nfactors-dim-emb: 0\nfactors-combine: sum\n"
                  "input-types:\n  []\n");
    put_align_layer(b, e);
}

/* decoder.yml. */
static void put_decoder(struct tf_buf *b, const struct tf_export *e)
{
    char number[32];
    double factor = tf_export_search(e, "max-factor", 0);
    if (tf_export_search(e, "count-end", 0) != 0) /* see put_factor */
        factor = (floor(factor * UNIT + 0.5) + 1) / UNIT;
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
    struct tf_names f = marian_names(&e->config);
    struct tf_buf text = {0};
    f.vectors_are_rows = true;
    tf_names_export(&f, e, 1);
    put_settings(&text, e);
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

static const struct tf_export_format marian_format = {
    .format = TF_FORMAT_MARIAN,
    .program = "Marian",
    .has = marian_has,
    .has_any = "pre_norm|final_norm|source_vocab_size",
    .f32_only = true,
    .convert = convert_to_marian,
    .write_weights = tf_npz_write,
    .weights = "model.npz",
    .segmenter = {"vocab.spm", "vocab.target.spm"},
    .text = {"decoder.yml"},
};

const struct tf_program tf_marian = {
    .name = "Marian",
    .claims_dir = claims_rest,
    .find_files = find_marian_files,
    .begins = tf_marian_bin_begins,
    .read_weights = read_marian_weights,
    .claims_file = tf_marian_is,
    .read = read_marian,
    .search = search_of_marian,
    .beside = {".npz", ".bin"},
    .takes_config = true,
    .writes = &marian_format,
};
