/* safetensors.c - see bundle.h. */
#include "base/hash.h"
#include "base/json.h"
#include "base/memory.h"
#include "exchange/bundle.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_HEADER = 100 * 1000 * 1000, ALIGN = 64 };

static const char *const names[] = {
    [TF_F32] = "F32", [TF_F16] = "F16", [TF_BF16] = "BF16", [TF_F64] = "F64", [TF_I8] = "I8",
    [TF_U8] = "U8",   [TF_I32] = "I32", [TF_U32] = "U32",   [TF_I64] = "I64", [TF_U64] = "U64",
};

void tf_bundle_release(struct tf_bundle *b)
{
    tf_arena_release(&b->arena);
    *b = (struct tf_bundle){0};
}

/* ---- reading ---- */

struct entry {
    struct tf_tensor t;
    uint64_t from, to; /* in the data */
};

struct reading {
    struct tf_bundle *b;
    struct tf_json_reader r;
    struct entry *v;
    size_t n, cap;
};

static int expect(struct reading *d, enum tf_json_kind want, const char *what, struct tf_err *err)
{
    enum tf_json_kind k;
    if (tf_json_next(&d->r, &k, err) < 0)
        return -1;
    return k == want ? 0 : tf_fail(err, "%s: not of the kind that it should be", what);
}

/* A copy of the text of the last token; no NUL in it. */
static int text(struct reading *d, const char **s, size_t *n, const char *what, struct tf_err *err)
{
    *n = d->r.text.len;
    *s = tf_arena_strndup(&d->b->arena, d->r.text.p, *n);
    return memchr(*s, 0, *n) != NULL ? tf_fail(err, "%s: text with NUL", what) : 0;
}

/* An array of whole numbers, at most `most` of them. */
static int numbers(struct reading *d, uint64_t *v, int most, int *n, const char *what,
                   struct tf_err *err)
{
    enum tf_json_kind k;
    if (expect(d, TF_JSON_ARRAY, what, err) < 0)
        return -1;
    for (*n = 0;; ++*n) {
        if (tf_json_next(&d->r, &k, err) < 0)
            return -1;
        if (k == TF_JSON_ARRAY_END)
            return 0;
        if (k != TF_JSON_NUMBER || !d->r.is_int || (d->r.negative && d->r.uint > 0))
            return tf_fail(err, "%s: not a whole number", what);
        if (*n == most)
            return tf_fail(err, "%s: more than %d numbers", what, most);
        v[*n] = d->r.uint;
    }
}

static int metadata(struct reading *d, struct tf_err *err)
{
    enum tf_json_kind k;
    if (expect(d, TF_JSON_OBJECT, "__metadata__", err) < 0)
        return -1;
    for (;;) {
        const char *key;
        size_t n;
        if (tf_json_next(&d->r, &k, err) < 0)
            return -1;
        if (k == TF_JSON_OBJECT_END)
            return 0;
        if (text(d, &key, &n, "__metadata__", err) < 0 ||
            expect(d, TF_JSON_STRING, "__metadata__", err) < 0)
            return -1;
        if (strcmp(key, "config") == 0 &&
            text(d, &d->b->config, &d->b->config_n, "config", err) < 0)
            return -1;
    }
}

static int dtype(struct reading *d, enum tf_dtype *t, struct tf_err *err)
{
    const char *s;
    size_t n;
    if (expect(d, TF_JSON_STRING, "dtype", err) < 0 || text(d, &s, &n, "dtype", err) < 0)
        return -1;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(s, names[i]) == 0) {
            *t = (enum tf_dtype)i;
            return 0;
        }
    return tf_fail(err, "dtype '%.20s'", s);
}

/* {"dtype": ..., "shape": [...], "data_offsets": [...]} */
static int description(struct reading *d, struct entry *e, struct tf_err *err)
{
    enum { DTYPE = 1, SHAPE = 2, OFFSETS = 4 };
    enum tf_json_kind k;
    unsigned seen = 0;
    uint64_t at[2], bytes;
    int n;
    if (expect(d, TF_JSON_OBJECT, "description", err) < 0)
        return -1;
    for (;;) {
        if (tf_json_next(&d->r, &k, err) < 0)
            return -1;
        if (k == TF_JSON_OBJECT_END)
            break;
        const char *key;
        if (text(d, &key, &(size_t){0}, "key", err) < 0)
            return -1;
        unsigned bit = strcmp(key, "dtype") == 0          ? DTYPE
                       : strcmp(key, "shape") == 0        ? SHAPE
                       : strcmp(key, "data_offsets") == 0 ? OFFSETS
                                                          : 0;
        if (bit == 0 || seen & bit)
            return tf_fail(err, "%.20s: %s", key, bit == 0 ? "not a field of the format" : "twice");
        seen |= bit;
        if (bit == DTYPE   ? dtype(d, &e->t.dtype, err) < 0
            : bit == SHAPE ? numbers(d, e->t.dims, TF_MAX_RANK, &e->t.rank, key, err) < 0
                           : numbers(d, at, 2, &n, key, err) < 0)
            return -1;
        if (bit == OFFSETS && n != 2)
            return tf_fail(err, "data_offsets: not two numbers");
    }
    if (seen != (DTYPE | SHAPE | OFFSETS))
        return tf_fail(err, "without dtype, shape or data_offsets");
    if (!tf_tensor_size(&bytes, e->t.dtype, e->t.dims, e->t.rank))
        return tf_fail(err, "shape: a dim that is 0, or too many elements");
    e->from = at[0];
    e->to = at[1];
    if (e->to < e->from || e->to - e->from != bytes)
        return tf_fail(err, "data_offsets: not the %llu bytes of its shape",
                       (unsigned long long)bytes);
    e->t.bytes = (size_t)bytes;
    return 0;
}

static int header(struct reading *d, struct tf_err *err)
{
    enum tf_json_kind k;
    if (expect(d, TF_JSON_OBJECT, "header", err) < 0)
        return -1;
    for (;;) {
        const char *name;
        size_t n;
        if (tf_json_next(&d->r, &k, err) < 0)
            return -1;
        if (k == TF_JSON_OBJECT_END)
            return tf_json_next(&d->r, &k, err); /* the end, or an error */
        if (text(d, &name, &n, "name", err) < 0)
            return -1;
        if (strcmp(name, "__metadata__") == 0) {
            if (metadata(d, err) < 0)
                return -1;
            continue;
        }
        if (n == 0 || n > TF_MAX_NAME)
            return tf_fail(err, "a name of %zu bytes, 1 to %d are allowed", n, TF_MAX_NAME);
        if (d->n == TF_MAX_TENSORS)
            return tf_fail(err, "more than %d tensors", TF_MAX_TENSORS);
        if (d->n == d->cap) {
            d->cap = 2 * d->cap + 64;
            d->v = tf_xarray(d->v, d->cap, sizeof *d->v);
        }
        d->v[d->n] = (struct entry){.t.name = name};
        if (description(d, &d->v[d->n++], err) < 0)
            return tf_context(err, "%s", name);
    }
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct entry *)a)->t.name, ((const struct entry *)b)->t.name);
}

static int by_place(const void *a, const void *b)
{
    uint64_t x = ((const struct entry *)a)->from, y = ((const struct entry *)b)->from;
    return x < y ? -1 : x > y;
}

/* Names are unique, and the data are there, one after the other. */
static int place(struct reading *d, const uint8_t *data, size_t n, struct tf_err *err)
{
    struct tf_bundle *b = d->b;
    uint64_t at = 0;
    if (d->n > 1)
        qsort(d->v, d->n, sizeof *d->v, by_name);
    for (size_t i = 1; i < d->n; i++)
        if (strcmp(d->v[i - 1].t.name, d->v[i].t.name) == 0)
            return tf_fail(err, "%s: twice", d->v[i].t.name);
    if (d->n > 1)
        qsort(d->v, d->n, sizeof *d->v, by_place);
    b->tensors = tf_arena_alloc(&b->arena, (d->n + 1) * sizeof *b->tensors);
    for (size_t i = 0; i < d->n; i++) {
        struct entry *e = &d->v[i];
        if (e->from != at)
            return tf_fail(err, "%s: its data do not follow those of the tensor before it",
                           e->t.name);
        at = e->to;
        if (at > n)
            return tf_fail(err, "truncated: %zu bytes of data, and %s ends at byte %llu", n,
                           e->t.name, (unsigned long long)at);
        e->t.data = data + e->from;
        if (strcmp(e->t.name, "vocab") == 0 && e->t.dtype == TF_U8 && e->t.rank == 1) {
            b->vocab = e->t.data;
            b->vocab_n = e->t.bytes;
        } else {
            b->tensors[b->n++] = e->t;
        }
    }
    return at == n
               ? 0
               : tf_fail(err, "%llu bytes after the last tensor", (unsigned long long)(n - at));
}

int tf_safetensors_read(struct tf_bundle *b, const void *p, size_t n, struct tf_err *err)
{
    const uint8_t *bytes = p;
    struct reading d = {.b = b};
    uint64_t size = 0;
    for (int i = 7; i >= 0 && n >= 8; i--)
        size = size << 8 | bytes[i];
    if (n < 8 || size > n - 8 || size > MAX_HEADER)
        return tf_fail(err, "not a safetensors file, or cut short");
    tf_json_read(&d.r, (const char *)bytes + 8, (size_t)size);
    int rc = header(&d, err);
    if (rc == 0)
        rc = place(&d, bytes + 8 + size, n - 8 - (size_t)size, err);
    tf_json_read_release(&d.r);
    free(d.v);
    if (rc < 0)
        tf_bundle_release(b);
    return rc;
}

/* ---- writing ---- */

static int by_size_and_name(const void *a, const void *b)
{
    const struct tf_tensor *x = a, *y = b;
    size_t n = tf_dtype_size(x->dtype), m = tf_dtype_size(y->dtype);
    return n != m ? (n < m) - (n > m) : strcmp(x->name, y->name);
}

int tf_safetensors_write(struct tf_out *out, const struct tf_bundle *b, struct tf_err *err)
{
    static const char zeros[8];
    struct tf_buf head = {0};
    struct tf_json j = {.out = &head};
    struct tf_tensor *t = tf_xarray(NULL, b->n + 1, sizeof *t);
    size_t n = b->n;
    uint64_t at = 0;
    for (size_t i = 0; i < n; i++)
        t[i] = b->tensors[i];
    if (b->vocab != NULL)
        t[n++] = (struct tf_tensor){.name = "vocab",
                                    .dtype = TF_U8,
                                    .rank = 1,
                                    .dims = {b->vocab_n},
                                    .data = b->vocab,
                                    .bytes = b->vocab_n,
                                    .crc = tf_crc32c(0, b->vocab, b->vocab_n)};
    qsort(t, n, sizeof *t, by_size_and_name);
    tf_buf_add(&head, zeros, sizeof zeros);
    tf_json_open(&j, '{');
    tf_json_key(&j, "__metadata__");
    tf_json_open(&j, '{');
    if (b->config != NULL) {
        tf_json_key(&j, "config");
        tf_json_strn(&j, b->config, b->config_n);
    }
    tf_json_put_str(&j, "format", "tf-tools");
    tf_json_close(&j, '}');
    for (size_t i = 0; i < n; i++) {
        tf_json_key(&j, t[i].name);
        tf_json_open(&j, '{');
        tf_json_put_str(&j, "dtype", names[t[i].dtype]);
        tf_json_key(&j, "shape");
        tf_json_open(&j, '[');
        for (int k = 0; k < t[i].rank; k++)
            tf_json_uint(&j, t[i].dims[k]);
        tf_json_close(&j, ']');
        tf_json_key(&j, "data_offsets");
        tf_json_open(&j, '[');
        tf_json_uint(&j, at);
        tf_json_uint(&j, at += t[i].bytes);
        tf_json_close(&j, ']');
        tf_json_close(&j, '}');
    }
    tf_json_close(&j, '}');
    while (head.len % ALIGN != 0)
        tf_buf_byte(&head, ' ');
    uint64_t size = head.len - sizeof zeros;
    for (int i = 0; i < 8; i++)
        head.p[i] = (char)(size >> 8 * i);
    int rc = size <= MAX_HEADER ? tf_out_write(out, head.p, head.len, err)
                                : tf_fail(err, "a header of %llu bytes, at most %d",
                                          (unsigned long long)size, MAX_HEADER);
    for (size_t i = 0; i < n && rc == 0; i++)
        rc = b->has_crc ? tf_tensor_write(out, &t[i], NULL, err)
                        : tf_out_write(out, t[i].data, t[i].bytes, err);
    free(t);
    tf_buf_release(&head);
    return rc;
}
