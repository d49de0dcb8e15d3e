/* table_hash.h - hashes for tables over input: open addressing, a power of two of slots, at most
 * half of them used. Each process draws a random key, so that nobody can choose input
 * whose entries share slots. The hash must not decide anything that reaches an output.
 *
 * The function multiplies by the key and adds the two halves of the product without carry, as
 * wyhash and foldhash do. It is no message authentication code: never output a hash. */
#ifndef TF_BASE_TABLE_HASH_H
#define TF_BASE_TABLE_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct tf_table_key {
    uint64_t plus, times; /* times is odd */
};
/* The key of this process. Thread-safe. */
struct tf_table_key tf_table_key(void);

/* One step: of a hash, which is key.plus at the start, and the next 8 bytes. */
static inline uint64_t tf_table_mix(struct tf_table_key key, uint64_t h, uint64_t x)
{
    unsigned __int128 p = (unsigned __int128)(h ^ x) * key.times;
    return (uint64_t)p ^ (uint64_t)(p >> 64);
}

/* The hash of a number. */
static inline uint64_t tf_table_hash(struct tf_table_key key, uint64_t x)
{
    return tf_table_mix(key, key.plus, x);
}

/* The hash of a text. Reads 8 bytes at a time, the last ones overlapping; most tokens take one
 * multiplication. */
static inline uint64_t tf_table_hash_text(struct tf_table_key key, const char *s, size_t n)
{
    uint64_t h = key.plus ^ n ^ (uint64_t)n << 56, w = 0;
    uint32_t lo, hi;
    if (n >= 8) {
        for (size_t i = 0; i + 8 < n; i += 8) {
            memcpy(&w, s + i, 8);
            h = tf_table_mix(key, h, w);
        }
        memcpy(&w, s + n - 8, 8);
    } else if (n >= 4) {
        memcpy(&lo, s, 4);
        memcpy(&hi, s + n - 4, 4);
        w = (uint64_t)hi << 32 | lo;
    } else if (n > 0) {
        const unsigned char *p = (const unsigned char *)s;
        w = (uint64_t)p[0] << 32 | (uint64_t)p[n / 2] << 16 | p[n - 1];
    }
    return tf_table_mix(key, h, w);
}

/* The number of slots for n entries, at most half full. */
static inline size_t tf_table_slots(size_t n)
{
    size_t s = 64;
    while (s < 2 * n)
        s *= 2;
    return s;
}

#endif
