/* view.c - locate and read the ids of a record in a mapped file.
 *
 * A place is a byte offset shifted left by two bits; the low bits are the encoding. Typed arrays of
 * 16 and 32 bits, which tf_writer_* writes, are copied from their payload. Other encodings are
 * decoded item by item. */
#include "stream/view.h"
#include "cbor/cursor.h"
#include "cbor/head.h"

#include <string.h>

enum form { OTHER, U16, U32 };

uint64_t tf_view_ids(const uint8_t *raw, size_t raw_n, uint64_t offset, int side)
{
    struct tf_cbor_cursor c = {.p = raw, .end = raw + raw_n}, ids;
    uint64_t items, x;
    TF_ASSERT(!tf_cursor_array(&c, &items) && !tf_cursor_uint(&c, &x) && !tf_cursor_uint(&c, &x));
    if (side == 1)
        TF_ASSERT(!tf_cursor_skip(&c));
    const uint8_t *p;
    size_t n;
    ids = c;
    enum form form = OTHER;
    if (!tf_cursor_tag(&c, &x) && (x == TF_TAG_U16 || x == TF_TAG_U32) &&
        !tf_cursor_bytes(&c, &p, &n)) {
        form = x == TF_TAG_U16 ? U16 : U32;
        ids.p = p;
    }
    return (offset + (uint64_t)(ids.p - raw)) << 2 | form;
}

/* Decode the n ids at c, in an encoding other than U16 and U32. */
static TF_NOINLINE int decode_ids(uint32_t *dst, size_t n, struct tf_cbor_cursor c)
{
    uint64_t x;
    const uint8_t *p;
    size_t bytes;
    if (!tf_cursor_tag(&c, &x)) {
        size_t w = x == TF_TAG_U8 ? 1 : x == TF_TAG_U64 ? 8 : 0;
        if (w == 0 || tf_cursor_bytes(&c, &p, &bytes) || bytes != n * w)
            return -1;
        for (size_t i = 0; i < n; i++) {
            x = p[i * w]; /* the reader has checked that the upper half is zero */
            for (size_t k = 1; k < 4 && k < w; k++)
                x |= (uint64_t)p[i * w + k] << (8 * k);
            dst[i] = (uint32_t)x;
        }
        return 0;
    }
    if (tf_cursor_array(&c, &x) || x != n)
        return -1;
    for (size_t i = 0; i < n; i++) {
        if (tf_cursor_uint(&c, &x) || x > UINT32_MAX)
            return -1;
        dst[i] = (uint32_t)x;
    }
    return 0;
}

int tf_view_take(uint32_t *dst, size_t n, const uint8_t *map, size_t map_n, uint64_t place)
{
    uint64_t at = place >> 2;
    size_t w = (place & 3) == U16 ? 2 : (place & 3) == U32 ? 4 : 0;
    if (at > map_n || (map_n - at) / (w ? w : 1) < n)
        return -1;
    const uint8_t *p = map + at;
    if (w == 0)
        return decode_ids(dst, n, (struct tf_cbor_cursor){.p = p, .end = map + map_n});
    if (w == 4) {
        memcpy(dst, p, n * 4); /* file and machine are little-endian */
    } else {
        for (size_t i = 0; i < n; i++) {
            uint16_t x;
            memcpy(&x, p + 2 * i, 2);
            dst[i] = x;
        }
    }
    return 0;
}
