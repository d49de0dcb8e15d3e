/* weights.c - a model's weights in backend memory, the table of positions, and the packed matrices
 * for decoding. */
#include "model/weights.h"
#include "base/memory.h"
#include "model/int8.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void tf_floats_up(const struct tf_backend *be, struct tf_ctx *ctx, tf_mem *dst, enum tf_elem e,
                  const float *src, size_t n)
{
    if (be->elem_size[e] == sizeof *src) {
        be->upload(ctx, dst, e, src, n);
        return;
    }
    double *wide = tf_xarray(NULL, n + 1, sizeof *wide);
    for (size_t i = 0; i < n; i++)
        wide[i] = (double)src[i];
    be->upload(ctx, dst, e, wide, n);
    free(wide);
}

int tf_floats_down(const struct tf_backend *be, struct tf_ctx *ctx, float *dst, enum tf_elem e,
                   const tf_mem *src, size_t n, struct tf_err *err)
{
    if (be->elem_size[e] == sizeof *dst)
        return be->download(ctx, dst, e, src, n, err);
    double *wide = tf_xarray(NULL, n + 1, sizeof *wide);
    int rc = be->download(ctx, wide, e, src, n, err);
    for (size_t i = 0; rc == 0 && i < n; i++)
        dst[i] = (float)wide[i];
    free(wide);
    return rc;
}

/* Upload, and wait until it is done. */
static int upload(struct tf_weights *w, tf_mem *dst, const float *src, size_t n, struct tf_err *err)
{
    tf_floats_up(w->be, w->ctx, dst, TF_ELEM_PARAM, src, n);
    return w->be->sync(w->ctx, err);
}

/* Memory for the table that w has. */
static int alloc_flat(struct tf_weights *w, struct tf_err *err)
{
    w->flat = w->be->alloc(w->ctx, TF_ELEM_PARAM, w->params.size, err);
    return w->flat != NULL ? 0 : -1;
}

int tf_weights_init(struct tf_weights *w, const struct tf_backend *be, struct tf_ctx *ctx,
                    const struct tf_config *c, const float *flat, struct tf_err *err)
{
    *w = (struct tf_weights){.be = be, .ctx = ctx, .config = *c};
    tf_params_init(&w->params, c);
    if (alloc_flat(w, err) != 0 ||
        (flat != NULL && upload(w, w->flat, flat, w->params.size, err) < 0)) {
        tf_weights_release(w);
        return -1;
    }
    return 0;
}

static int inputs(const struct tf_param *p)
{
    return (int)p->dims[!p->outputs];
}

static int outputs(const struct tf_param *p)
{
    return (int)p->dims[p->outputs];
}

/* Pack parameter i from values [p->n] in memory of the backend. */
static int pack_param(struct tf_weights *w, size_t i, const tf_mem *values, struct tf_err *err)
{
    const struct tf_param *p = &w->params.v[i];
    w->packed[i] =
        tf_pack_all(w->be, w->ctx, values, inputs(p), outputs(p), p->outputs == 0, err);
    return w->packed[i] != NULL ? 0 : -1;
}

/* Is parameter i packed, alone or beside its values? */
static bool is_packed(const struct tf_weights *w, size_t i)
{
    return tf_param_is_packed(&w->params.v[i], w->tables_packed) ||
           i == (size_t)w->params.project;
}

int tf_weights_pack(struct tf_weights *w, struct tf_err *err)
{
    const struct tf_params *p = &w->params;
    w->packed = tf_xcalloc(p->n, sizeof *w->packed);
    w->tables_packed = w->be->tables_packed;
    for (size_t i = 0; i < p->n; i++)
        if (is_packed(w, i) &&
            pack_param(w, i, tf_at(w->be, TF_ELEM_PARAM, w->flat, p->v[i].offset), err) != 0)
            return -1;
    return 0;
}

/* ---- from a file ---- */

/* Pack parameter i from a file; what the backend does not take as it is there passes through floats
 * in pieces. */
static int pack_stored(struct tf_weights *w, size_t i, const struct tf_stored *s,
                       struct tf_err *err)
{
    const struct tf_param *p = &w->params.v[i];
    const size_t n = (size_t)outputs(p);
    const bool halves = s->t->dtype == TF_F16 && w->be->packs_halves;
    w->packed[i] = w->be->pack_new(w->ctx, inputs(p), outputs(p), halves, err);
    if (w->packed[i] == NULL)
        return -1;
    if (s->t->dtype == TF_F32 || halves) {
        w->be->pack(w->ctx, w->packed[i], s->t->data, n, p->outputs == 0, 0, n);
        return 0;
    }
    float *piece = tf_xarray(NULL, (size_t)inputs(p) * TF_PACK_COLUMNS, sizeof *piece);
    for (size_t j = 0; j < n; j += TF_PACK_COLUMNS) {
        const size_t some = n - j < TF_PACK_COLUMNS ? n - j : TF_PACK_COLUMNS;
        tf_stored_outputs(piece, s, j, some);
        w->be->pack(w->ctx, w->packed[i], piece, some, p->outputs == 0, j, some);
    }
    free(piece);
    return 0;
}

/* Are the tables of a file packed alone: as the backend requires it, or as halves? */
static bool packs_tables(const struct tf_weights *w, const struct tf_model_file *m)
{
    const int tables[] = {w->params.src_embed, w->params.tgt_embed};
    bool halves = w->be->packs_halves;
    for (size_t i = 0; i < 2; i++) {
        struct tf_err none = {0};
        struct tf_stored s;
        halves = halves && tf_stored_find(&s, m, &w->params.v[tables[i]], "p/", &none) == 0 &&
                 s.t->dtype == TF_F16;
    }
    return halves || w->be->tables_packed;
}

/* Load parameter i from the file, and free its data there. */
static int load_stored(struct tf_weights *w, size_t i, const struct tf_stored *s,
                       struct tf_model_file *m, struct tf_err *err)
{
    const bool packed = w->packed != NULL && is_packed(w, i),
               alone = packed && tf_param_is_packed(s->p, w->tables_packed);
    float *to = alone ? NULL : (float *)w->flat + s->p->offset;
    if (alone && pack_stored(w, i, s, err) != 0)
        return -1;
    if (!alone)
        tf_stored_floats(to, s);
    tf_model_free_data(m, s->t);
    if (s->amax != NULL)
        tf_model_free_data(m, s->amax);
    return packed && !alone ? pack_param(w, i, to, err) : 0;
}

/* Can a file be loaded as it is read: into memory of the host, in fp32? */
static bool is_direct(const struct tf_backend *be)
{
    return be->host && be->elem_size[TF_ELEM_PARAM] == sizeof(float);
}

int tf_weights_begin(struct tf_weights *w, const struct tf_backend *be, struct tf_ctx *ctx,
                     const struct tf_config *c, const struct tf_model_file *m, bool packed,
                     struct tf_err *err)
{
    *w = (struct tf_weights){.be = be, .ctx = ctx, .config = *c};
    tf_params_init(&w->params, c);
    int rc = tf_model_check_size(m, &w->params, err);
    if (rc == 0 && is_direct(be)) {
        if (packed) {
            w->tables_packed = packs_tables(w, m);
            tf_params_without_packed(&w->params, w->tables_packed);
            w->packed = tf_xcalloc(w->params.n, sizeof *w->packed);
        }
        rc = alloc_flat(w, err);
    }
    if (rc != 0)
        tf_weights_release(w);
    return rc;
}

/* Is t the tensor of p, or its amax? */
static bool belongs(const struct tf_tensor *t, const struct tf_param *p)
{
    const size_t n = strlen(p->name);
    return strncmp(t->name, "p/", 2) == 0 && strncmp(t->name + 2, p->name, n) == 0 &&
           (t->name[2 + n] == 0 || strcmp(t->name + 2 + n, TF_INT8_AMAX) == 0);
}

int tf_weights_take(struct tf_weights *w, struct tf_model_file *m, const struct tf_tensor *t,
                    struct tf_err *err)
{
    struct tf_err none = {0};
    struct tf_stored s;
    for (size_t i = 0; is_direct(w->be) && i < w->params.n; i++) {
        const struct tf_param *p = &w->params.v[i];
        if (belongs(t, p) && tf_stored_find(&s, m, p, "p/", &none) == 0 && s.t->data != NULL)
            return load_stored(w, i, &s, m, err);
    }
    return 0;
}

static int load_by_upload(struct tf_weights *w, struct tf_model_file *m, bool packed,
                          struct tf_err *err)
{
    struct tf_config c;
    float *flat;
    if (tf_model_load(m, &c, &flat, "p/", err) != 0)
        return -1;
    tf_model_free_tensors(m); /* before memory for the second copy of the weights is needed */
    int rc = alloc_flat(w, err) == 0 ? upload(w, w->flat, flat, w->params.size, err) : -1;
    free(flat);
    return rc == 0 && packed ? tf_weights_pack(w, err) : rc;
}

int tf_weights_end(struct tf_weights *w, struct tf_model_file *m, bool packed, struct tf_err *err)
{
    if (!is_direct(w->be))
        return load_by_upload(w, m, packed, err);
    for (size_t i = 0; i < w->params.n; i++) {
        struct tf_stored s;
        if (tf_stored_find(&s, m, &w->params.v[i], "p/", err) != 0 ||
            (s.t->data != NULL && load_stored(w, i, &s, m, err) != 0))
            return -1;
    }
    return 0;
}

void tf_weights_release(struct tf_weights *w)
{
    for (size_t i = 0; w->packed != NULL && i < w->params.n; i++)
        if (w->packed[i] != NULL)
            w->be->pack_free(w->ctx, w->packed[i]);
    free(w->packed);
    if (w->flat != NULL)
        w->be->free(w->ctx, w->flat);
    if (w->sinusoids != NULL)
        w->be->free(w->ctx, w->sinusoids);
    tf_params_release(&w->params);
    *w = (struct tf_weights){0};
}

/* Radians a position, of column j of D. */
static double rate(enum tf_position_table table, int j, int D)
{
    const int half = D / 2;
    if (table == TF_TABLE_PAPER)
        return pow(10000.0, -(double)(j - j % 2) / D);
    const int over = table == TF_TABLE_T2T ? half - 1 : half;
    return half > 1 ? pow(10000.0, -(double)(j % half) / over) : 1;
}

void tf_sinusoids(float *pe, size_t rows, const struct tf_config *c)
{
    const enum tf_position_table table = tf_config_position_table(c);
    const int D = (int)c->d_model, half = D / 2;
    const bool paper = table == TF_TABLE_PAPER;
    for (int j = 0; j < D; j++) {
        const double r = rate(table, j, D);
        const bool zero = !paper && j == 2 * half, sine = paper ? j % 2 == 0 : j < half;
        for (size_t t = 0; t < rows; t++) {
            const double a = (double)((size_t)c->position_offset + t) * r;
            pe[t * (size_t)D + (size_t)j] = zero ? 0 : (float)(sine ? sin(a) : cos(a));
        }
    }
}

int tf_weights_positions(struct tf_weights *w, size_t n, struct tf_err *err)
{
    if (w->config.positions == TF_POS_LEARNED) {
        if (n > (size_t)w->config.max_positions)
            return tf_fail(err,
                           "a sentence of %zu tokens: the model has learned positions for %lld", n,
                           (long long)w->config.max_positions);
        return 0;
    }
    if (n <= w->pos_rows)
        return 0;
    size_t rows = n < 256 ? 256 : n + n / 2, D = (size_t)w->config.d_model;
    tf_mem *mem = w->be->alloc(w->ctx, TF_ELEM_PARAM, rows * D, err);
    float *pe = tf_try_alloc(rows * D * sizeof *pe, err);
    if (mem == NULL || pe == NULL) {
        if (mem != NULL)
            w->be->free(w->ctx, mem);
        free(pe);
        return tf_context(err, "positions");
    }
    tf_sinusoids(pe, rows, &w->config);
    int rc = upload(w, mem, pe, rows * D, err);
    free(pe);
    tf_mem *gone = rc == 0 ? w->sinusoids : mem;
    if (rc == 0) {
        w->sinusoids = mem;
        w->pos_rows = rows;
    }
    if (gone != NULL)
        w->be->free(w->ctx, gone);
    return rc;
}
