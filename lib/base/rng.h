/* rng.h - random numbers as pure functions of (key, counter): no state to save, no order to
 * keep. */
#ifndef TF_BASE_RNG_H
#define TF_BASE_RNG_H

#include <stddef.h>
#include <stdint.h>

#define TF_SEED_MAX 9007199254740992.0 /* 2^53: exact in every JSON reader */

/* Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011): 4 words
 * from a 128-bit counter and a 64-bit key.
 * Key = seed (low word first). The same bits on every backend. */
void tf_philox(uint32_t out[4], const uint32_t counter[4], uint64_t key);

/* Sequential random numbers from Philox, for shuffles and initial weights: key = seed, counter = (i
 * low, i high, stream low, stream high). */
struct tf_rng {
    uint64_t key, stream, i;
    uint32_t out[4];
    unsigned left;
};
struct tf_rng tf_rng_new(uint64_t seed, uint64_t stream);
uint32_t tf_rng_u32(struct tf_rng *r);
uint64_t tf_rng_u64(struct tf_rng *r);
/* Uniform in [0, n), n >= 1, unbiased (by rejection). */
uint64_t tf_rng_below(struct tf_rng *r, uint64_t n);
/* Bring v[0 .. n) into random order (Fisher-Yates, from the end). */
void tf_rng_shuffle(struct tf_rng *r, uint32_t *v, size_t n);
double tf_rng_real(struct tf_rng *r); /* uniform in [0, 1), 53 bits */
/* Standard normal (Box-Muller). */
double tf_rng_normal(struct tf_rng *r);

#endif
