/* fake_model.h - log-probabilities of a hash of sentence and history, so that every hypothesis has
 * its own distribution and no tensor is needed. */
#ifndef TF_TESTS_FAKE_MODEL_H
#define TF_TESTS_FAKE_MODEL_H

#include <stddef.h>
#include <stdint.h>

struct fake {
    size_t V;
    uint64_t seed;
    int levels;   /* > 0: unnormalised multiples of -1/2, full of ties */
    double holes; /* share of ids at -inf, inf or NaN */
    double rare;  /* with levels: share of ids that stand out, all else being equal */
};

/* lp [V] after a history. */
void distribution(float *lp, const struct fake *f, uint64_t key, const uint32_t *ids, size_t n);

#endif
