/* convert.c - convert models between formats. */
#include "base/hash.h"
#include "base/log.h"
#include "base/memory.h"
#include "cbor/json.h"
#include "convert/conversion_private.h"
#include "convert/convert.h"
#include "convert/export_private.h"
#include "convert/new_vocab_private.h"
#include "convert/programs_private.h"
#include "exchange/npz.h"
#include "exchange/safetensors.h"
#include "stream/stored.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BF16 = 3, I8 = 4 /* of tf_convert_dtypes */ };

const char *const tf_format_names[] = {"auto",   "tfm", "safetensors", "npz",
                                       "marian", "hf",  "ctranslate2", NULL};
const char *const tf_stored_position_words[] = {"auto", "t2t", "halves", NULL};
const char *const tf_convert_dtypes[] = {"same", "f32", "f16", "bf16", "i8", NULL};

static void write_config(struct tf_buf *b, struct tf_conversion *m)
{
    struct tf_json j = {.out = b};
    const struct tf_value map = tf_config_map(&m->in.config, &m->arena);
    tf_json_open(&j, '{');
    for (size_t i = 0; i < map.n; i++)
        tf_json_put_value(&j, map.keys[i], &map.items[i], TF_JSON_PLAIN);
    tf_json_put_int(&j, "unk", m->in.header.special.unk);
    if (m->in.header.lang[0] != 0)
        tf_json_put_str(&j, "lang", m->in.header.lang);
    if (m->in.header.target_lang[0] != 0)
        tf_json_put_str(&j, "target_lang", m->in.header.target_lang);
    if (m->in.header.search.n > 0)
        tf_json_put_value(&j, "search", &m->in.header.search, TF_JSON_PLAIN);
    if (m->in.segmenter[0].p == NULL && m->in.header.has_vocab) {
        tf_json_key(&j, "vocab");
        tf_json_hex(&j, m->in.header.vocab, sizeof m->in.header.vocab);
    }
    tf_json_close(&j, '}');
}

/* ---- the parameters ---- */

static int compare_tensors(const void *a, const void *b)
{
    return strcmp((*(const struct tf_tensor *const *)a)->name,
                  (*(const struct tf_tensor *const *)b)->name);
}

/* Find the tensor of each parameter; fail if one is missing or a tensor is left over. */
static int match_tensors(struct tf_conversion *m, const char *name, struct tf_err *err)
{
    bool own = m->in.from == TF_FORMAT_TFM;
    const struct tf_tensor *have = own ? m->own.tensors : m->in.bundle.tensors;
    size_t n = own ? m->own.n_tensors : m->in.bundle.n, used = 0;
    if (m->in.config.vocab_size < 1)
        return tf_fail(err, "%s: config: vocab_size is 0", name);
    tf_params_init(&m->params, &m->in.config);
    m->v = tf_xcalloc(m->params.n + 1, sizeof *m->v);
    m->v_amax = tf_xcalloc(m->params.n + 1, sizeof *m->v_amax);
    const struct tf_tensor **sorted = tf_xcalloc(n + 1, sizeof *sorted);
    for (size_t i = 0; i < n; i++)
        sorted[i] = &have[i];
    qsort(sorted, n, sizeof *sorted, compare_tensors);
    for (size_t i = 0; i < m->params.n && err->status == 0; i++) {
        const struct tf_param *p = &m->params.v[i];
        char full[80];
        snprintf(full, sizeof full, "%s%s", own ? "p/" : "", p->name);
        const struct tf_tensor want = {.name = full}, *key = &want,
                               **found = bsearch(&key, sorted, n, sizeof *sorted, compare_tensors);
        if (found == NULL)
            tf_fail(err, "%s: tensor '%s' is missing", name, full);
        else if (tf_check_shape(*found, p->dims, p->rank, err) != 0)
            tf_context(err, "%s", name);
        else if (own && (*found)->dtype == TF_I8) {
            struct tf_stored s = {.t = *found, .outputs = p->outputs};
            if (tf_stored_find_amax(&s, &m->own, err) != 0)
                tf_context(err, "%s", name);
            m->v[i] = s.t, m->v_amax[i] = s.amax, used += 2;
        } else if ((*found)->dtype != TF_F32 && (*found)->dtype != TF_F16 &&
                 (*found)->dtype != TF_BF16 && (*found)->dtype != TF_F64)
            tf_fail(err, "%s: tensor '%s': dtype %s, want f32, f16, bf16 or f64", name, full,
                    tf_dtype_name((*found)->dtype));
        else
            m->v[i] = *found, used++;
    }
    for (size_t i = 0; i < n && err->status == 0 && used < n; i++) {
        size_t k = 0;
        while (k < m->params.n && m->v[k] != sorted[i] && m->v_amax[k] != sorted[i])
            k++;
        if (k == m->params.n)
            tf_fail(err, "%s: tensor '%s' is not a parameter of this configuration", name,
                    sorted[i]->name);
    }
    free(sorted);
    return err->status == 0 ? 0 : -1;
}

static bool f32_only(enum tf_format to)
{
    const struct tf_export_format *f = tf_export_format(to, NULL);
    return f != NULL && f->f32_only;
}

/* What is not in 8 bits in an i8 model is as it was: decoding in int8 has the same numbers. */
static enum tf_dtype dtype_of(const struct tf_tensor *t, const struct tf_param *p,
                              const struct tf_convert_opts *o, enum tf_format to)
{
    static const enum tf_dtype requested[] = {TF_F32, TF_F32, TF_F16, TF_BF16};
    if (o->dtype == I8 && tf_param_takes_int8(p))
        return TF_I8;
    if (o->dtype > 0 && o->dtype != I8)
        return requested[o->dtype];
    if (f32_only(to))
        return TF_F32;
    const bool widen = t->dtype == TF_F64 || (t->dtype == TF_I8 && to != TF_FORMAT_TFM) ||
                       (t->dtype == TF_BF16 && to == TF_FORMAT_NPZ);
    return widen ? TF_F32 : t->dtype;
}

/* The values of parameter i. */
static int read_floats(float *dst, const struct tf_conversion *m, size_t i, struct tf_err *err)
{
    if (m->v_amax[i] == NULL)
        return tf_tensor_floats(dst, m->v[i], err);
    tf_stored_floats(dst, &(struct tf_stored){m->v[i], m->v_amax[i], m->params.v[i].outputs});
    return 0;
}

/* Parameter i in 8 bits: its amax, and its q from w. */
static void make_int8(struct tf_conversion *m, size_t i, const float *w)
{
    const struct tf_param *p = &m->params.v[i];
    const size_t n = (size_t)p->dims[p->outputs];
    float *amax = tf_arena_alloc(&m->arena, n * sizeof *amax);
    m->out_amax[i] = (struct tf_tensor){
        .dtype = TF_F32, .rank = 1, .dims = {n}, .data = amax, .bytes = n * sizeof *amax};
    tf_int8_quantise((int8_t *)m->out[i].data, amax, w, &m->out[i], p->outputs);
}

/* Make the output tensors. Data that need no conversion are used in place. */
static int make_tensors(struct tf_conversion *m, const struct tf_convert_opts *o, enum tf_format to,
                        struct tf_err *err)
{
    float *wide = NULL;
    int rc = 0;
    m->out = tf_arena_zalloc(&m->arena, (m->params.n + 1) * sizeof *m->out);
    m->out_amax = tf_arena_zalloc(&m->arena, (m->params.n + 1) * sizeof *m->out_amax);
    for (size_t i = 0; i < m->params.n && rc == 0; i++) {
        const struct tf_param *p = &m->params.v[i];
        const struct tf_tensor *t = m->v[i];
        struct tf_tensor *w = &m->out[i];
        enum tf_dtype dtype = dtype_of(t, p, o, to);
        *w = *t;
        w->name = p->name;
        if (dtype == t->dtype && tf_tensor_finite(dtype, t->data, t->bytes)) {
            if (dtype == TF_I8)
                m->out_amax[i] = *m->v_amax[i];
            continue;
        }
        void *data = tf_try_alloc(p->n * tf_dtype_size(dtype) + 1, err);
        if (data == NULL) {
            rc = -1;
            break;
        }
        w->dtype = dtype;
        w->data = data;
        w->bytes = p->n * tf_dtype_size(dtype);
        wide = tf_xarray(wide, p->n + 1, sizeof *wide);
        if (read_floats(wide, m, i, err) != 0)
            rc = tf_context(err, "%s", p->name);
        else if (!tf_tensor_finite(TF_F32, wide, p->n * sizeof *wide))
            rc = tf_fail(err, "%s: contains values that are not finite", p->name);
        else if (dtype == TF_I8)
            make_int8(m, i, wide);
        else if (tf_floats_as(data, dtype, wide, p->n, err) != 0)
            rc = tf_context(err, "%s", p->name);
    }
    free(wide);
    return rc;
}

/* ---- writing ---- */

/* A tensor of parameter i with its name in our files. */
static void add_own(struct tf_conversion *m, struct tf_tensor *to, const struct tf_tensor *from,
                    size_t i, const char *end)
{
    char name[80];
    const int n = snprintf(name, sizeof name, "p/%s%s", m->params.v[i].name, end);
    *to = *from;
    to->name = tf_arena_strndup(&m->arena, name, (size_t)n);
}

/* One SHA-256 of all files of weights, in the order of their names. */
static void hash_files(const struct tf_conversion *m, uint8_t hash[32])
{
    struct tf_sha256 sha;
    tf_sha256_init(&sha);
    for (size_t i = 0; i < m->n_parts; i++)
        tf_sha256_add(&sha, m->parts[i].bytes, m->parts[i].n);
    tf_sha256_end(&sha, hash);
}

static struct tf_state state_of(const char *name, const struct tf_buf *bytes)
{
    return (struct tf_state){name, {.kind = TF_BYTES, .text = bytes->p, .n = bytes->len}};
}

static int write_own(struct tf_conversion *m, struct tf_out *out, const char *prog,
                     const struct tf_opt *opts, struct tf_err *err)
{
    struct tf_header *h = &m->in.header;
    struct tf_value inputs = tf_value_map();
    uint8_t hash[32];
    if (m->in.from != TF_FORMAT_TFM)
        hash_files(m, hash);
    else
        memcpy(hash, h->model, sizeof hash);
    tf_value_put(&m->arena, &inputs, "model", tf_value_bytes(&m->arena, hash, 32));
    h->kind = "model";
    h->config = tf_config_map(&m->in.config, &m->arena);
    h->size = m->in.config.vocab_size;
    h->special.pad = m->in.config.pad;
    h->special.eos = m->in.config.eos;
    if (m->in.config.bos >= 0)
        h->special.bos = m->in.config.bos;
    tf_header_made(h, &m->arena, prog, opts, &inputs);
    size_t n = 0;
    struct tf_tensor *all = tf_arena_alloc(&m->arena, (2 * m->params.n + 1) * sizeof *all);
    for (size_t i = 0; i < m->params.n; i++) {
        add_own(m, &all[n++], &m->out[i], i, "");
        if (m->out_amax[i].rank > 0)
            add_own(m, &all[n++], &m->out_amax[i], i, TF_INT8_AMAX);
    }
    const struct tf_buf *vocab = m->in.segmenter;
    struct tf_state states[2];
    size_t n_states = 0;
    if (vocab[1].p != NULL)
        states[n_states++] = state_of("vocab_target", &vocab[1]);
    if (m->in.list.len > 0)
        states[n_states++] = state_of("shortlist", &m->in.list);
    return tf_model_put(out, h, (const uint8_t *)vocab[0].p, vocab[0].len, states, n_states, all, n,
                        err);
}

static int write_other(struct tf_conversion *m, struct tf_out *out, enum tf_format to,
                       struct tf_err *err)
{
    struct tf_buf config = {0};
    const struct tf_buf *vocab = m->in.segmenter;
    write_config(&config, m);
    const struct tf_bundle b = {.tensors = m->out,
                                .n = m->params.n,
                                .config = config.p,
                                .config_n = config.len,
                                .vocab = (const uint8_t *)vocab[0].p,
                                .vocab_n = vocab[0].len,
                                .vocab_target = (const uint8_t *)vocab[1].p,
                                .vocab_target_n = vocab[1].len};
    int rc = to == TF_FORMAT_NPZ ? tf_npz_write(out, &b, err) : tf_safetensors_write(out, &b, err);
    tf_buf_release(&config);
    return rc;
}

static void release_all(struct tf_conversion *m)
{
    for (size_t i = 0; m->out != NULL && i < m->params.n; i++)
        if (m->v[i] != NULL && m->out[i].data != m->v[i]->data)
            free((void *)m->out[i].data);
    tf_params_release(&m->params);
    free(m->v);
    free(m->v_amax);
    tf_import_release(&m->in);
    for (size_t i = 0; i < m->n_parts; i++) {
        tf_bundle_release(&m->parts[i].bundle);
        tf_torch_release(&m->parts[i].torch);
        free(m->parts[i].bytes);
    }
    tf_model_release(&m->own);
    tf_arena_release(&m->arena);
}

static int write_file(struct tf_conversion *m, const char *output, enum tf_format to,
                      const char *prog, const struct tf_opt *opts, struct tf_err *err)
{
    struct tf_out out = {0};
    int rc = tf_out_open(&out, output, TF_OUT_BINARY, err);
    if (rc == 0)
        rc = to == TF_FORMAT_TFM ? write_own(m, &out, prog, opts, err)
                                 : write_other(m, &out, to, err);
    if (rc == 0)
        rc = tf_out_commit(&out, err);
    tf_out_abort(&out);
    return rc;
}

bool tf_format_is_dir(int to)
{
    return tf_export_format((enum tf_format)to, NULL) != NULL;
}

bool tf_convert_reads_beside(const char *input)
{
    return tf_program_beside(NULL, input) != NULL;
}

static int check_output(const struct tf_convert_opts *o, const char *output, enum tf_format to,
                        struct tf_err *err)
{
    if (to == TF_FORMAT_NPZ && o->dtype == BF16)
        return tf_fail_status(err, TF_USAGE, "--dtype bf16: not possible in npz: numpy has none");
    if (f32_only(to) && o->dtype > 1)
        return tf_fail_status(err, TF_USAGE, "--dtype %s: %s's models are f32",
                              tf_convert_dtypes[o->dtype], tf_export_format(to, NULL)->program);
    if (to != TF_FORMAT_TFM && o->dtype == I8)
        return tf_fail_status(err, TF_USAGE, "--dtype i8: only with --to tfm");
    if (to != TF_FORMAT_TFM && o->list != NULL && strcmp(o->list, "none") != 0)
        return tf_fail_status(err, TF_USAGE, "--shortlist %s: only with --to tfm", o->list);
    if (tf_format_is_dir(to) && (output == NULL || strcmp(output, "-") == 0))
        return tf_fail_status(err, TF_USAGE, "--to %s: a directory: -o names it",
                              tf_format_names[to]);
    return 0;
}

/* A list does not go everywhere. */
static void drop_list(struct tf_conversion *m, const struct tf_convert_opts *o, enum tf_format to,
                      const char *name)
{
    if (m->in.list.len == 0 || (to == TF_FORMAT_TFM && o->new_vocab == NULL))
        return;
    tf_note("%s: its shortlist is left out: it is %s", name,
            to != TF_FORMAT_TFM ? "no part of the other format" : "for another vocabulary");
    tf_buf_release(&m->in.list);
}

static enum tf_format output_format(const struct tf_conversion *m, const char *output,
                                    const struct tf_convert_opts *o)
{
    if (o->to != TF_FORMAT_AUTO)
        return (enum tf_format)o->to;
    const char *end = strrchr(output, '.');
    for (enum tf_format f = TF_FORMAT_TFM; end != NULL && f <= TF_FORMAT_NPZ; f++) {
        if (strcmp(end + 1, tf_format_names[f]) == 0)
            return f;
    }
    return m->in.from == TF_FORMAT_TFM && o->new_vocab == NULL ? TF_FORMAT_SAFETENSORS
                                                               : TF_FORMAT_TFM;
}

int tf_convert(const char *input, const char *output, const struct tf_convert_opts *o,
               const char *prog, const struct tf_opt *opts, struct tf_err *err)
{
    struct tf_conversion m = {0};
    int rc = tf_conversion_read(&m, &input, o, err);
    const enum tf_format to = output_format(&m, output, o);
    const struct tf_export_format *f = tf_export_format(to, &m.in.config);
    if (rc == 0)
        rc = check_output(o, output, to, err);
    if (rc == 0)
        rc = tf_lang_option(m.in.header.lang, "lang", o->lang[0], err);
    if (rc == 0)
        rc = tf_lang_option(m.in.header.target_lang, "target-lang", o->lang[1], err);
    if (rc == 0)
        drop_list(&m, o, to, input);
    if (rc == 0)
        rc = match_tensors(&m, input, err);
    if (rc == 0 && o->new_vocab != NULL)
        rc = tf_new_vocab(&m, o->new_vocab, err);
    if (rc == 0)
        rc = make_tensors(&m, o, to, err) != 0 ? tf_context(err, "%s", input) : 0;
    if (rc == 0)
        rc = f != NULL ? tf_export(&m, output, f, tf_format_names[to], err)
                       : write_file(&m, output, to, prog, opts, err);
    release_all(&m);
    return rc;
}
