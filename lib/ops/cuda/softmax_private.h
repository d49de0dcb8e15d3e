/* softmax_private.h - a row's softmax by a block, as softmax.cu and search.cu go about it: the same
 * sums in the same order. */
#ifndef TF_OPS_CUDA_SOFTMAX_PRIVATE_H
#define TF_OPS_CUDA_SOFTMAX_PRIVATE_H

#include "device_private.h"

/* Threads for a row of V: a function of V alone, as the order of the sums is. */
static inline unsigned row_threads(int V)
{
    unsigned n = (unsigned)V / 16 / 32 * 32;
    return n < 32 ? 32 : n > 1024 ? 1024 : n;
}

/* And of a shortlist, which may have any length. */
enum { LISTED_THREADS = 256 };

/* What a thread has seen: the largest logit, and the sum of exp(x - max). */
struct seen {
    float max, sum;
};

__device__ static inline void see(struct seen &s, const float *x, int n)
{
    float top = s.max;
    for (int i = 0; i < n; i++)
        top = fmaxf(top, x[i]);
    if (top > s.max) {
        s.sum *= expf(s.max - top);
        s.max = top;
    }
    float base = s.max == -INFINITY ? 0 : s.max;
    for (int i = 0; i < n; i++)
        s.sum += expf(x[i] - base);
}

/* Those of all threads of the block, for each of them. room: shared, 32. */
__device__ static inline struct seen seen_by_block(const struct seen &s, float *room)
{
    float max = block_max(s.max, room);
    return {max, block_sum(s.sum == 0 ? 0 : s.sum * expf(s.max - max), room)};
}

#endif
