/* safetensors.c - read and write models as safetensors files. */
#include "exchange/safetensors.h"

#include "base/bits.h"
#include "base/memory.h"
#include "base/order.h"
#include "cbor/json.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_HEADER = 100 * 1000 * 1000, ALIGN = 64 };

static const char *const names[] = {
    [TF_F32] = "F32", [TF_F16] = "F16", [TF_BF16] = "BF16", [TF_F64] = "F64", [TF_I8] = "I8",
    [TF_U8] = "U8",   [TF_I32] = "I32", [TF_U32] = "U32",   [TF_I64] = "I64", [TF_U64] = "U64",
};

/* ---- reading ---- */

struct entry {
    struct tf_tensor t; /* begins with the name */
    uint64_t from, to; /* in the data */
};

struct reading {
    struct tf_bundle *b;
    struct tf_json_reader r;
    struct tf_arena scratch; /* of one value of the header */
    bool metadata;           /* __metadata__ has been read */
    struct entry *v;
    size_t n, cap;
};

/* An array of at most `most` whole numbers: "shape" or "data_offsets". */
static int whole_numbers(uint64_t *to, int most, int *n, const struct tf_value *v, const char *key,
                         struct tf_err *err)
{
    if (v->kind != TF_ARRAY)
        return tf_fail(err, "%s: not an array", key);
    if (v->n > (size_t)most)
        return tf_fail(err, "%s: more than %d numbers", key, most);
    for (size_t i = 0; i < v->n; i++) {
        if (v->items[i].kind != TF_INT || v->items[i].integer < 0)
            return tf_fail(err, "%s: not a whole number", key);
        to[i] = (uint64_t)v->items[i].integer;
    }
    *n = (int)v->n;
    return 0;
}

/* Any strings; "config" is the configuration. */
static int read_metadata(struct tf_bundle *b, const struct tf_value *v, struct tf_err *err)
{
    if (v->kind != TF_MAP)
        return tf_fail(err, "__metadata__: not an object");
    for (size_t i = 0; i < v->n; i++)
        if (v->items[i].kind != TF_TEXT)
            return tf_fail(err, "__metadata__: %.20s: not a string", v->keys[i]);
    const struct tf_value *config = tf_value_get(v, "config");
    if (config != NULL) {
        b->config = tf_arena_strndup(&b->arena, config->text, config->n);
        b->config_n = config->n;
    }
    return 0;
}

static int read_dtype(enum tf_dtype *t, const struct tf_value *v, struct tf_err *err)
{
    if (v->kind != TF_TEXT)
        return tf_fail(err, "dtype: not a string");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(v->text, names[i]) == 0) {
            *t = (enum tf_dtype)i;
            return 0;
        }
    return tf_fail(err, "unknown dtype '%.20s'", v->text);
}

/* {"dtype": ..., "shape": [...], "data_offsets": [...]} */
static int read_entry(struct entry *e, const struct tf_value *v, struct tf_err *err)
{
    if (v->kind != TF_MAP)
        return tf_fail(err, "not an object");
    for (size_t i = 0; i < v->n; i++)
        if (strcmp(v->keys[i], "dtype") != 0 && strcmp(v->keys[i], "shape") != 0 &&
            strcmp(v->keys[i], "data_offsets") != 0)
            return tf_fail(err, "%.20s: not a field of the format", v->keys[i]);
    if (v->n != 3)
        return tf_fail(err, "without dtype, shape or data_offsets");
    uint64_t at[2], bytes;
    int n;
    if (read_dtype(&e->t.dtype, tf_value_get(v, "dtype"), err) != 0 ||
        whole_numbers(e->t.dims, TF_MAX_RANK, &e->t.rank, tf_value_get(v, "shape"), "shape", err) <
            0 ||
        whole_numbers(at, 2, &n, tf_value_get(v, "data_offsets"), "data_offsets", err) != 0)
        return -1;
    if (n != 2)
        return tf_fail(err, "data_offsets: not two numbers");
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

static int add_entry(struct reading *d, const char *name, const struct tf_value *v,
                     struct tf_err *err)
{
    size_t n = strlen(name);
    if (n == 0 || n > TF_MAX_NAME)
        return tf_fail(err, "a name of %zu bytes: 1 to %d", n, TF_MAX_NAME);
    if (d->n == TF_MAX_TENSORS)
        return tf_fail(err, "more than %d tensors", TF_MAX_TENSORS);
    TF_GROW(d->v, d->n, d->cap);
    struct entry *e = &d->v[d->n++];
    *e = (struct entry){.t.name = tf_arena_strndup(&d->b->arena, name, n)};
    return read_entry(e, v, err) != 0 ? tf_context(err, "%s", name) : 0;
}

/* One value at a time: a tree of the whole header could take several GB. */
static int read_header(struct reading *d, struct tf_err *err)
{
    enum tf_json_kind k;
    int rc;
    if (tf_json_expect(&d->r, TF_JSON_OBJECT, "header: not a JSON object", err) != 0)
        return -1;
    while ((rc = tf_json_more(&d->r, &k, err)) > 0) {
        struct tf_json_values values = {.r = &d->r,
                                        .a = &d->scratch,
                                        .max = TF_MAX_VALUES,
                                        .style = TF_JSON_PLAIN};
        struct tf_value v;
        tf_arena_clear(&d->scratch); /* the key is in the reader */
        const char *name = tf_json_text(&d->r, &d->scratch);
        if (tf_json_next(&d->r, &k, err) != 0)
            return -1;
        if (tf_value_from_json(&values, k, name, &v, err) < 0)
            return tf_context(err, "%.40s", name);
        bool metadata = strcmp(name, "__metadata__") == 0;
        if (metadata && d->metadata)
            return tf_fail(err, "__metadata__: twice");
        d->metadata |= metadata;
        if ((metadata ? read_metadata(d->b, &v, err) : add_entry(d, name, &v, err)) < 0)
            return -1;
    }
    return rc < 0 ? -1 : tf_json_next(&d->r, &k, err); /* nothing may follow */
}

static int by_place(const void *a, const void *b)
{
    uint64_t x = ((const struct entry *)a)->from, y = ((const struct entry *)b)->from;
    return x < y ? -1 : x > y;
}

/* List the tensors in the order of their data. Names must be unique, and the data must be one
 * after the other and fill the rest of the file. */
static int place_tensors(struct reading *d, const uint8_t *data, size_t n, struct tf_err *err)
{
    struct tf_bundle *b = d->b;
    uint64_t at = 0;
    const char *twice = tf_order_twice(d->v, d->n, sizeof *d->v);
    if (twice != NULL)
        return tf_fail(err, "%s: twice", twice);
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
        } else if (strcmp(e->t.name, "vocab_target") == 0 && e->t.dtype == TF_U8 &&
                   e->t.rank == 1) {
            b->vocab_target = e->t.data;
            b->vocab_target_n = e->t.bytes;
        } else {
            b->tensors[b->n++] = e->t;
        }
    }
    return at == n ? 0
                   : tf_fail(err, "%llu bytes after the last tensor", (unsigned long long)(n - at));
}

bool tf_safetensors_begins(const void *p, size_t n)
{
    const uint8_t *bytes = p;
    return n > 8 && bytes[8] == '{' && tf_load64(bytes) <= MAX_HEADER;
}

int tf_safetensors_read(struct tf_bundle *b, const void *p, size_t n, struct tf_err *err)
{
    const uint8_t *bytes = p;
    struct reading d = {.b = b};
    uint64_t size = n < 8 ? 0 : tf_load64(bytes);
    if (n < 8 || size > n - 8 || size > MAX_HEADER)
        return tf_fail(err, "not a safetensors file, or cut short");
    tf_json_read(&d.r, (const char *)bytes + 8, (size_t)size);
    int rc = read_header(&d, err);
    if (rc == 0)
        rc = place_tensors(&d, bytes + 8 + size, n - 8 - (size_t)size, err);
    tf_json_read_release(&d.r);
    tf_arena_release(&d.scratch);
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

static struct tf_tensor bytes_as_tensor(const char *name, const uint8_t *p, size_t n)
{
    return (struct tf_tensor){
        .name = name, .dtype = TF_U8, .rank = 1, .dims = {n}, .data = p, .bytes = n};
}

int tf_safetensors_write(struct tf_out *out, const struct tf_bundle *b, struct tf_err *err)
{
    static const char zeros[8];
    struct tf_buf head = {0};
    struct tf_json j = {.out = &head};
    struct tf_tensor *t = tf_xarray(NULL, b->n + 2, sizeof *t);
    size_t n = b->n;
    uint64_t at = 0;
    for (size_t i = 0; i < n; i++)
        t[i] = b->tensors[i];
    if (b->vocab != NULL)
        t[n++] = bytes_as_tensor("vocab", b->vocab, b->vocab_n);
    if (b->vocab_target != NULL)
        t[n++] = bytes_as_tensor("vocab_target", b->vocab_target, b->vocab_target_n);
    qsort(t, n, sizeof *t, by_size_and_name);
    tf_buf_add(&head, zeros, sizeof zeros);
    tf_json_open(&j, '{');
    tf_json_put_open(&j, "__metadata__", '{');
    if (b->config != NULL)
        tf_json_put_strn(&j, "config", b->config, b->config_n);
    tf_json_put_str(&j, "format", b->format != NULL ? b->format : "tf-tools");
    tf_json_close(&j, '}');
    for (size_t i = 0; i < n; i++) {
        tf_json_put_open(&j, t[i].name, '{');
        tf_json_put_str(&j, "dtype", names[t[i].dtype]);
        tf_json_put_open(&j, "shape", '[');
        for (int k = 0; k < t[i].rank; k++)
            tf_json_uint(&j, t[i].dims[k]);
        tf_json_close(&j, ']');
        tf_json_put_open(&j, "data_offsets", '[');
        tf_json_uint(&j, at);
        tf_json_uint(&j, at += t[i].bytes);
        tf_json_close(&j, ']');
        tf_json_close(&j, '}');
    }
    tf_json_close(&j, '}');
    while (head.len % ALIGN != 0)
        tf_buf_byte(&head, ' ');
    uint64_t size = head.len - sizeof zeros;
    memcpy(head.p, &size, sizeof size);
    int rc = size <= MAX_HEADER ? tf_out_write(out, head.p, head.len, err)
                                : tf_fail(err, "a header of %llu bytes, at most %d",
                                          (unsigned long long)size, MAX_HEADER);
    for (size_t i = 0; i < n && rc == 0; i++)
        rc = tf_out_write(out, t[i].data, t[i].bytes, err);
    free(t);
    tf_buf_release(&head);
    return rc;
}
