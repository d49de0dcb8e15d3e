/* tensor_record.c - encode and decode the head of a tensor record. */
#include "stream/tensor_record_private.h"

#include "base/hash.h"
#include "cbor/cursor.h"
#include "cbor/encode.h"
#include "cbor/head.h"

#include <string.h>

void tf_tensor_head_encode(struct tf_buf *b, uint64_t offset, const struct tf_tensor *t)
{
    static const char zeros[24 + 64];
    struct tf_buf tail = {0};
    tf_cbor_array(b, 6);
    tf_cbor_uint(b, TF_REC_TENSOR);
    tf_cbor_str(b, t->name);
    tf_cbor_str(b, tf_dtype_name(t->dtype));
    tf_cbor_tag(&tail, TF_TAG_MULTI_DIM);
    tf_cbor_array(&tail, 2);
    tf_cbor_array(&tail, (uint64_t)t->rank);
    for (int i = 0; i < t->rank; i++)
        tf_cbor_uint(&tail, t->dims[i]);
    tf_cbor_tag(&tail, tf_dtype_tag(t->dtype));
    tf_cbor_bytes_head(&tail, t->bytes);
    /* 24 to 87 zeros: the head of the pad is 2 bytes whatever its length */
    uint64_t at = offset + b->len + 2 + tail.len;
    tf_cbor_bytes(b, zeros, 24 + (64 - (at + 24) % 64) % 64);
    tf_buf_add(b, tail.p, tail.len);
    tf_buf_release(&tail);
}

#define TRY(call)                  \
    do {                           \
        const char *why_ = (call); \
        if (why_)                  \
            return why_;           \
    } while (0)

const char *tf_tensor_head_decode(struct tf_tensor_head *h, const uint8_t *p, size_t n)
{
    struct tf_cbor_cursor c = {.p = p, .end = p + n};
    uint64_t items, x, rank, bytes;
    const char *s;
    const uint8_t *pad;
    size_t len;
    char dtype[8];
    struct tf_head head;
    memset(h, 0, sizeof *h);
    /* The cursor refuses arrays of more items than bytes are left; a tensor always has more bytes.
     */
    if (tf_cursor_array(&c, &items) != NULL || items < 6 || tf_cursor_uint(&c, &x) != NULL ||
        x != TF_REC_TENSOR)
        return "not a tensor of 6 items";
    TRY(tf_cursor_text(&c, &s, &len));
    if (len == 0 || len > TF_MAX_NAME)
        return "a name of no or too many bytes";
    memcpy(h->name, s, len);
    TRY(tf_cursor_text(&c, &s, &len));
    if (len >= sizeof dtype)
        return "unknown dtype";
    memcpy(dtype, s, len);
    dtype[len] = 0;
    if (!tf_dtype_of(&h->t.dtype, dtype))
        return "unknown dtype";
    TRY(tf_cursor_bytes(&c, &pad, &len));
    if (len > TF_MAX_PAD)
        return "a pad that is too long";
    if (tf_cursor_tag(&c, &x) != NULL || x != TF_TAG_MULTI_DIM || tf_cursor_array(&c, &x) != NULL ||
        x != 2)
        return "not a multi-dimensional array (tag 40)";
    TRY(tf_cursor_array(&c, &rank));
    if (rank > TF_MAX_RANK)
        return "too many dims";
    h->t.rank = (int)rank;
    for (int i = 0; i < h->t.rank; i++)
        if (tf_cursor_uint(&c, &h->t.dims[i]) != NULL || h->t.dims[i] == 0)
            return "a dim that is not positive";
    if (!tf_tensor_size(&bytes, h->t.dtype, h->t.dims, h->t.rank))
        return "dims whose product is too large";
    if (tf_cursor_tag(&c, &x) != NULL || x != tf_dtype_tag(h->t.dtype))
        return "a tag that is not the dtype's";
    int k = tf_head_read(c.p, (size_t)(c.end - c.p), &head);
    if (k <= 0 || head.major != TF_MAJOR_BYTES)
        return "data that are not a byte string";
    if (head.val != bytes)
        return "dims that do not fit the length of the data";
    h->t.bytes = (size_t)bytes;
    h->n = (size_t)(c.p - p) + (size_t)k;
    h->items_after = items - 5;
    return NULL;
}

int tf_tensor_record_decode(struct tf_tensor_head *h, const struct tf_record *rec,
                            struct tf_err *err)
{
    bool has = false;
    uint32_t crc = 0;
    const char *why = tf_tensor_head_decode(h, rec->raw, rec->raw_n);
    if (why == NULL && h->t.bytes > rec->raw_n - h->n)
        why = "data longer than their record";
    if (why == NULL) {
        h->t.name = h->name;
        h->t.data = rec->raw + h->n;
        h->t.crc = tf_crc32c(0, h->t.data, h->t.bytes);
        struct tf_cbor_cursor c = {rec->raw + h->n + h->t.bytes, rec->raw + rec->raw_n};
        why = tf_cursor_crc(&c, &has, &crc);
    }
    if (why != NULL)
        return tf_fail(err, "tensor: %s", why);
    if (has && crc != h->t.crc)
        return tf_fail(err, "tensor %s is damaged: crc32c is %08x, the record says %08x", h->name,
                       h->t.crc, crc);
    return 0;
}
