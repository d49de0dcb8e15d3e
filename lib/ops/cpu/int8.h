/* int8.h - the entries of the CPU backend for decoding in 8 bits, compiled once per set of instructions (kern_int8.c says how it is computed), and the rounding that all share. */
#ifndef TF_OPS_CPU_INT8_H
#define TF_OPS_CPU_INT8_H

#include "ops/cpu/kern.h"

#include <string.h>

/* Contracts: pack and linear_packed of ops/backend.h. */
struct tf_cpu_int8 {
    struct tf_packed *(*pack)(const float *w, int K, int N, bool transposed, struct tf_err *err);
    void (*pack_free)(struct tf_packed *p);
    void (*linear)(struct tf_ctx *c, float *y, const float *x, const struct tf_packed *w, const float *b, size_t rows, unsigned flags);
};

extern const struct tf_cpu_int8 tf_cpu_int8_generic;
#ifndef TF_ONLY_GENERIC
extern const struct tf_cpu_int8 tf_cpu_int8_avx2, tf_cpu_int8_avxvnni, tf_cpu_int8_avx512, tf_cpu_int8_avx512vnni;
#endif

#define TF_CPU_ROUND 12582912.0f /* 1.5 * 2^23: adding it rounds to an integer, ties to even, and leaves that in the low bits */

/* What makes the largest magnitude 127: 0 where that is not finite, or as good as 0. */
static inline float tf_cpu_int8_factor(float max)
{
    return max > 1e-30f ? 127 / max : 0;
}

static inline uint32_t tf_cpu_int8_round(float x)
{
    const float magic = TF_CPU_ROUND, sum = x + magic;
    uint32_t a, b;
    memcpy(&a, &sum, sizeof a);
    memcpy(&b, &magic, sizeof b);
    return a - b;
}

#endif
