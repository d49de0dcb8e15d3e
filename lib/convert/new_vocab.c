/* new_vocab.c - see new_vocab_private.h. */
#include "convert/new_vocab_private.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/rng.h"
#include "text/sp_check.h"
#include "text/vocab_file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of the new vocabulary. */
struct texts {
    const char *const *v;
    size_t n;
};

/* The former id of each piece of `to`; -1: it is new. Returns how many have one. */
static size_t map_ids(int64_t *was, const struct tf_sp_index *from, const struct texts *to)
{
    size_t kept = 0;
    for (size_t i = 0; i < to->n; i++) {
        const char *text = to->v[i];
        was[i] = text != NULL ? tf_sp_find(from, (struct tf_text){text, strlen(text)}) : -1;
        kept += was[i] >= 0;
    }
    return kept;
}

/* The new id of a piece that had this one; -1: none had, or it has none. */
static int64_t new_id(const int64_t *was, size_t n, int64_t id)
{
    for (size_t i = 0; id >= 0 && i < n; i++)
        if (was[i] == id)
            return (int64_t)i;
    return -1;
}

/* Rows of the new vocabulary in place of those of parameter i. */
static int make_rows(struct tf_conversion *m, size_t i, const struct texts *to, const int64_t *was,
                     struct tf_err *err)
{
    const struct tf_param *p = &m->params.v[i];
    const size_t width = p->rank == 2 ? (size_t)p->dims[1] : 1, n = to->n * width,
                 before = (size_t)p->dims[0];
    const double scale = p->rank == 2 ? 1 / sqrt((double)width) : 0;
    const enum tf_dtype dtype = m->v[i]->dtype;
    float *from = tf_xarray(NULL, p->n + 1, sizeof *from), *x = tf_xarray(NULL, n + 1, sizeof *x);
    int rc = tf_tensor_floats(from, m->v[i], err);
    for (size_t row = 0; rc == 0 && row < to->n; row++) {
        struct tf_rng rng = tf_rng_new(i, row);
        const bool kept = was[row] >= 0 && (size_t)was[row] < before;
        for (size_t k = 0; k < width; k++)
            x[row * width + k] = kept ? from[(size_t)was[row] * width + k]
                                      : (float)(tf_rng_normal(&rng) * scale);
    }
    struct tf_tensor *t = tf_arena_zalloc(&m->arena, sizeof *t);
    const size_t bytes = n * tf_dtype_size(dtype);
    void *data = tf_arena_alloc(&m->arena, bytes + 1);
    if (rc == 0)
        rc = tf_floats_as(data, dtype, x, n, err);
    *t = *m->v[i];
    t->dims[0] = to->n;
    t->data = data;
    t->bytes = bytes;
    m->v[i] = t;
    free(from);
    free(x);
    return rc == 0 ? 0 : tf_context(err, "%s", p->name);
}

static int make_all(struct tf_conversion *m, const struct texts *to, const int64_t *was,
                    struct tf_err *err)
{
    struct tf_config *c = &m->in.config;
    struct tf_special *special = &m->in.header.special;
    const struct tf_params *p = &m->params;
    const int rows[] = {p->enc.table, p->dec.table, p->project, p->project_b};
    const int64_t eos = new_id(was, to->n, c->eos);
    int rc = 0;
    if (eos < 0)
        return tf_fail(err, "it has no piece for the end of a sentence");
    if (c->bos >= 0 && new_id(was, to->n, c->bos) < 0)
        return tf_fail(err, "it has no piece for what the decoder starts with");
    for (size_t i = 0; rc == 0 && i < p->n; i++) {
        bool has_rows = false;
        for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
            has_rows = has_rows || rows[k] == (int)i;
        if (has_rows)
            rc = make_rows(m, i, to, was, err);
    }
    c->vocab_size = (int64_t)to->n;
    c->eos = eos;
    c->bos = new_id(was, to->n, c->bos);
    c->pad = new_id(was, to->n, c->pad);
    special->unk = new_id(was, to->n, special->unk);
    special->bos = new_id(was, to->n, special->bos);
    tf_params_release(&m->params);
    tf_params_init(&m->params, c);
    return rc;
}

int tf_new_vocab(struct tf_conversion *m, const char *path, struct tf_err *err)
{
    struct tf_buf *own = m->in.segmenter;
    const struct tf_config *c = &m->in.config;
    struct tf_sp_index from;
    struct texts to;
    char *bytes;
    size_t n;
    if (m->in.from != TF_FORMAT_TFM)
        return tf_fail_status(err, TF_USAGE, "--new-vocab: the model is to be one of tf-tools");
    if (own[0].p == NULL || own[1].p != NULL || c->source_vocab_size > 0)
        return tf_fail(err, "--new-vocab: only for a model with one vocabulary, which it carries");
    for (size_t i = 0; i < m->params.n; i++)
        if (m->v_amax[i] != NULL)
            return tf_fail(err, "--new-vocab: not for a model in 8 bits");
    if (tf_vocab_file_read(&bytes, &n, NULL, path, false, err) != 0)
        return -1;
    int rc = tf_vocab_file_check(bytes, n, err);
    if (rc == 0)
        rc = tf_sp_index(&from, &m->arena, own[0].p, own[0].len, err);
    if (rc == 0)
        rc = tf_sp_texts(&m->arena, bytes, n, &to.v, &to.n, err);
    if (rc == 0) {
        int64_t *was = tf_xarray(NULL, to.n + 1, sizeof *was);
        const size_t kept = map_ids(was, &from, &to);
        rc = make_all(m, &to, was, err);
        if (rc == 0)
            tf_note("%s: %zu pieces, of which %zu are also among the model's %zu", path, to.n, kept,
                    from.n);
        own[0].len = 0;
        tf_buf_add(&own[0], bytes, n);
        free(was);
    }
    free(bytes);
    return rc == 0 ? 0 : tf_context(err, "%s", path);
}
