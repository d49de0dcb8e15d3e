/* cursor.h - decode typed fields of a record in memory, one after the other. A getter returns NULL
 * and moves past the field, or returns why it failed and does not move. Lengths are compared with
 * the bytes left before anything is allocated. */
#ifndef TF_CBOR_CURSOR_H
#define TF_CBOR_CURSOR_H

#include "base/arena.h"
#include "cbor/head.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct tf_cbor_cursor {
    const uint8_t *p, *end;
};

const char *tf_cursor_uint(struct tf_cbor_cursor *c, uint64_t *x);
/* n items or n pairs follow; they are known to be no more than the bytes left. */
const char *tf_cursor_array(struct tf_cbor_cursor *c, uint64_t *n);
const char *tf_cursor_map(struct tf_cbor_cursor *c, uint64_t *n);
const char *tf_cursor_tag(struct tf_cbor_cursor *c, uint64_t *tag);
/* Pointers into the record. Text is UTF-8 without NUL, and has no terminator. */
const char *tf_cursor_bytes(struct tf_cbor_cursor *c, const uint8_t **p, size_t *n);
const char *tf_cursor_text(struct tf_cbor_cursor *c, const char **s, size_t *n);
const char *tf_cursor_real(struct tf_cbor_cursor *c,
                           double *x); /* a float of any width, or integer */
const char *tf_cursor_sha256(struct tf_cbor_cursor *c, uint8_t out[32]); /* tag 18540 is optional */
/* A 32-bit number, or null: then *has is false and *crc 0. */
const char *tf_cursor_crc(struct tf_cbor_cursor *c, bool *has, uint32_t *crc);
const char *tf_cursor_skip(struct tf_cbor_cursor *c); /* one item of any kind */
bool tf_cursor_is_null(const struct tf_cbor_cursor *c);
/* At most max ids below 2^32: tag 64, 69, 70 or 71, or a plain array of integers. */
const char *tf_cursor_ids(struct tf_cbor_cursor *c, struct tf_arena *a, size_t max,
                          const uint32_t **ids, size_t *n);
/* At most max numbers: tag 84, 85 or 86, or a plain array of numbers. */
const char *tf_cursor_reals(struct tf_cbor_cursor *c, struct tf_arena *a, size_t max,
                            const float **x, size_t *n);

/* Ids as tf_writer_... writes them, a typed array of 16 or 32 bits under a tag of two bytes. The
 * fast path of tf_cursor_ids and tf_view_ids, which also read the other forms. */
struct tf_usual_ids {
    const uint8_t *p; /* the first of n numbers of so many bytes, little-endian */
    size_t n, width;  /* width 0: another form */
};
static inline struct tf_usual_ids tf_usual_ids(const uint8_t *p, const uint8_t *end)
{
    struct tf_head h;
    const size_t left = (size_t)(end - p);
    if (left < 3 || p[0] != 0xd8 || (p[1] != TF_TAG_U16 && p[1] != TF_TAG_U32))
        return (struct tf_usual_ids){0};
    const size_t width = p[1] == TF_TAG_U16 ? 2 : 4;
    const int k = tf_head_read(p + 2, left - 2, &h);
    if (k <= 0 || h.major != TF_MAJOR_BYTES || h.val > left - 2 - (size_t)k || h.val % width != 0)
        return (struct tf_usual_ids){0};
    return (struct tf_usual_ids){p + 2 + k, (size_t)h.val / width, width};
}
static inline void tf_usual_ids_copy(uint32_t *to, const uint8_t *p, size_t n, size_t width)
{
    if (width == 4) {
        memcpy(to, p, 4 * n);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        uint16_t v;
        memcpy(&v, p + 2 * i, 2);
        to[i] = v;
    }
}

#endif
