/* names.c - see names_private.h. */
#include "convert/names_private.h"
#include "convert/foreign_private.h"
#include "convert/import_private.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_PARTS = 2 * TF_MAX_LAYERS };

/* The tensors of theirs that are one of ours. */
struct parts {
    char name[MAX_PARTS][TF_FOREIGN_NAME];
    const struct tf_tensor *v[MAX_PARTS];
    size_t n;
    bool copies;     /* each is the whole, as the first one is */
    bool transposed;
};

/* Tensors that become ours. */
struct renaming {
    const struct tf_names *f;
    const struct tf_config *c;
    struct tf_bundle *b;
    const int64_t *ff;    /* widths of inner layers of both stacks; 0: d_ff */
    const int64_t *heads; /* of both stacks; 0: those of c */
    bool *used;           /* [b->n] */
    uint64_t bytes;       /* of parameters so far */
};

/* The first word of *list, which then begins after it; 0 at the end. */
static size_t next_word(const char **word, const char **list)
{
    *word = *list;
    const size_t n = strcspn(*list, " ");
    *list += n + ((*list)[n] == ' ');
    return n;
}

static const char *find_row(const struct tf_names_row *rows, const char *ours)
{
    for (; rows->ours != NULL; rows++)
        if (strcmp(rows->ours, ours) == 0)
            return rows->theirs;
    return NULL;
}

/* The name of a word [n] in a layer, counted from 0. Of "after|before" it is the part that says
 * where the norm is. */
static void name_in_layer(const struct tf_names *f, char *to, bool decoder, int64_t layer,
                          const char *word, size_t n)
{
    const char *bar = memchr(word, '|', n);
    if (bar != NULL && f->pre_norm) {
        n -= (size_t)(bar + 1 - word);
        word = bar + 1;
    } else if (bar != NULL) {
        n = (size_t)(bar - word);
    }
    if (decoder && f->tied_layers != NULL)
        layer = f->tied_layers[layer] - f->first_layer;
    snprintf(to, TF_FOREIGN_NAME, "%s%" PRId64 "%s%.*s", f->layer[decoder], layer + f->first_layer,
             f->after, (int)n, word);
}

static void add_layer_names(const struct tf_names *f, struct parts *p, bool decoder, int64_t layer,
                            const char *theirs)
{
    const char *word;
    for (size_t n; (n = next_word(&word, &theirs)) > 0;)
        name_in_layer(f, p->name[p->n++], decoder, layer, word, n);
}

static void add_model_names(struct parts *p, const char *theirs)
{
    const char *word;
    p->copies = true;
    for (size_t n; (n = next_word(&word, &theirs)) > 0;)
        snprintf(p->name[p->n++], TF_FOREIGN_NAME, "%.*s", (int)n, word);
}

/* Their names of our parameter. */
static int name_parts(const struct tf_names *f, const struct tf_config *c, struct parts *p,
                      const char *ours, struct tf_err *err)
{
    int layer, rest = 0;
    char side[4];
    const char *theirs;
    p->n = 0;
    p->copies = p->transposed = false;
    if (strncmp(ours, "dec.cross.kv.", 13) == 0) {
        theirs = find_row(f->layers, ours + 4);
        for (int64_t l = 0; theirs != NULL && l < c->decoder_layers; l++)
            add_layer_names(f, p, true, l, theirs);
    } else if (sscanf(ours, "%3[a-z].%d.%n", side, &layer, &rest) == 2 && rest > 0) {
        const bool decoder = strcmp(side, "dec") == 0;
        const char *own = ours + rest;
        if (decoder && c->decoder_self == TF_DECODER_SSRU && strncmp(own, "self.norm.", 10) == 0)
            own = own[10] == 'g' ? "ssru.norm.g" : "ssru.norm.b";
        theirs = find_row(f->layers, own);
        if (theirs != NULL)
            add_layer_names(f, p, decoder, layer, theirs);
    } else {
        theirs = find_row(f->model, ours);
        if (theirs != NULL)
            add_model_names(p, theirs);
    }
    return theirs != NULL ? 0 : tf_fail(err, "%s: the format has no such parameter", ours);
}

/* ---- reading ---- */

struct tf_config tf_names_config(void)
{
    return (struct tf_config){.dialect = TF_AS_T2T,
                              .positions = TF_POS_SIN,
                              .start = TF_START_BOS,
                              .attention_bias = true,
                              .source_eos = true,
                              .norm_eps = 1e-5,
                              .dropout = 0.1,
                              .initializer = TF_INITIALIZER_SCALED};
}

static const struct tf_tensor *take_tensor(struct renaming *m, const char *name)
{
    const struct tf_tensor *t = tf_bundle_find(m->b, name);
    if (t != NULL)
        m->used[t - m->b->tensors] = true;
    return t;
}

/* Rows and columns of a tensor, a vector being one row. */
struct shape {
    uint64_t rows, cols;
};

static struct shape shape_of(const struct tf_tensor *t)
{
    return t->rank == 2   ? (struct shape){t->dims[0], t->dims[1]}
           : t->rank == 1 ? (struct shape){1, t->dims[0]}
                          : (struct shape){0, 0};
}

static int check_dtype(const struct tf_tensor *t, enum tf_dtype dtype, struct tf_err *err)
{
    if (t->dtype != TF_F32 && t->dtype != TF_F16 && t->dtype != TF_BF16 && t->dtype != TF_F64)
        return tf_fail(err, "tensor '%s': dtype %s, want f32, f16, bf16 or f64", t->name,
                       tf_dtype_name(t->dtype));
    if (t->dtype != dtype)
        return tf_fail(err, "tensor '%s': dtype %s beside %s", t->name, tf_dtype_name(t->dtype),
                       tf_dtype_name(dtype));
    return 0;
}

/* Programs have read such files in different ways, each with another matrix. */
static int check_copy(const struct tf_tensor *a, const struct tf_tensor *b, struct tf_err *err)
{
    if (a->dtype != b->dtype || a->bytes != b->bytes)
        return tf_fail(err, "tensors '%s' and '%s' should be one matrix, and differ in size",
                       a->name, b->name);
    const size_t size = tf_dtype_size(a->dtype), n = a->bytes / size;
    for (size_t i = 0; i < n; i++)
        if (memcmp((const char *)a->data + i * size, (const char *)b->data + i * size, size) != 0)
            return tf_fail(err,
                           "tensors '%s' and '%s' should be one matrix, and differ from element "
                           "%zu on",
                           a->name, b->name, i);
    return 0;
}

/* The copies that are in the file, all of them equal; the first one is the part. */
static int find_copies(struct renaming *m, struct parts *p, struct tf_err *err)
{
    const struct tf_tensor *first = NULL;
    for (size_t i = 0; i < p->n; i++) {
        const size_t n = strlen(p->name[i]);
        const bool transposed = p->name[i][n - 1] == '\'';
        p->name[i][n - transposed] = 0;
        const struct tf_tensor *t = take_tensor(m, p->name[i]);
        if (t == NULL)
            continue;
        if (first != NULL && check_copy(first, t, err) != 0)
            return -1;
        if (first == NULL)
            p->transposed = transposed;
        first = first != NULL ? first : t;
    }
    p->n = 1;
    p->v[0] = first;
    return first != NULL ? 0 : tf_fail(err, "tensor '%s' is missing", p->name[0]);
}

static int find_parts(struct renaming *m, struct parts *p, const struct tf_param *q,
                      struct tf_err *err)
{
    if (name_parts(m->f, m->c, p, q->name, err) != 0)
        return -1;
    if (p->copies && find_copies(m, p, err) != 0)
        return -1;
    for (size_t i = 0; i < p->n; i++) {
        if (!p->copies)
            p->v[i] = take_tensor(m, p->name[i]);
        if (p->v[i] == NULL)
            return tf_fail(err, "tensor '%s' is missing", p->name[i]);
        if (check_dtype(p->v[i], p->v[0]->dtype, err) != 0)
            return -1;
    }
    if (!p->copies)
        p->transposed = m->f->transposed && q->rank == 2;
    return 0;
}

static int check_shapes(const struct parts *p, struct shape want, struct tf_err *err)
{
    uint64_t cols = 0;
    for (size_t i = 0; i < p->n; i++) {
        const struct shape s = shape_of(p->v[i]);
        const uint64_t rows = p->transposed ? s.cols : s.rows,
                       more = p->transposed ? s.rows : s.cols;
        if (rows != want.rows || more > want.cols - cols)
            return tf_fail(err, "tensor '%s': %" PRIu64 " x %" PRIu64 " does not fit the settings",
                           p->v[i]->name, s.rows, s.cols);
        cols += more;
    }
    if (cols != want.cols)
        return tf_fail(err, "tensor '%s': %" PRIu64 " columns, want %" PRIu64, p->v[0]->name, cols,
                       want.cols);
    return 0;
}

/* to [cols, rows] = from [rows, cols], in elements of `size` bytes; to has ld columns. */
static void transpose(char *to, size_t ld, const char *from, uint64_t rows, uint64_t cols,
                      size_t size)
{
    enum { BLOCK = 16 };
    for (uint64_t r0 = 0; r0 < rows; r0 += BLOCK)
        for (uint64_t c = 0; c < cols; c++)
            for (uint64_t r = r0; r < rows && r < r0 + BLOCK; r++)
                memcpy(to + (c * ld + r) * size, from + (r * cols + c) * size, size);
}

/* The parts side by side, and zeros beyond them. */
static void join_parts(struct renaming *m, struct tf_tensor *out, const struct parts *p,
                       struct shape want)
{
    const size_t size = tf_dtype_size(out->dtype);
    char *data = tf_arena_zalloc(&m->b->arena, (size_t)(want.rows * want.cols) * size);
    uint64_t at = 0; /* columns so far */
    for (size_t i = 0; i < p->n; i++) {
        const struct shape s = shape_of(p->v[i]);
        const char *from = p->v[i]->data;
        if (p->transposed)
            transpose(data + at * size, want.cols, from, s.rows, s.cols, size);
        for (uint64_t r = 0; !p->transposed && r < s.rows; r++)
            memcpy(data + (r * want.cols + at) * size, from + r * s.cols * size, s.cols * size);
        at += p->transposed ? s.rows : s.cols;
    }
    out->data = data;
}

bool tf_names_ff(struct tf_import *m)
{
    const bool wider = m->ff[0] > m->ff[1]; /* the encoder's */
    m->config.d_ff = m->ff[!wider];
    return m->ff[wider] >= m->config.d_ff / 8 + (m->config.d_ff % 8 != 0);
}

/* ---- stacks with unlike heads ---- */

int tf_names_heads(struct tf_import *m, const char *width, struct tf_err *err)
{
    struct tf_config *c = &m->config;
    const int64_t *h = m->heads, most = h[0] > h[1] ? h[0] : h[1], least = h[0] + h[1] - most;
    for (int i = 0; i < 2; i++)
        if (h[i] < 1 || c->d_model % h[i] != 0)
            return tf_fail(err, "%s %" PRId64 ": not a multiple of %" PRId64 " heads", width,
                           c->d_model, h[i]);
    if (most > 8 * least)
        return tf_fail(err,
                       "%" PRId64 " heads in the encoder, %" PRId64
                       " in the decoder: one is more than 8 times the other",
                       h[0], h[1]);
    c->heads = most;
    c->d_k = c->d_v = c->d_model / least;
    return 0;
}

/* The heads that a stack of a file has, or 0 if they are those of the model. */
static int64_t own_heads(const struct renaming *m, const char *ours)
{
    const struct tf_config *c = m->c;
    return c->heads * c->d_k == c->d_model ? 0 : m->heads[*ours == 'd'];
}

/* Are the columns of a parameter those of heads? */
static bool makes_heads(const char *ours)
{
    return strstr(ours, ".qkv.") != NULL || strstr(ours, ".q.") != NULL ||
           strstr(ours, ".kv.") != NULL;
}

/* Multiply the queries of out, which are every n-th of runs of so many elements. They become f32,
 * as half precision has no room for other factors than powers of two. */
static int scale_queries(struct renaming *m, struct tf_tensor *out, size_t run, size_t n,
                         double by, struct tf_err *err)
{
    const size_t all = out->bytes / tf_dtype_size(out->dtype);
    float *x = tf_arena_alloc(&m->b->arena, all * sizeof *x);
    if (tf_tensor_floats(x, out, err) != 0)
        return tf_context(err, "%s", out->name);
    for (size_t at = 0; at < all; at += n * run)
        for (size_t i = 0; i < run; i++)
            x[at + i] *= (float)by;
    out->data = x;
    out->dtype = TF_F32;
    out->bytes = all * sizeof *x;
    return 0;
}

/* out, which has the heads of its stack side by side, gets those of the model: the columns and the
 * heads that the stack lacks are zero. Of W^O these are rows. Attention divides by sqrt(d_k), so
 * queries are multiplied by the root of the ratio. */
static int widen_heads(struct renaming *m, struct tf_tensor *out, struct tf_err *err)
{
    const struct tf_config *c = m->c;
    const size_t own = (size_t)own_heads(m, out->name), heads = (size_t)c->heads,
                 dk = (size_t)c->d_k, own_dk = (size_t)c->d_model / own,
                 size = tf_dtype_size(out->dtype),
                 unit = makes_heads(out->name) ? size : (size_t)c->d_model * size,
                 sets = out->bytes / (heads * dk * unit);
    const char *from = out->data;
    char *to = tf_arena_zalloc(&m->b->arena, out->bytes);
    for (size_t s = 0; s < sets; s++)
        for (size_t h = 0; h < own; h++)
            memcpy(to + (s * heads + h) * dk * unit, from + (s * own + h) * own_dk * unit,
                   own_dk * unit);
    out->data = to;
    const bool qkv = strstr(out->name, ".qkv.") != NULL;
    if (dk == own_dk || (!qkv && strstr(out->name, ".q.") == NULL))
        return 0;
    return scale_queries(m, out, heads * dk, qkv ? 3 : 1, sqrt((double)dk / (double)own_dk), err);
}

/* ---- a parameter ---- */

/* The shape in the file of a parameter of that shape. */
static struct shape in_file(const struct renaming *m, const char *ours, struct shape s)
{
    const uint64_t ff = (uint64_t)m->ff[*ours == 'd'], D = (uint64_t)m->c->d_model;
    if (own_heads(m, ours) > 0 && makes_heads(ours))
        s.cols = s.cols / (uint64_t)(m->c->heads * m->c->d_k) * D;
    else if (own_heads(m, ours) > 0 && tf_ends_with(ours, ".o.w"))
        s.rows = D;
    if (ff > 0 && strstr(ours, ".ff.1.") != NULL)
        s.cols = ff;
    else if (ff > 0 && tf_ends_with(ours, ".ff.2.w"))
        s.rows = ff;
    return s;
}

/* Many parameters may have the same data, and each becomes a copy. */
static int count_bytes(struct renaming *m, uint64_t bytes, struct tf_err *err)
{
    m->bytes += bytes;
    return m->bytes <= TF_MAX_SHARED * ((uint64_t)m->b->file_n + (1 << 20))
               ? 0
               : tf_fail(err, "parameters of more than %d times the %zu bytes of the file",
                         TF_MAX_SHARED, m->b->file_n);
}

static int import_tensor(struct renaming *m, struct tf_tensor *out, const struct tf_param *q,
                         struct tf_err *err)
{
    struct parts p;
    if (find_parts(m, &p, q, err) != 0)
        return -1;
    *out = (struct tf_tensor){
        .name = tf_arena_strndup(&m->b->arena, q->name, strlen(q->name)),
        .dtype = p.v[0]->dtype,
        .rank = q->rank,
        .dims = {(uint64_t)q->dims[0], q->rank == 2 ? (uint64_t)q->dims[1] : 0},
        .data = p.v[0]->data,
        .bytes = q->n * tf_dtype_size(p.v[0]->dtype),
    };
    const struct shape want = shape_of(out), have = in_file(m, q->name, want);
    const bool heads = own_heads(m, q->name) > 0 && (makes_heads(q->name) ||
                                                     tf_ends_with(q->name, ".o.w"));
    if (check_shapes(&p, have, err) != 0 || count_bytes(m, out->bytes, err) != 0)
        return -1;
    if (p.n > 1 || p.transposed || have.rows < want.rows || have.cols < want.cols)
        join_parts(m, out, &p, heads ? have : want);
    return heads ? widen_heads(m, out, err) : 0;
}

static int check_left_over(const struct renaming *m, struct tf_err *err)
{
    for (size_t i = 0; i < m->b->n; i++)
        if (!m->used[i] && !m->f->is_extra(m->b->tensors[i].name))
            return tf_fail(err, "tensor '%s' belongs to no parameter of these settings",
                           m->b->tensors[i].name);
    return 0;
}

static int import_all(struct renaming *m, const struct tf_params *p, struct tf_err *err)
{
    struct tf_bundle *b = m->b;
    struct tf_tensor *out = tf_arena_zalloc(&b->arena, (p->n + 1) * sizeof *out);
    for (size_t i = 0; i < p->n; i++)
        if (import_tensor(m, &out[i], &p->v[i], err) != 0)
            return -1;
    if (check_left_over(m, err) != 0)
        return -1;
    b->tensors = out;
    b->n = p->n;
    return 0;
}

int tf_names_import(const struct tf_names *f, struct tf_import *in, struct tf_err *err)
{
    struct tf_bundle *b = &in->bundle;
    struct renaming m = {.f = f,
                         .c = &in->config,
                         .b = b,
                         .ff = in->ff,
                         .heads = in->heads,
                         .used = tf_arena_zalloc(&b->arena, b->n + 1)};
    struct tf_params p;
    tf_params_init(&p, &in->config);
    const int rc = import_all(&m, &p, err);
    tf_params_release(&p);
    return rc;
}

/* ---- writing ---- */

/* Columns of part i of n of our parameter, which has cols of them. */
static uint64_t part_width(const struct tf_config *c, const char *ours, size_t i, size_t n,
                           uint64_t cols)
{
    const uint64_t k = (uint64_t)(c->heads * c->d_k), v = (uint64_t)(c->heads * c->d_v);
    if (strncmp(ours, "dec.cross.kv.", 13) == 0)
        return n == (size_t)c->decoder_layers ? k + v : i % 2 == 0 ? k : v;
    if (n == 1)
        return cols;
    if (strstr(ours, ".qkv.") != NULL)
        return i < 2 ? k : v;
    return cols / n; /* of a recurrent unit */
}

/* The columns of t from `at` on. */
static void export_part(const struct tf_names *f, struct tf_bundle *b, const char *name,
                        const struct tf_tensor *t, uint64_t at, uint64_t cols, bool transposed)
{
    const struct shape s = shape_of(t);
    const size_t size = tf_dtype_size(t->dtype);
    const bool vector = t->rank == 1 && !f->vectors_are_rows;
    struct tf_tensor *to = &b->tensors[b->n++];
    *to = (struct tf_tensor){.name = tf_arena_strndup(&b->arena, name, strlen(name)),
                             .dtype = t->dtype,
                             .rank = vector ? 1 : 2,
                             .dims = {vector || transposed ? cols : s.rows,
                                      vector       ? 0
                                      : transposed ? s.rows
                                                   : cols},
                             .data = t->data,
                             .bytes = (size_t)(s.rows * cols) * size};
    if (cols == s.cols && !transposed)
        return;
    char *data = tf_arena_alloc(&b->arena, to->bytes + 1);
    for (uint64_t r = 0; r < s.rows; r++) {
        const char *from = (const char *)t->data + (r * s.cols + at) * size;
        if (transposed)
            for (uint64_t k = 0; k < cols; k++)
                memcpy(data + (k * s.rows + r) * size, from + k * size, size);
        else
            memcpy(data + r * cols * size, from, cols * size);
    }
    to->data = data;
}

static void export_tensor(const struct tf_names *f, struct tf_bundle *b, const struct tf_config *c,
                          const struct tf_param *q, const struct tf_tensor *t)
{
    struct parts p;
    struct tf_err err = {0};
    if (name_parts(f, c, &p, q->name, &err) != 0)
        TF_BUG("%s", err.msg);
    const uint64_t cols = shape_of(t).cols;
    const size_t n = p.copies ? 1 : p.n;
    uint64_t at = 0;
    for (size_t i = 0; i < n; i++) {
        const uint64_t width = part_width(c, q->name, i, n, cols);
        export_part(f, b, p.name[i], t, at, width, !p.copies && f->transposed && t->rank == 2);
        at += width;
    }
}

void tf_names_export(const struct tf_names *f, struct tf_export *e, size_t room)
{
    struct tf_bundle *b = &e->theirs;
    const struct tf_params *p = &e->params;
    b->tensors =
        tf_arena_zalloc(&b->arena, (3 * p->n + MAX_PARTS + room) * sizeof *b->tensors);
    b->n = 0;
    for (size_t i = 0; i < p->n; i++)
        export_tensor(f, b, &e->config, &p->v[i], &e->ours[i]);
}
