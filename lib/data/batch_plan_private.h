/* batch_plan_private.h - which pairs go into which batch. A plan follows from the lengths of the
 * pairs, the options, the epoch and the window alone. */
#ifndef TF_DATA_BATCH_PLAN_PRIVATE_H
#define TF_DATA_BATCH_PLAN_PRIVATE_H

#include "data/corpus.h"

/* What shapes the batches. */
struct tf_batch_opts {
    uint64_t tokens;        /* most tokens of a batch on either side, EOS included */
    uint64_t max_sentences; /* most pairs of a batch; 0: any number */
    /* as Tensor2Tensor: a batch stays within one length bucket, and every pair counts as many
     * tokens as the longest of the bucket */
    bool padded;
    bool shuffle; /* false: batches in input order */
    uint64_t seed;
};

/* Batches of one window of pairs. Zero-initialised is empty. */
struct tf_batch_plan {
    uint32_t *order; /* the pairs, by position in the window, each as often as it comes */
    uint32_t *cut;   /* n_batches + 1: batch k is order[cut[k] .. cut[k + 1]) */
    uint32_t *turn;  /* n_batches: order in which the batches are written */
    size_t n_batches, cap, cut_cap;
};
/* Plan pairs[0 .. n): group them by length bucket in random order, cut where the budget is reached,
 * and shuffle the batches. Without shuffle, only cut. times: how often each pair comes, together
 * at most TF_CORPUS_RECORDS; NULL: once. The plan's memory is reused. */
void tf_batch_plan_make(struct tf_batch_plan *p, const struct tf_batch_opts *o,
                        const struct tf_pair *pairs, const uint16_t *times, size_t n,
                        uint64_t epoch, uint64_t window);
void tf_batch_plan_release(struct tf_batch_plan *p);

/* Upper end of the length bucket of `length`: 8, 12, 16, 24, 32, 48, ... */
uint64_t tf_bucket_end(uint64_t length);

#endif
