/* rng.c - Philox4x32-10 and sequential numbers from it. Every result depends on the order of
 * draws: never change it. */
#include "base/rng.h"

#include <math.h>

void tf_philox(uint32_t out[4], const uint32_t counter[4], uint64_t key)
{
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    for (int round = 0; round < 10; round++) {
        uint64_t p0 = (uint64_t)0xd2511f53 * c0, p1 = (uint64_t)0xcd9e8d57 * c2;
        c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)p1;
        c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)p0;
        k0 += 0x9e3779b9; /* golden ratio */
        k1 += 0xbb67ae85; /* sqrt(3) - 1 */
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

struct tf_rng tf_rng_new(uint64_t seed, uint64_t stream)
{
    return (struct tf_rng){.key = seed, .stream = stream};
}

uint32_t tf_rng_u32(struct tf_rng *r)
{
    if (r->left == 0) {
        const uint32_t counter[4] = {(uint32_t)r->i, (uint32_t)(r->i >> 32), (uint32_t)r->stream,
                                     (uint32_t)(r->stream >> 32)};
        tf_philox(r->out, counter, r->key);
        r->i++;
        r->left = 4;
    }
    return r->out[4 - r->left--];
}

uint64_t tf_rng_u64(struct tf_rng *r)
{
    uint64_t low = tf_rng_u32(r);
    return low | (uint64_t)tf_rng_u32(r) << 32;
}

uint64_t tf_rng_below(struct tf_rng *r, uint64_t n)
{
    uint64_t surplus = -n % n; /* 2^64 mod n: these values would make small results more likely */
    uint64_t x;
    do
        x = tf_rng_u64(r);
    while (x < surplus);
    return x % n;
}

void tf_rng_shuffle(struct tf_rng *r, uint32_t *v, size_t n)
{
    for (size_t i = n; i > 1; i--) {
        size_t k = (size_t)tf_rng_below(r, i);
        uint32_t x = v[i - 1];
        v[i - 1] = v[k];
        v[k] = x;
    }
}

double tf_rng_real(struct tf_rng *r)
{
    return (double)(tf_rng_u64(r) >> 11) * 0x1p-53;
}

double tf_rng_normal(struct tf_rng *r)
{
    double u = 1 - tf_rng_real(r); /* (0, 1]: its logarithm is finite */
    double v = tf_rng_real(r);
    return sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
}
