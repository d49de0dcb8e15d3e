/* hash_text.h - hashing for tables of one segment: open addressing, a power of two of slots, at
 * most half of them used. Not for hostile keys beyond a segment, whose size is limited. */
#ifndef TF_METRICS_HASH_TEXT_H
#define TF_METRICS_HASH_TEXT_H

#include "text/lines.h"
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t tf_hash_mix(uint64_t x)
{
    x *= 0x9E3779B97F4A7C15u;
    return x ^ x >> 29;
}

/* Hash of a text. Reads 8 bytes at a time, the last ones overlapping; most tokens take one
 * multiplication. */
static inline uint64_t tf_hash_text(struct tf_text s)
{
    uint64_t h = s.n, w = 0;
    uint32_t lo, hi;
    if (s.n >= 8) {
        for (size_t i = 0; i + 8 < s.n; i += 8) {
            memcpy(&w, s.p + i, 8);
            h = tf_hash_mix(h ^ w);
        }
        memcpy(&w, s.p + s.n - 8, 8);
    } else if (s.n >= 4) {
        memcpy(&lo, s.p, 4);
        memcpy(&hi, s.p + s.n - 4, 4);
        w = (uint64_t)hi << 32 | lo;
    } else if (s.n) {
        const unsigned char *p = (const unsigned char *)s.p;
        w = (uint64_t)p[0] << 32 | (uint64_t)p[s.n / 2] << 16 | p[s.n - 1];
    }
    return tf_hash_mix(h ^ h << 56 ^ w);
}

/* The number of slots for n entries. */
static inline size_t tf_hash_slots(size_t n)
{
    size_t s = 64;
    while (s < 2 * n)
        s *= 2;
    return s;
}

#endif
