/* convert.c - convert models between formats. */
#include "model/convert.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/memory.h"
#include "cbor/json.h"
#include "exchange/marian_bin.h"
#include "exchange/npz.h"
#include "exchange/safetensors.h"
#include "model/import_marian_private.h"
#include "model/load.h"
#include "text/gunzip.h"
#include "text/piece_list.h"
#include "text/sp_renumber.h"
#include "text/vocab_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_CONFIG = 1 << 20, MAX_KEYS = 1000, FIRST_N = 16, BF16 = 3 /* of tf_convert_dtypes */ };

const char *const tf_format_names[] = {"auto", "tfm", "safetensors", "npz", NULL};
const char *const tf_convert_dtypes[] = {"same", "f32", "f16", "bf16", NULL};

struct model {
    struct tf_arena arena;
    char *bytes; /* of the input, unless it is a .tfm */
    size_t n;
    struct tf_model_file own;        /* of a .tfm */
    struct tf_bundle bundle;         /* of another format */
    char *config_text, *vocab_bytes; /* of --config and --vocab */
    struct tf_header header;
    struct tf_config config;
    struct tf_params params;
    const uint8_t *vocab;
    size_t vocab_n;
    const struct tf_tensor **v; /* input tensor of each parameter, in the order of params */
    struct tf_tensor *out;      /* output tensors, names without "p/" */
    enum tf_format from;
};

/* ---- configuration: a JSON object of the settings, and entries of our header: "unk", the labels
 * of languages and, unless the file contains the vocabulary itself, its SHA-256 as "vocab" ---- */

static void write_config(struct tf_buf *b, struct model *m)
{
    struct tf_json j = {.out = b};
    const struct tf_value map = tf_config_map(&m->config, &m->arena);
    tf_json_open(&j, '{');
    for (size_t i = 0; i < map.n; i++) {
        tf_json_key(&j, map.keys[i]);
        tf_value_to_json(&j, &map.items[i], TF_JSON_PLAIN);
    }
    tf_json_put_int(&j, "unk", m->header.special.unk);
    if (m->header.lang[0] != 0)
        tf_json_put_str(&j, "lang", m->header.lang);
    if (m->header.target_lang[0] != 0)
        tf_json_put_str(&j, "target_lang", m->header.target_lang);
    if (m->vocab == NULL && m->header.has_vocab) {
        tf_json_key(&j, "vocab");
        tf_json_hex(&j, m->header.vocab, sizeof m->header.vocab);
    }
    tf_json_close(&j, '}');
}

/* Move what is not of the settings to the header; the rest of map becomes *settings. */
static int split_config(struct model *m, const struct tf_value *map, struct tf_value *settings,
                        struct tf_err *err)
{
    struct tf_header *h = &m->header;
    *settings = tf_value_map();
    for (size_t i = 0; i < map->n; i++) {
        const struct tf_value *v = &map->items[i];
        if (strcmp(map->keys[i], "unk") == 0) {
            if (tf_value_int_of(map, "unk", -1, INT64_MAX, &h->special.unk, err) < 0)
                return -1;
        } else if (strcmp(map->keys[i], "vocab") == 0) {
            struct tf_value hash;
            if (v->kind != TF_TEXT || v->n != 64 ||
                tf_value_from_hex(&hash, &m->arena, v->text, v->n, err) < 0)
                return tf_fail(err, "vocab: not a SHA-256 in hex");
            memcpy(h->vocab, hash.text, sizeof h->vocab);
            h->has_vocab = true;
        } else if (strcmp(map->keys[i], "lang") == 0 || strcmp(map->keys[i], "target_lang") == 0) {
            char *label = map->keys[i][0] == 'l' ? h->lang : h->target_lang;
            if (v->kind != TF_TEXT || !tf_lang_set(label, v->text))
                return tf_fail(err, "%s: no language label", map->keys[i]);
        } else if (settings->n == MAX_KEYS) {
            return tf_fail(err, "more than %d keys", MAX_KEYS);
        } else {
            tf_value_put(&m->arena, settings, map->keys[i], *v);
        }
    }
    return 0;
}

static int read_config(struct model *m, const char *text, size_t n, struct tf_err *err)
{
    struct tf_value map, settings;
    if (tf_value_from_json_text(&map, &m->arena, text, n, TF_JSON_PLAIN, "value", err) < 0)
        return tf_context(err, "config");
    if (map.kind != TF_MAP)
        return tf_fail(err, "config: not a JSON object");
    if (split_config(m, &map, &settings, err) < 0)
        return tf_context(err, "config");
    if (tf_config_read(&m->config, &settings, err) < 0)
        return -1;
    if (m->header.special.unk >= m->config.vocab_size)
        return tf_fail(err, "config: unk: %lld in a vocabulary of %lld",
                       (long long)m->header.special.unk, (long long)m->config.vocab_size);
    return 0;
}

/* ---- reading ---- */

static enum tf_format format_of(const char *p, size_t n)
{
    if (tf_label_begins(p, n)) /* or is a truncated label, even an empty one */
        return TF_FORMAT_TFM;
    if (n >= 4 && memcmp(p, "PK", 2) == 0)
        return TF_FORMAT_NPZ;
    if (tf_marian_bin_begins(p, n))
        return TF_FORMAT_MARIAN_BIN;
    return tf_safetensors_begins(p, n) ? TF_FORMAT_SAFETENSORS : TF_FORMAT_AUTO;
}

static int read_own(struct model *m, struct tf_in *in, struct tf_err *err)
{
    if (tf_model_read_in(&m->own, in, TF_MODEL_WEIGHTS, 0, err) < 0)
        return -1;
    m->header = m->own.header;
    m->vocab = m->own.vocab;
    m->vocab_n = m->own.vocab_n;
    return tf_model_load(&m->own, &m->config, NULL, "p/", err) < 0 ? tf_context(err, "%s", in->name)
                                                                   : 0;
}

/* Check a vocabulary from another format or --vocab; its hash, if config_name has one. */
static int check_vocab(const struct model *m, const char *name, const char *config_name,
                       struct tf_err *err)
{
    struct tf_header given = {.has_vocab = true};
    tf_sha256_of(given.vocab, m->vocab, m->vocab_n);
    if (tf_same_vocab(&given, name, &m->header, config_name, err) < 0)
        return -1;
    const struct tf_special special = {.pad = m->config.pad,
                                       .unk = m->header.special.unk,
                                       .bos = m->config.bos,
                                       .eos = m->config.eos};
    return tf_vocab_file_fits(m->vocab, m->vocab_n, name, m->config.vocab_size, &special, err);
}

/* Give the vocabulary the ids of --pieces. */
static int renumber(struct model *m, const struct tf_convert_opts *o, struct tf_err *err)
{
    const char *const *texts;
    size_t n;
    struct tf_buf out = {0};
    if (tf_piece_list_read(&texts, &n, &m->arena, o->pieces, err) != 0)
        return -1;
    if (tf_sp_renumber(&out, m->vocab_bytes, m->vocab_n, texts, n, err) != 0) {
        tf_buf_release(&out);
        return tf_context(err, "%s, %s", o->vocab, o->pieces);
    }
    free(m->vocab_bytes);
    m->vocab_bytes = out.p;
    m->vocab_n = out.len;
    return 0;
}

/* A model of Marian has no vocabulary in its file. */
static int read_marian(struct model *m, const char *name, const struct tf_convert_opts *o,
                       struct tf_err *err)
{
    if (o->config != NULL)
        return tf_fail_status(err, TF_USAGE, "--config: %s has the settings of Marian", name);
    if (o->vocab == NULL)
        return tf_fail_status(err, TF_USAGE,
                              "%s: a model of Marian: --vocab with its SentencePiece model is "
                              "needed",
                              name);
    if (tf_vocab_file_read(&m->vocab_bytes, &m->vocab_n, o->vocab, err) != 0)
        return -1;
    if (o->pieces != NULL && renumber(m, o, err) != 0)
        return -1;
    m->vocab = (const uint8_t *)m->vocab_bytes;
    if (tf_marian_import(&m->bundle, &m->config, &m->header.special.unk, m->vocab, m->vocab_n,
                         err) != 0)
        return tf_context(err, "%s", name);
    const struct tf_config *c = &m->config;
    tf_note("%s: Marian, %lld + %lld layers of width %lld, %s; decode with --normalize 1", name,
            (long long)c->encoder_layers, (long long)c->decoder_layers, (long long)c->d_model,
            tf_activations[c->activation]);
    return check_vocab(m, o->vocab, name, err);
}

static int read_other(struct model *m, struct tf_in *in, const struct tf_convert_opts *o,
                      struct tf_err *err)
{
    struct tf_bundle *b = &m->bundle;
    const char *name = in->name;
    /* A pipe may never end. */
    if (tf_in_all(in, &m->bytes, &m->n, in->size < 0 ? TF_MAX_TENSOR : SIZE_MAX / 2, err) < 0)
        return -1;
    int rc = m->from == TF_FORMAT_NPZ      ? tf_npz_read(b, m->bytes, m->n, err)
             : m->from == TF_FORMAT_MARIAN_BIN ? tf_marian_bin_read(b, m->bytes, m->n, err)
                                           : tf_safetensors_read(b, m->bytes, m->n, err);
    if (rc < 0)
        return tf_context(err, "%s", name);
    m->header = (struct tf_header){.version = 1,
                                   .special = {-1, -1, -1, -1},
                                   .made = tf_value_array(),
                                   .extra = tf_value_map()};
    if (tf_marian_is(b))
        return read_marian(m, name, o, err);
    if (o->pieces != NULL)
        return tf_fail_status(err, TF_USAGE, "--pieces: %s has ids of its own", name);
    m->vocab = b->vocab;
    m->vocab_n = b->vocab_n;
    if (m->vocab_n > TF_MAX_VOCAB)
        return tf_fail(err, "%s: a vocabulary of %zu bytes: at most %zu", name, m->vocab_n,
                       TF_MAX_VOCAB);
    const char *config = b->config;
    size_t n = b->config_n;
    if (o->config != NULL) {
        if (tf_read_file(&m->config_text, &n, o->config, MAX_CONFIG, err) < 0)
            return -1;
        config = m->config_text;
        name = o->config;
    }
    if (config == NULL)
        return tf_fail(err, "%s: contains no configuration; use --config", name);
    if (n > MAX_CONFIG)
        return tf_fail(err, "%s: a configuration of %zu bytes: at most %d", name, n, MAX_CONFIG);
    return read_config(m, config, n, err) < 0 ? tf_context(err, "%s", name) : 0;
}

static int read_input(struct model *m, struct tf_in *in, const struct tf_convert_opts *o,
                      struct tf_err *err)
{
    const char *name = in->name;
    ssize_t n;
    if (tf_in_refuse_terminal(in, "a model", err) < 0 || (n = tf_in_fill(in, FIRST_N, err)) < 0)
        return -1;
    if (tf_is_gzip(in->buf + in->pos, (size_t)n) &&
        (tf_gunzip(in, err) != 0 || (n = tf_in_fill(in, FIRST_N, err)) < 0))
        return -1;
    m->from = format_of((const char *)in->buf + in->pos, (size_t)n);
    if (m->from == TF_FORMAT_AUTO)
        return tf_fail(err, "%s: not a model of tf-tools, safetensors, npz or Marian", name);
    if (m->from == TF_FORMAT_TFM && n >= TF_LABEL_N && o->pieces != NULL)
        return tf_fail_status(err, TF_USAGE, "--pieces: %s has ids of its own", name);
    if (m->from == TF_FORMAT_TFM && n >= TF_LABEL_N && o->config != NULL)
        return tf_fail_status(err, TF_USAGE, "--config: %s has its own", name);
    if ((m->from == TF_FORMAT_TFM ? read_own(m, in, err) : read_other(m, in, o, err)) < 0)
        return -1;
    if (o->vocab != NULL && m->vocab_bytes == NULL) {
        if (tf_vocab_file_read(&m->vocab_bytes, &m->vocab_n, o->vocab, err) < 0)
            return -1;
        m->vocab = (const uint8_t *)m->vocab_bytes;
    }
    if (m->vocab == NULL || (m->from == TF_FORMAT_TFM && o->vocab == NULL))
        return 0;
    return check_vocab(m, o->vocab != NULL ? o->vocab : name, o->config != NULL ? o->config : name,
                       err);
}

/* ---- the parameters ---- */

static int by_name(const void *a, const void *b)
{
    return strcmp((*(const struct tf_tensor *const *)a)->name,
                  (*(const struct tf_tensor *const *)b)->name);
}

/* Find the tensor of each parameter; fail if one is missing or a tensor is left over. */
static int match(struct model *m, const char *name, struct tf_err *err)
{
    bool own = m->from == TF_FORMAT_TFM;
    const struct tf_tensor *have = own ? m->own.tensors : m->bundle.tensors;
    size_t n = own ? m->own.n_tensors : m->bundle.n, used = 0;
    if (m->config.vocab_size < 1)
        return tf_fail(err, "%s: config: vocab_size is 0", name);
    tf_params_init(&m->params, &m->config);
    m->v = tf_xcalloc(m->params.n + 1, sizeof *m->v);
    const struct tf_tensor **sorted = tf_xcalloc(n + 1, sizeof *sorted);
    for (size_t i = 0; i < n; i++)
        sorted[i] = &have[i];
    qsort(sorted, n, sizeof *sorted, by_name);
    for (size_t i = 0; i < m->params.n && err->status == 0; i++) {
        const struct tf_param *p = &m->params.v[i];
        char full[80];
        snprintf(full, sizeof full, "%s%s", own ? "p/" : "", p->name);
        const struct tf_tensor want = {.name = full}, *key = &want,
                               **found = bsearch(&key, sorted, n, sizeof *sorted, by_name);
        if (found == NULL)
            tf_fail(err, "%s: tensor '%s' is missing", name, full);
        else if ((*found)->dtype != TF_F32 && (*found)->dtype != TF_F16 &&
                 (*found)->dtype != TF_BF16 && (*found)->dtype != TF_F64)
            tf_fail(err, "%s: tensor '%s': dtype %s, want f32, f16, bf16 or f64", name, full,
                    tf_dtype_name((*found)->dtype));
        else if (tf_check_shape(*found, p, err) < 0)
            tf_context(err, "%s", name);
        else
            m->v[i] = *found, used++;
    }
    for (size_t i = 0; i < n && err->status == 0 && used < n; i++) {
        size_t k = 0;
        while (k < m->params.n && m->v[k] != sorted[i])
            k++;
        if (k == m->params.n)
            tf_fail(err, "%s: tensor '%s' is not a parameter of this configuration", name,
                    sorted[i]->name);
    }
    free(sorted);
    return err->status == 0 ? 0 : -1;
}

static enum tf_dtype dtype_of(const struct tf_tensor *t, const struct tf_convert_opts *o,
                              enum tf_format to)
{
    static const enum tf_dtype requested[] = {TF_F32, TF_F32, TF_F16, TF_BF16};
    if (o->dtype > 0)
        return requested[o->dtype];
    return t->dtype == TF_F64 || (t->dtype == TF_BF16 && to == TF_FORMAT_NPZ) ? TF_F32 : t->dtype;
}

/* Make the output tensors. Data that need no conversion are used in place. */
static int make_tensors(struct model *m, const struct tf_convert_opts *o, enum tf_format to,
                        struct tf_err *err)
{
    float *wide = NULL;
    int rc = 0;
    m->out = tf_arena_zalloc(&m->arena, (m->params.n + 1) * sizeof *m->out);
    for (size_t i = 0; i < m->params.n && rc == 0; i++) {
        const struct tf_param *p = &m->params.v[i];
        const struct tf_tensor *t = m->v[i];
        struct tf_tensor *w = &m->out[i];
        enum tf_dtype dtype = dtype_of(t, o, to);
        *w = *t;
        w->name = p->name;
        if (dtype == t->dtype && tf_tensor_finite(dtype, t->data, t->bytes))
            continue;
        void *data = tf_try_alloc(p->n * tf_dtype_size(dtype) + 1, err);
        if (data == NULL) {
            rc = -1;
            break;
        }
        w->dtype = dtype;
        w->data = data;
        w->bytes = p->n * tf_dtype_size(dtype);
        wide = tf_xarray(wide, p->n + 1, sizeof *wide);
        if (tf_tensor_floats(wide, t, err) < 0 || tf_floats_as(data, dtype, wide, p->n, err) < 0)
            rc = tf_context(err, "%s", p->name);
        else if (!tf_tensor_finite(dtype, data, w->bytes))
            rc = tf_fail(err, "%s: contains values that are not finite", p->name);
    }
    free(wide);
    return rc;
}

/* ---- writing ---- */

static int write_own(struct model *m, struct tf_out *out, const char *prog,
                     const struct tf_opt *opts, struct tf_err *err)
{
    struct tf_header *h = &m->header;
    struct tf_value inputs = tf_value_map();
    uint8_t hash[32];
    char name[80];
    if (m->from != TF_FORMAT_TFM)
        tf_sha256_of(hash, m->bytes, m->n);
    else if (h->has_model)
        memcpy(hash, h->model, sizeof hash);
    else
        tf_model_fingerprint(hash, &h->config, h->has_vocab ? h->vocab : NULL, m->own.tensors,
                             m->own.n_tensors);
    tf_value_put(&m->arena, &inputs, "model", tf_value_bytes(&m->arena, hash, 32));
    h->kind = "model";
    h->config = tf_config_map(&m->config, &m->arena);
    h->size = m->config.vocab_size;
    h->special.pad = m->config.pad;
    h->special.eos = m->config.eos;
    if (m->config.bos >= 0)
        h->special.bos = m->config.bos;
    tf_header_made(h, &m->arena, prog, opts, &inputs);
    for (size_t i = 0; i < m->params.n; i++) {
        int n = snprintf(name, sizeof name, "p/%s", m->out[i].name);
        m->out[i].name = tf_arena_strndup(&m->arena, name, (size_t)n);
    }
    return tf_model_put(out, h, m->vocab, m->vocab_n, NULL, 0, m->out, m->params.n, err);
}

static int write_other(struct model *m, struct tf_out *out, enum tf_format to, struct tf_err *err)
{
    struct tf_buf config = {0};
    write_config(&config, m);
    const struct tf_bundle b = {.tensors = m->out,
                                .n = m->params.n,
                                .config = config.p,
                                .config_n = config.len,
                                .vocab = m->vocab,
                                .vocab_n = m->vocab_n};
    int rc = to == TF_FORMAT_NPZ ? tf_npz_write(out, &b, err) : tf_safetensors_write(out, &b, err);
    tf_buf_release(&config);
    return rc;
}

int tf_convert(const char *input, const char *output, const struct tf_convert_opts *o,
               const char *prog, const struct tf_opt *opts, struct tf_err *err)
{
    struct model m = {0};
    struct tf_in in;
    struct tf_out out = {0};
    if (tf_in_open(&in, input, err) < 0)
        return -1;
    int rc = read_input(&m, &in, o, err);
    enum tf_format to = o->to != TF_FORMAT_AUTO   ? (enum tf_format)o->to
                        : m.from == TF_FORMAT_TFM ? TF_FORMAT_SAFETENSORS
                                                  : TF_FORMAT_TFM;
    if (rc == 0 && to == TF_FORMAT_NPZ && o->dtype == BF16)
        rc = tf_fail_status(err, TF_USAGE, "--dtype bf16: not possible in npz: numpy has none");
    if (rc == 0)
        rc = match(&m, in.name, err);
    if (rc == 0)
        rc = make_tensors(&m, o, to, err) < 0 ? tf_context(err, "%s", in.name) : 0;
    if (rc == 0)
        rc = tf_out_open(&out, output, TF_OUT_BINARY, err);
    if (rc == 0)
        rc = to == TF_FORMAT_TFM ? write_own(&m, &out, prog, opts, err)
                                 : write_other(&m, &out, to, err);
    if (rc == 0)
        rc = tf_out_commit(&out, err);
    tf_out_abort(&out);
    for (size_t i = 0; m.out != NULL && i < m.params.n; i++)
        if (m.v[i] != NULL && m.out[i].data != m.v[i]->data)
            free((void *)m.out[i].data);
    tf_params_release(&m.params);
    free(m.v);
    tf_bundle_release(&m.bundle);
    tf_model_release(&m.own);
    free(m.config_text);
    free(m.vocab_bytes);
    free(m.bytes);
    tf_arena_release(&m.arena);
    tf_in_close(&in);
    return rc;
}
