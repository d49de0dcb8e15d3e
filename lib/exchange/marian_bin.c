/* marian_bin.c - see marian_bin.h. */
#include "exchange/marian_bin.h"
#include "base/bits.h"

#include <inttypes.h>
#include <math.h>

enum {
    HEAD = 16,
    ITEM = 32,
    F32 = 0x404,
    F16 = 0x402,
    I8 = 0x101,
    INTGEMM8 = 0x10001,
    INTGEMM8_BROWSERMT = 0x4101, /* its fork, with which Firefox's and Bergamot's are made */
};

struct item {
    uint64_t name_n, type, rank, bytes;
    const char *name;
    const uint8_t *dims;
};

/* What is left of the file. */
struct rest {
    const uint8_t *p;
    size_t n;
};

static const uint8_t *take_bytes(struct rest *r, uint64_t n)
{
    if (n > r->n)
        return NULL;
    const uint8_t *p = r->p;
    r->p += n;
    r->n -= n;
    return p;
}

bool tf_marian_bin_begins(const void *p, size_t n)
{
    if (n < HEAD || tf_load64(p) != 1)
        return false;
    const uint64_t items = tf_load64((const char *)p + 8);
    return items > 0 && items <= TF_MAX_TENSORS;
}

/* The items, without their data. */
static int read_items(struct item *v, uint64_t n, struct rest *r, struct tf_err *err)
{
    const uint8_t *p = take_bytes(r, n * ITEM);
    if (p == NULL)
        return tf_fail(err, "the file ends in its table of %" PRIu64 " items", n);
    for (uint64_t i = 0; i < n; i++, p += ITEM)
        v[i] = (struct item){
            tf_load64(p), tf_load64(p + 8), tf_load64(p + 16), tf_load64(p + 24), NULL, NULL};
    for (uint64_t i = 0; i < n; i++) {
        v[i].name = (const char *)take_bytes(r, v[i].name_n);
        if (v[i].name == NULL || v[i].name_n < 2 || v[i].name_n > TF_MAX_NAME + 1 ||
            memchr(v[i].name, 0, v[i].name_n) != v[i].name + v[i].name_n - 1)
            return tf_fail(err, "item %" PRIu64 ": not a name", i + 1);
    }
    for (uint64_t i = 0; i < n; i++) {
        v[i].dims = v[i].rank <= TF_MAX_RANK ? take_bytes(r, 4 * v[i].rank) : NULL;
        if (v[i].dims == NULL)
            return tf_fail(err, "%s: %" PRIu64 " dimensions", v[i].name, v[i].rank);
    }
    const uint8_t *pad = take_bytes(r, 8);
    if (pad == NULL || take_bytes(r, tf_load64(pad)) == NULL)
        return tf_fail(err, "the file ends before its data");
    return 0;
}

static int read_dims(struct tf_tensor *t, const struct item *item, struct tf_err *err)
{
    t->rank = (int)item->rank;
    for (int i = 0; i < t->rank; i++) {
        const int32_t d = (int32_t)tf_load32(item->dims + 4 * i);
        if (d < 1)
            return tf_fail(err, "%s: a dimension of %d", t->name, d);
        t->dims[i] = (uint64_t)d;
    }
    return 0;
}

static int check_type(const struct item *item, struct tf_err *err)
{
    switch (item->type) {
    case F32:
    case F16:
    case I8:
    case INTGEMM8:
    case INTGEMM8_BROWSERMT:
        return 0;
    default:
        return tf_fail(err,
                       "%s: type 0x%" PRIx64 ", which is packed for one kind of processor or "
                       "unknown; use the model's .npz, or marian-conv -g intgemm8",
                       item->name, item->type);
    }
}

/* to [n] = q / m, [rows, cols], from q [cols, rows] if `transposed`. */
static int dequantise(float *to, const uint8_t *data, uint64_t rows, uint64_t cols, bool transposed,
                      const char *name, struct tf_err *err)
{
    float m;
    const int8_t *q = (const int8_t *)data;
    memcpy(&m, data + rows * cols, sizeof m);
    if (!isfinite(m) || m == 0)
        return tf_fail(err, "%s: a scale of %g", name, (double)m);
    for (uint64_t r = 0; r < rows; r++)
        for (uint64_t c = 0; c < cols; c++)
            to[r * cols + c] = (float)q[transposed ? c * rows + r : r * cols + c] / m;
    return 0;
}

/* Set all of *t but its name, from the item and its data. */
static int read_item(struct tf_tensor *t, const struct item *item, const uint8_t *data,
                     struct tf_arena *a, struct tf_err *err)
{
    uint64_t bytes, wide;
    const bool packed = item->type == INTGEMM8 || item->type == INTGEMM8_BROWSERMT;
    t->dtype = item->type == F32 ? TF_F32 : item->type == F16 ? TF_F16 : TF_I8;
    if (check_type(item, err) != 0 || read_dims(t, item, err) != 0)
        return -1;
    if (!tf_tensor_size(&bytes, t->dtype, t->dims, t->rank) ||
        !tf_tensor_size(&wide, TF_F32, t->dims, t->rank) ||
        bytes + (packed ? sizeof(float) : 0) > item->bytes)
        return tf_fail(err, "%s: %" PRIu64 " bytes, fewer than its shape needs", t->name,
                       item->bytes);
    t->data = data;
    t->bytes = (size_t)bytes;
    if (item->type == F32 || item->type == I8)
        return 0;
    if (packed && t->rank != 2)
        return tf_fail(err, "%s: intgemm8 with %d dimensions", t->name, t->rank);
    float *to = tf_arena_alloc(a, (size_t)wide);
    const int rc = packed ? dequantise(to, data, t->dims[0], t->dims[1],
                                       strcmp(t->name, "Wemb") != 0, t->name, err)
                          : tf_tensor_floats(to, t, err);
    t->dtype = TF_F32;
    t->data = to;
    t->bytes = (size_t)wide;
    return rc;
}

static int read_all(struct tf_bundle *b, struct rest *r, uint64_t n, struct tf_err *err)
{
    struct item *v = tf_arena_zalloc(&b->arena, n * sizeof *v);
    b->tensors = tf_arena_zalloc(&b->arena, n * sizeof *b->tensors);
    if (read_items(v, n, r, err) != 0)
        return -1;
    for (uint64_t i = 0; i < n; i++) {
        struct tf_tensor *t = &b->tensors[b->n];
        const uint8_t *data = take_bytes(r, v[i].bytes);
        if (data == NULL)
            return tf_fail(err, "%s: the file ends in its data", v[i].name);
        b->int8 |= v[i].type == INTGEMM8 || v[i].type == INTGEMM8_BROWSERMT;
        t->name = v[i].name;
        if (tf_ends_with(t->name, "_QuantMultA"))
            continue;
        if (read_item(t, &v[i], data, &b->arena, err) != 0)
            return -1;
        b->n++;
    }
    if (r->n > 0)
        return tf_fail(err, "%zu bytes after the last item", r->n);
    return tf_tensors_unique(b->tensors, b->n, err);
}

int tf_marian_bin_read(struct tf_bundle *b, const void *p, size_t n, struct tf_err *err)
{
    if (!tf_marian_bin_begins(p, n))
        return tf_fail(err, "not a binary model of Marian of version 1");
    struct rest r = {(const uint8_t *)p + HEAD, n - HEAD};
    if (read_all(b, &r, tf_load64((const char *)p + 8), err) != 0) {
        tf_bundle_release(b);
        return -1;
    }
    return 0;
}
