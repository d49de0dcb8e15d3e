/* sacrebleu_rng_private.h - the random numbers of numpy's default_rng(seed), bit for bit, with
 * which sacreBLEU resamples: SeedSequence and PCG64 (XSL RR 128/64; O'Neill, "PCG: a family of
 * simple fast space-efficient statistically good algorithms for random number generation",
 * 2014). */
#ifndef TF_METRICS_SACREBLEU_RNG_PRIVATE_H
#define TF_METRICS_SACREBLEU_RNG_PRIVATE_H

#include "base/err.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tf_numpy_rng {
    unsigned __int128 state, inc;
    uint32_t high; /* the unused half of the last 64 bits */
    bool has_high;
    uint32_t bits; /* the unused ones of tf_numpy_rng_bit */
    int nbits;
};

/* seed: decimal, up to 1024 bits; NULL: from the system. Errors name SACREBLEU_SEED. */
int tf_numpy_rng_seed(struct tf_numpy_rng *r, const char *seed, struct tf_err *err) TF_MUST_CHECK;
uint32_t tf_numpy_rng_u32(struct tf_numpy_rng *r);
/* out[i] in [0, below), as Generator.choice draws them (Lemire's method); below >= 1. */
void tf_numpy_rng_below(struct tf_numpy_rng *r, uint32_t *out, size_t n, uint32_t below);
/* The next bit, as Generator.integers(2, dtype=bool) draws it. */
static inline unsigned tf_numpy_rng_bit(struct tf_numpy_rng *r)
{
    if (!r->nbits) {
        r->bits = tf_numpy_rng_u32(r);
        r->nbits = 32;
    }
    unsigned bit = r->bits & 1;
    r->bits >>= 1;
    r->nbits--;
    return bit;
}

#endif
