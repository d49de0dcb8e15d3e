/* weights_file.c - see weights_file_private.h. */
#include "infer/weights_file_private.h"
#include "base/memory.h"
#include "ops/floats.h"

#include <stdlib.h>
#include <string.h>

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

/* Upload, and wait until it is done. */
static int upload(struct tf_weights *w, tf_mem *to, enum tf_elem e, const void *from, size_t n,
                  struct tf_err *err)
{
    w->be->upload(w->ctx, to, e, from, n);
    return w->be->sync(w->ctx, err);
}

static int upload_floats(struct tf_weights *w, tf_mem *to, const float *from, size_t n,
                         struct tf_err *err)
{
    tf_floats_up(w->be, w->ctx, to, TF_ELEM_PARAM, from, n);
    return w->be->sync(w->ctx, err);
}

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
            rc = upload(w, mem, e, piece, each * some, err);
        } else {
            tf_stored_outputs(piece, s, j, some);
            rc = direct ? 0 : upload_floats(w, mem, piece, each * some, err);
        }
        if (rc == 0)
            be->pack(w->ctx, w->packed[i], mem, some, p->outputs == 0, j, some);
    }
    if (!direct)
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

/* Parameter i from a file to its place. */
static int unpacked_stored(struct tf_weights *w, size_t i, const struct tf_stored *s,
                           struct tf_err *err)
{
    const struct tf_param *p = &w->params.v[i];
    tf_mem *const to = tf_weights_at(w, (int)i);
    enum tf_dtype dtype;
    const bool narrow = narrow_dtype(w->be, &dtype) && tf_weights_are_narrow(w, p);
    if (narrow && s->t->dtype == dtype)
        return upload(w, to, TF_ELEM_WEIGHT, s->t->data, p->n, err);
    if (is_direct(w->be)) {
        tf_stored_floats(to, s);
        return 0;
    }
    const size_t rows = (size_t)p->dims[0], columns = p->n / rows,
                 step = in_piece(rows, columns, 1);
    float *piece = tf_xarray(NULL, step * columns, sizeof *piece);
    uint16_t *as = narrow ? tf_xarray(NULL, step * columns, sizeof *as) : NULL;
    int rc = 0;
    for (size_t j = 0; rc == 0 && j < rows; j += step) {
        const size_t some = rows - j < step ? rows - j : step, n = some * columns, at = j * columns;
        tf_stored_rows(piece, s, j, some);
        if (!narrow)
            rc = upload_floats(w, tf_at(w->be, TF_ELEM_PARAM, to, at), piece, n, err);
        else if (tf_floats_as(as, dtype, piece, n, err) != 0)
            rc = tf_context(err, "tensor '%s'", s->t->name);
        else
            rc = upload(w, tf_at(w->be, TF_ELEM_WEIGHT, to, at), TF_ELEM_WEIGHT, as, n, err);
    }
    free(as);
    free(piece);
    return rc;
}

/* Are the tables of embeddings of this type in a file? */
static bool tables_are(const struct tf_weights *w, const struct tf_model_file *m, enum tf_dtype t)
{
    const int tables[] = {w->params.enc.table, w->params.dec.table};
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
               alone = packed && tf_param_is_packed(&w->params.v[i], w->tables_packed);
    if ((alone ? pack_stored(w, i, s, err) : unpacked_stored(w, i, s, err)) != 0)
        return -1;
    w->loaded[i] = true;
    return packed && !alone ? pack_param(w, i, tf_weights_at(w, (int)i), err) : 0;
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
        w->flat = be->alloc(ctx, TF_ELEM_PARAM, w->params.size, err);
    if (rc != 0 || w->flat == NULL)
        tf_weights_release(w);
    return w->flat != NULL ? 0 : -1;
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
    return tf_model_only(m, &w->params, err);
}

