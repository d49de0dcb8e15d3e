/* ct2_bin.c - see ct2_bin.h. */
#include "exchange/ct2_bin.h"
#include "base/bits.h"
#include "base/buf.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_VERSION = 2, LAST_VERSION = 6, REVISION = 7, TYPES = 6, I8 = 1, I16 = 2, I32 = 3 };
#define SCALE "_scale"
#define KIND "Transforme" /* as much of TransformerSpec, TransformerBase as damage may leave */

static const struct {
    enum tf_dtype dtype; /* of floats */
    unsigned size;
} types[TYPES] = {{TF_F32, 4}, {0, 1}, {0, 2}, {0, 4}, {TF_F16, 2}, {TF_BF16, 2}};

/* What is left of the file; p is NULL once something did not fit. */
struct rest {
    const uint8_t *p;
    size_t n;
};

struct variable {
    const char *name;
    uint64_t dims[2], items;
    unsigned rank, type;
    const uint8_t *data;
    const struct tf_tensor *tensor; /* what it becomes; NULL: the scales of another */
};

/* All of them, by name. */
struct index {
    struct variable **v;
    size_t n;
};

/* ---- reading ---- */

/* The names of all its kinds, also those that are refused, end so. */
static bool is_kind(const char *name, size_t n)
{
    static const char end[] = "Spec";
    return n >= sizeof end && memcmp(name + n - sizeof end, end, sizeof end) == 0;
}

/* Without a kind: the name of the first variable, a path. */
static bool begins_first_version(const uint8_t *b, size_t n)
{
    const size_t name_n = n >= 10 ? tf_load16(b + 8) : 0;
    return name_n > 0 && name_n <= n - 10 && tf_load32(b) == 1 && b[10 + name_n - 1] == 0 &&
           strlen((const char *)b + 10) == name_n - 1 && memchr(b + 10, '/', name_n) != NULL;
}

bool tf_ct2_bin_begins(const void *p, size_t n)
{
    const uint8_t *b = p;
    const size_t head = 6 + sizeof KIND - 1;
    if (n < head || tf_load32(b) == 0)
        return false;
    if (begins_first_version(b, n))
        return true;
    const size_t name_n = tf_load16(b + 4);
    return memcmp(b + 6, KIND, sizeof KIND - 1) == 0 ||
           (name_n <= n - 6 && is_kind((const char *)b + 6, name_n));
}

static const uint8_t *take_bytes(struct rest *r, uint64_t n)
{
    if (r->p == NULL || n > r->n) {
        r->p = NULL;
        return NULL;
    }
    const uint8_t *p = r->p;
    r->p += n;
    r->n -= n;
    return p;
}

/* Little-endian, of up to 4 bytes; 0 where the file has ended. */
static uint32_t take_number(struct rest *r, unsigned bytes)
{
    const uint8_t *p = take_bytes(r, bytes);
    uint32_t x = 0;
    if (p != NULL)
        memcpy(&x, p, bytes);
    return x;
}

/* NULL: none that ends here. */
static const char *take_string(struct rest *r)
{
    const uint32_t n = take_number(r, 2);
    const char *s = (const char *)take_bytes(r, n);
    return s != NULL && n > 1 && n <= TF_MAX_NAME + 1 && memchr(s, 0, n) == s + n - 1 ? s : NULL;
}

static int read_variable(struct variable *v, struct rest *r, uint32_t version, struct tf_err *err)
{
    uint64_t bytes;
    v->name = take_string(r);
    if (v->name == NULL)
        return tf_fail(err, "the file ends in the name of a variable");
    v->rank = take_number(r, 1);
    if (v->rank > 2)
        return tf_fail(err, "%s: %u dimensions", v->name, v->rank);
    v->items = 1;
    for (unsigned i = 0; i < v->rank; i++) {
        v->dims[i] = take_number(r, 4);
        v->items *= v->dims[i];
    }
    if (version >= 4) {
        v->type = take_number(r, 1);
        bytes = take_number(r, 4);
    } else {
        const uint32_t size = take_number(r, 1);
        v->type = size == 4 ? 0 : size == 1 ? I8 : size == 2 ? I16 : TYPES;
        bytes = (uint64_t)size * take_number(r, 4);
    }
    if (r->p != NULL && v->type >= TYPES)
        return tf_fail(err, "%s: items of an unknown type", v->name);
    v->data = take_bytes(r, bytes);
    if (v->data == NULL)
        return tf_fail(err, "%s: the file ends in it", v->name);
    if (v->items == 0 || v->items > bytes || bytes != v->items * types[v->type].size)
        return tf_fail(err, "%s: %" PRIu64 " bytes, which is not its shape", v->name, bytes);
    return 0;
}

static int by_name(const void *a, const void *b)
{
    return strcmp((*(struct variable *const *)a)->name, (*(struct variable *const *)b)->name);
}

static const struct variable *find_variable(const struct index *x, const char *name)
{
    const struct variable want = {.name = name}, *key = &want;
    struct variable **found = bsearch(&key, x->v, x->n, sizeof *x->v, by_name);
    return found != NULL ? *found : NULL;
}

/* The variable of a weight's scales, or NULL. */
static const struct variable *scale_of(const struct index *x, const struct variable *v)
{
    char name[TF_MAX_NAME + sizeof SCALE];
    snprintf(name, sizeof name, "%s" SCALE, v->name);
    return find_variable(x, name);
}

static int32_t integer(const struct variable *v, uint64_t i)
{
    const uint8_t *p = v->data + i * types[v->type].size;
    return v->type == I8    ? (int8_t)p[0]
           : v->type == I16 ? (int16_t)tf_load16(p)
                            : (int32_t)tf_load32(p);
}

/* to [items] = q / scale, one of each row or one for all. */
static int dequantise(float *to, const struct variable *v, const struct variable *scale,
                      struct tf_err *err)
{
    const uint64_t rows = scale->items, cols = v->items / rows;
    for (uint64_t r = 0; r < rows; r++) {
        float s;
        memcpy(&s, scale->data + r * sizeof s, sizeof s);
        if (!isfinite(s) || s == 0)
            return tf_fail(err, "%s: a scale of %g", scale->name, (double)s);
        for (uint64_t c = 0; c < cols; c++)
            to[r * cols + c] = (float)integer(v, r * cols + c) / s;
    }
    return 0;
}

/* A quantised weight, or integers as they are. */
static int from_integers(struct tf_tensor *t, const struct variable *v, const struct index *x,
                         struct tf_arena *a, bool *int8, struct tf_err *err)
{
    const struct variable *scale = scale_of(x, v);
    void *to = tf_arena_alloc(a, (size_t)v->items * sizeof(float));
    t->data = to;
    t->bytes = (size_t)v->items * sizeof(float);
    t->dtype = scale != NULL ? TF_F32 : TF_I32;
    if (scale == NULL) {
        for (uint64_t k = 0; k < v->items; k++)
            ((int32_t *)to)[k] = integer(v, k);
        return 0;
    }
    const bool of_rows = v->rank == 2 && scale->items == v->dims[0];
    if (scale->type != 0 || (scale->items != 1 && !of_rows))
        return tf_fail(err, "%s: not the scales of %s", scale->name, v->name);
    *int8 |= v->type == I8;
    return dequantise(to, v, scale, err);
}

static bool is_scale(const struct index *x, const struct variable *v)
{
    char name[TF_MAX_NAME + 1];
    const size_t n = strlen(v->name), e = sizeof SCALE - 1;
    if (n <= e || strcmp(v->name + n - e, SCALE) != 0)
        return false;
    snprintf(name, sizeof name, "%.*s", (int)(n - e), v->name);
    const struct variable *of = find_variable(x, name);
    return of != NULL && (of->type == I8 || of->type == I16);
}

static int read_tensors(struct tf_bundle *b, struct variable *v, const struct index *x,
                        struct tf_err *err)
{
    for (size_t i = 0; i < x->n; i++) {
        if (is_scale(x, &v[i]))
            continue;
        struct tf_tensor *t = &b->tensors[b->n++];
        *t = (struct tf_tensor){.name = v[i].name,
                                .dtype = types[v[i].type].dtype,
                                .rank = (int)v[i].rank,
                                .dims = {v[i].dims[0], v[i].dims[1]},
                                .data = v[i].data,
                                .bytes = (size_t)v[i].items * types[v[i].type].size};
        v[i].tensor = t;
        if (v[i].type >= I8 && v[i].type <= I32 &&
            from_integers(t, &v[i], x, &b->arena, &b->int8, err) != 0)
            return -1;
    }
    return 0;
}

static int read_aliases(struct tf_bundle *b, const struct index *x, struct rest *r, uint32_t n,
                        struct tf_err *err)
{
    for (uint32_t i = 0; i < n; i++) {
        const char *alias = take_string(r), *name = take_string(r);
        const struct variable *of = alias != NULL && name != NULL ? find_variable(x, name) : NULL;
        if (of == NULL)
            return tf_fail(err, "alias %u: of no variable", i + 1);
        if (of->tensor == NULL) /* of scales: that of the weight has them */
            continue;
        b->tensors[b->n] = *of->tensor;
        b->tensors[b->n++].name = alias;
    }
    return 0;
}

static int read_kind(struct rest *r, struct tf_err *err)
{
    const char *kind = take_string(r);
    (void)take_number(r, 4);
    if (r->p == NULL || kind == NULL)
        return tf_fail(err, "the file ends in its header");
    if (strcmp(kind, "TransformerSpec") != 0 && strcmp(kind, "TransformerBase") != 0)
        return tf_fail(err, "a model of the kind %s, not a Transformer of encoder and decoder",
                       kind);
    return 0;
}

/* Every variable takes at least 8 bytes, and an alias 6. */
static int take_count(uint32_t *n, struct rest *r, const char *what, struct tf_err *err)
{
    *n = take_number(r, 4);
    if (r->p == NULL || *n > r->n / 6 || *n > TF_MAX_TENSORS)
        return tf_fail(err, "%u %s in the %zu bytes that are left", *n, what, r->n);
    return 0;
}

static int read_all(struct tf_bundle *b, struct rest *r, struct tf_err *err)
{
    uint32_t n, aliases = 0;
    const uint32_t version = take_number(r, 4);
    if (read_kind(r, err) != 0 || take_count(&n, r, "variables", err) != 0)
        return -1;
    struct variable *v = tf_arena_zalloc(&b->arena, (n + 1) * sizeof *v);
    const struct index x = {tf_arena_zalloc(&b->arena, (n + 1) * sizeof *x.v), n};
    for (uint32_t i = 0; i < n; i++) {
        if (read_variable(&v[i], r, version, err) != 0)
            return -1;
        x.v[i] = &v[i];
    }
    qsort(x.v, n, sizeof *x.v, by_name);
    if (version >= 3 && take_count(&aliases, r, "aliases", err) != 0)
        return -1;
    b->tensors = tf_arena_zalloc(&b->arena, ((size_t)n + aliases + 1) * sizeof *b->tensors);
    if (read_tensors(b, v, &x, err) != 0 || read_aliases(b, &x, r, aliases, err) != 0)
        return -1;
    if (r->n > 0)
        return tf_fail(err, "%zu bytes after the end", r->n);
    return tf_tensors_unique(b->tensors, b->n, err);
}

int tf_ct2_bin_read(struct tf_bundle *b, const void *p, size_t n, struct tf_err *err)
{
    if (!tf_ct2_bin_begins(p, n))
        return tf_fail(err, "not a model of CTranslate2");
    const uint32_t version = tf_load32(p);
    if (version < FIRST_VERSION || version > LAST_VERSION)
        return tf_fail(err, "version %" PRIu32 " of CTranslate2's format; %d to %d are read",
                       version, FIRST_VERSION, LAST_VERSION);
    struct rest r = {p, n};
    if (read_all(b, &r, err) != 0) {
        tf_bundle_release(b);
        return -1;
    }
    return 0;
}

/* ---- writing ---- */

static void put_number(struct tf_buf *b, uint32_t x, unsigned bytes)
{
    tf_buf_add(b, &x, bytes); /* little-endian: the low bytes come first */
}

static void put_string(struct tf_buf *b, const char *s)
{
    put_number(b, (uint32_t)strlen(s) + 1, 2);
    tf_buf_add(b, s, strlen(s) + 1);
}

/* The tensor before t[i] whose data it has, or t[i]. */
static const struct tf_tensor *first_of(const struct tf_tensor *t, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (t[k].data == t[i].data && t[k].bytes == t[i].bytes)
            return &t[k];
    return &t[i];
}

static int write_variable(struct tf_out *out, struct tf_buf *head, const struct tf_tensor *t,
                          struct tf_err *err)
{
    const bool small = t->dtype == TF_I32; /* written as i16 */
    const unsigned type = t->dtype == TF_F32    ? 0
                          : t->dtype == TF_I8   ? I8
                          : small               ? I16
                          : t->dtype == TF_F16  ? 4
                                                : 5;
    if (t->bytes > UINT32_MAX)
        return tf_fail(err, "%s: %zu bytes: more than the format can express", t->name, t->bytes);
    tf_buf_clear(head);
    put_string(head, t->name);
    put_number(head, (uint32_t)t->rank, 1);
    for (int i = 0; i < t->rank; i++)
        put_number(head, (uint32_t)t->dims[i], 4);
    put_number(head, type, 1);
    put_number(head, (uint32_t)t->bytes >> small, 4);
    if (tf_out_write(out, head->p, head->len, err) != 0)
        return -1;
    return tf_out_write(out, t->data, t->bytes >> small, err); /* the lower half of an i32 */
}

int tf_ct2_bin_write(struct tf_out *out, const struct tf_bundle *b, struct tf_err *err)
{
    struct tf_buf head = {0}, aliases = {0};
    uint32_t variables = 0, n = 0;
    for (size_t i = 0; i < b->n; i++) {
        const struct tf_tensor *first = first_of(b->tensors, i);
        variables += first == &b->tensors[i];
        if (first == &b->tensors[i])
            continue;
        n++;
        put_string(&aliases, b->tensors[i].name);
        put_string(&aliases, first->name);
    }
    put_number(&head, LAST_VERSION, 4);
    put_string(&head, "TransformerSpec");
    put_number(&head, REVISION, 4);
    put_number(&head, variables, 4);
    int rc = tf_out_write(out, head.p, head.len, err);
    for (size_t i = 0; i < b->n && rc == 0; i++)
        if (first_of(b->tensors, i) == &b->tensors[i])
            rc = write_variable(out, &head, &b->tensors[i], err);
    tf_buf_clear(&head);
    put_number(&head, n, 4);
    tf_buf_add(&head, aliases.p, aliases.len);
    if (rc == 0)
        rc = tf_out_write(out, head.p, head.len, err);
    tf_buf_release(&head);
    tf_buf_release(&aliases);
    return rc;
}
