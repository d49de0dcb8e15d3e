/* tail.c - see tail.h. */
#include "stream/tail.h"
#include "cbor/cursor.h"
#include "stream/record.h"

bool tf_tail_end(const uint8_t *p, size_t n, uint64_t size, uint64_t *count, bool *has_crc,
                 uint32_t *crc)
{
    uint64_t items, type;
    /* From the longest: bytes of the CRC can look like a shorter record. With data before it the
     * record can look like a longer one, whose count is beyond the file. */
    for (const uint8_t *end = p + n; p < end; p++) {
        struct tf_cbor_cursor c = {.p = p, .end = end};
        if (tf_cursor_array(&c, &items) == NULL && items == 3 &&
            tf_cursor_uint(&c, &type) == NULL && type == TF_REC_END &&
            tf_cursor_uint(&c, count) == NULL && *count <= size &&
            tf_cursor_crc(&c, has_crc, crc) == NULL && c.p == end)
            return true;
    }
    return false;
}
