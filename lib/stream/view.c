/* view.c - locate and read the ids of a record in a mapped file.
 *
 * A place is a byte offset shifted left by two bits; the low bits are the encoding. Ids of the
 * usual form are copied from their payload. Other encodings are decoded item by item. */
#include "stream/view.h"
#include "cbor/cursor.h"
#include "cbor/head.h"

#include <string.h>

enum form { OTHER, U16, U32 };

static const uint8_t *after_head(const uint8_t *p, const uint8_t *end)
{
    struct tf_head h;
    int k = tf_head_read(p, (size_t)(end - p), &h);
    TF_ASSERT(k > 0);
    return p + k;
}

static TF_NOINLINE const uint8_t *after_item(const uint8_t *p, const uint8_t *end)
{
    struct tf_cbor_cursor c = {.p = p, .end = end};
    TF_ASSERT(!tf_cursor_skip(&c));
    return c.p;
}

uint64_t tf_view_ids(const uint8_t *raw, size_t raw_n, uint64_t offset, int side)
{
    const uint8_t *p = raw, *const end = raw + raw_n;
    for (int i = 0; i < 3; i++) /* of the array, its type, its ordinal */
        p = after_head(p, end);
    if (side == 1)
        p = after_item(p, end);
    const struct tf_usual_ids u = tf_usual_ids(p, end);
    const enum form form = u.width == 2 ? U16 : u.width == 4 ? U32 : OTHER;
    return (offset + (uint64_t)((form == OTHER ? p : u.p) - raw)) << 2 | form;
}

/* The n ids at c, in an encoding other than U16 and U32. */
static TF_NOINLINE int decode_ids(uint32_t *dst, size_t n, struct tf_cbor_cursor c)
{
    struct tf_arena a = {0};
    const uint32_t *ids;
    size_t found;
    int rc = tf_cursor_ids(&c, &a, n, &ids, &found) == NULL && found == n ? 0 : -1;
    if (rc == 0)
        memcpy(dst, ids, n * sizeof *ids);
    tf_arena_release(&a);
    return rc;
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
    tf_usual_ids_copy(dst, p, n, w);
    return 0;
}
