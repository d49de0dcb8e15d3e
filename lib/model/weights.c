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

/* How parameter i is packed. */
static unsigned packing(const struct tf_weights *w, size_t i, bool halves)
{
    const bool apart = w->selects && i == (size_t)w->params.project;
    return (halves ? TF_PACK_HALVES : 0u) | (apart ? TF_PACK_APART : 0u);
}

/* Pack parameter i from values [p->n] in memory of the backend. */
static int pack_param(struct tf_weights *w, size_t i, const tf_mem *values, struct tf_err *err)
{
    const struct tf_param *p = &w->params.v[i];
    w->packed[i] = tf_pack_all(w->be, w->ctx, values, inputs(p), outputs(p), p->outputs == 0,
                               packing(w, i, false), err);
    return w->packed[i] != NULL ? 0 : -1;
}

/* Is parameter i packed, alone or beside its values? */
static bool is_packed(const struct tf_weights *w, size_t i)
{
    return tf_param_is_packed(&w->params.v[i], w->tables_packed) || i == (size_t)w->params.project;
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

/* Elements of a file that are on their way to a device at once, or one row or TF_PACK_COLUMNS
 * columns where those have more. */
enum { PIECE = 1 << 20 };

/* Is the backend's memory the host's, in fp32? */
static bool is_direct(const struct tf_backend *be)
{
    return be->host && be->elem_size[TF_ELEM_PARAM] == sizeof(float);
}

/* So many of n in a piece, if each has that many elements: a multiple of `least`, or all. */
static size_t in_piece(size_t n, size_t elements, size_t least)
{
    const size_t some = PIECE / elements / least * least;
    return n < least || n < some ? n : some > 0 ? some : least;
}

/* Pack parameter i from a file in pieces: as halves where they are, else by way of floats. */
static int pack_pieces(struct tf_weights *w, size_t i, const struct tf_stored *s, bool halves,
                       struct tf_err *err)
{
    const struct tf_param *p = &w->params.v[i];
    const struct tf_backend *be = w->be;
    const bool direct = is_direct(be);
    const size_t n = (size_t)outputs(p), each = (size_t)inputs(p),
                 step = direct ? TF_PACK_COLUMNS : in_piece(n, each, TF_PACK_COLUMNS);
    const enum tf_elem e = halves ? TF_ELEM_ACT : TF_ELEM_PARAM; /* that fp16 has for halves */
    void *piece = tf_xarray(NULL, each * step, halves ? sizeof(uint16_t) : sizeof(float));
    tf_mem *mem = direct ? piece : be->alloc(w->ctx, e, each * step, err);
    int rc = mem != NULL ? 0 : -1;
    for (size_t j = 0; rc == 0 && j < n; j += step) {
        const size_t some = n - j < step ? n - j : step;
        if (halves) {
            tf_stored_halves(piece, s, j, some);
            be->upload(w->ctx, mem, e, piece, each * some);
            rc = be->sync(w->ctx, err);
        } else {
            tf_stored_outputs(piece, s, j, some);
            rc = direct ? 0 : upload(w, mem, piece, each * some, err);
        }
        if (rc == 0)
            be->pack(w->ctx, w->packed[i], mem, some, p->outputs == 0, j, some);
    }
    if (!direct && mem != NULL)
        be->free(w->ctx, mem);
    free(piece);
    return rc;
}

/* Pack parameter i from a file. */
static int pack_stored(struct tf_weights *w, size_t i, const struct tf_stored *s,
                       struct tf_err *err)
{
    const struct tf_param *p = &w->params.v[i];
    const size_t n = (size_t)outputs(p);
    const bool halves = s->t->dtype == TF_F16 && w->be->packs_halves;
    w->packed[i] = w->be->pack_new(w->ctx, inputs(p), outputs(p), packing(w, i, halves), err);
    if (w->packed[i] == NULL)
        return -1;
    if (!is_direct(w->be) || (s->t->dtype != TF_F32 && !halves))
        return pack_pieces(w, i, s, halves, err);
    w->be->pack(w->ctx, w->packed[i], s->t->data, n, p->outputs == 0, 0, n);
    return 0;
}

/* The type of a backend's WEIGHTs where they are smaller than floats. */
static bool narrow_dtype(const struct tf_backend *be, enum tf_dtype *t)
{
    *t = strcmp(be->precision, "bf16") == 0 ? TF_BF16 : TF_F16;
    return be->elem_size[TF_ELEM_WEIGHT] == tf_dtype_size(*t);
}

/* Is parameter p among the WEIGHTs? */
static bool is_narrow(const struct tf_weights *w, const struct tf_param *p)
{
    return w->narrow != NULL && tf_param_is_packed(p, w->tables_narrow);
}

/* Parameter i among the PARAMs. */
static tf_mem *param_at(const struct tf_weights *w, size_t i)
{
    return w->table != NULL && w->table[i] != NULL
               ? w->table[i]
               : tf_at(w->be, TF_ELEM_PARAM, w->flat, w->params.v[i].offset);
}

tf_mem *tf_weights_at(const struct tf_weights *w, int i)
{
    const struct tf_param *p = &w->params.v[i];
    return is_narrow(w, p) ? tf_at(w->be, TF_ELEM_WEIGHT, w->narrow, p->offset)
                           : param_at(w, (size_t)i);
}

/* From a file to WEIGHTs of the type that the file has. */
static int narrow_as_it_is(struct tf_weights *w, const struct tf_stored *s, struct tf_err *err)
{
    w->be->upload(w->ctx, tf_at(w->be, TF_ELEM_WEIGHT, w->narrow, s->p->offset), TF_ELEM_WEIGHT,
                  s->t->data, s->p->n);
    return w->be->sync(w->ctx, err);
}

/* Parameter s->p from a file to its place. */
static int unpacked_stored(struct tf_weights *w, const struct tf_stored *s, struct tf_err *err)
{
    const struct tf_param *p = s->p;
    enum tf_dtype dtype;
    const bool narrow = narrow_dtype(w->be, &dtype) && is_narrow(w, p);
    if (narrow && s->t->dtype == dtype)
        return narrow_as_it_is(w, s, err);
    tf_mem *const whole = narrow ? NULL : param_at(w, (size_t)(p - w->params.v));
    if (is_direct(w->be)) {
        tf_stored_floats(whole, s);
        return 0;
    }
    const size_t rows = (size_t)p->dims[0], columns = p->n / rows,
                 step = in_piece(rows, columns, 1);
    float *piece = tf_xarray(NULL, step * columns, sizeof *piece);
    uint16_t *as = narrow ? tf_xarray(NULL, step * columns, sizeof *as) : NULL;
    int rc = 0;
    for (size_t j = 0; rc == 0 && j < rows; j += step) {
        const size_t some = rows - j < step ? rows - j : step, n = some * columns, to = j * columns;
        tf_stored_rows(piece, s, j, some);
        if (!narrow) {
            rc = upload(w, tf_at(w->be, TF_ELEM_PARAM, whole, to), piece, n, err);
        } else if (tf_floats_as(as, dtype, piece, n, err) != 0) {
            rc = tf_context(err, "tensor '%s'", s->t->name);
        } else {
            w->be->upload(w->ctx, tf_at(w->be, TF_ELEM_WEIGHT, w->narrow, p->offset + to),
                          TF_ELEM_WEIGHT, as, n);
            rc = w->be->sync(w->ctx, err);
        }
    }
    free(as);
    free(piece);
    return rc;
}

/* Are the tables of embeddings of this type in a file? */
static bool tables_are(const struct tf_weights *w, const struct tf_model_file *m, enum tf_dtype t)
{
    const int tables[] = {w->params.src_embed, w->params.tgt_embed};
    for (size_t i = 0; i < 2; i++) {
        struct tf_err none = {0};
        struct tf_stored s;
        if (tf_stored_find(&s, m, &w->params.v[tables[i]], "p/", &none) != 0 || s.t->dtype != t)
            return false;
    }
    return true;
}

/* Load parameter i from the file. */
static int load_stored(struct tf_weights *w, size_t i, const struct tf_stored *s,
                       struct tf_err *err)
{
    const bool packed = w->packed != NULL && is_packed(w, i),
               alone = packed && tf_param_is_packed(s->p, w->tables_packed);
    if ((alone ? pack_stored(w, i, s, err) : unpacked_stored(w, s, err)) != 0)
        return -1;
    w->loaded[i] = true;
    return packed && !alone ? pack_param(w, i, param_at(w, i), err) : 0;
}

/* Memory for tables of embeddings that tf_params_without_packed left out. */
static int alloc_tables(struct tf_weights *w, bool tables_packed, struct tf_err *err)
{
    w->table = tf_xcalloc(w->params.n, sizeof *w->table);
    for (size_t i = 0; i < w->params.n; i++) {
        const struct tf_param *p = &w->params.v[i];
        if (!p->table || tf_param_is_packed(p, tables_packed))
            continue;
        w->table[i] = w->be->alloc(w->ctx, TF_ELEM_PARAM, p->n, err);
        if (w->table[i] == NULL)
            return -1;
    }
    return 0;
}

int tf_weights_begin(struct tf_weights *w, const struct tf_backend *be, struct tf_ctx *ctx,
                     const struct tf_config *c, const struct tf_model_file *m,
                     enum tf_weights_use use, struct tf_err *err)
{
    const bool packed = use != TF_WEIGHTS_FORWARD;
    *w = (struct tf_weights){.be = be,
                             .ctx = ctx,
                             .config = *c,
                             .selects = use == TF_WEIGHTS_SELECTING};
    tf_params_init(&w->params, c);
    w->loaded = tf_xcalloc(w->params.n, sizeof *w->loaded);
    int rc = tf_model_check_size(m, &w->params, err);
    if (rc == 0 && packed) {
        /* as the backend requires it, or as exact as they are in the file */
        w->tables_packed = be->tables_packed || (be->packs_halves && tables_are(w, m, TF_F16));
        tf_params_without_packed(&w->params, w->tables_packed);
        w->packed = tf_xcalloc(w->params.n, sizeof *w->packed);
        rc = alloc_tables(w, w->tables_packed, err);
    }
    enum tf_dtype dtype;
    if (rc == 0 && !packed && narrow_dtype(be, &dtype)) {
        w->tables_narrow = tables_are(w, m, dtype);
        const size_t n = tf_params_without_packed(&w->params, w->tables_narrow);
        w->narrow = be->alloc(ctx, TF_ELEM_WEIGHT, n, err);
        rc = w->narrow != NULL ? alloc_tables(w, w->tables_narrow, err) : -1;
    }
    if (rc == 0)
        rc = alloc_flat(w, err);
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

/* The parameter that tensor t completes, as s; its number, or -1. */
static int completed(const struct tf_weights *w, const struct tf_model_file *m,
                     const struct tf_tensor *t, struct tf_stored *s)
{
    struct tf_err none = {0};
    for (size_t i = 0; i < w->params.n; i++) {
        const struct tf_param *p = &w->params.v[i];
        if (belongs(t, p) && tf_stored_find(s, m, p, "p/", &none) == 0 && s->t->data != NULL)
            return (int)i;
    }
    return -1;
}

int tf_weights_take(struct tf_weights *w, const struct tf_model_file *m, const struct tf_tensor *t,
                    struct tf_err *err)
{
    struct tf_stored s;
    const int i = completed(w, m, t, &s);
    return i >= 0 && !w->loaded[i] ? load_stored(w, (size_t)i, &s, err) : 0;
}

void tf_weights_taken(const struct tf_weights *w, struct tf_model_file *m,
                      const struct tf_tensor *t)
{
    struct tf_stored s;
    if (completed(w, m, t, &s) < 0)
        return;
    tf_model_free_data(m, s.t);
    if (s.amax != NULL)
        tf_model_free_data(m, s.amax);
}

int tf_weights_end(struct tf_weights *w, const struct tf_model_file *m, struct tf_err *err)
{
    for (size_t i = 0; i < w->params.n; i++) {
        struct tf_stored s;
        if (tf_stored_find(&s, m, &w->params.v[i], "p/", err) != 0 ||
            (!w->loaded[i] && load_stored(w, i, &s, err) != 0))
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
    free(w->loaded);
    if (w->flat != NULL)
        w->be->free(w->ctx, w->flat);
    if (w->narrow != NULL)
        w->be->free(w->ctx, w->narrow);
    for (size_t i = 0; w->table != NULL && i < w->params.n; i++)
        if (w->table[i] != NULL)
            w->be->free(w->ctx, w->table[i]);
    free(w->table);
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
    size_t rows = n < 64 ? 64 : n + n / 2, D = (size_t)w->config.d_model;
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
