/* collapse_private.h - does the model predict anything? With too high a learning rate a Transformer
 * falls back, within a few updates, to one and the same prediction at every position, and stays
 * there; nothing diverges.
 *
 * Such a model has two properties on any data: its loss is at least the entropy of the frequencies
 * of the target tokens, and its accuracy is at most the frequency of the most frequent one. Every
 * model begins like this, so it is a collapse only
 * - if the model did better before, or
 * - if it stays so after updates that should have changed it: enough of them, with learning rates
 *   of a high enough sum.
 * A single validation may be a spike from which the model recovers: it takes two in a row.
 * Overfitting is none of this: the loss rises while the accuracy stays. */
#ifndef TF_TRAIN_RUN_COLLAPSE_PRIVATE_H
#define TF_TRAIN_RUN_COLLAPSE_PRIVATE_H

#include "train/step/schedule.h"

#include <stddef.h>

/* What the target tokens of the validation data are like, EOS included. */
struct tf_token_stats {
    double entropy; /* of the distribution that they are a sample of, nats (Miller, 1955) */
    double top;     /* frequency of the most frequent one */
};
/* From the number of times that each of n ids occurs. */
struct tf_token_stats tf_token_stats_of(const uint64_t *count, size_t n);

enum tf_collapse_kind {
    TF_COLLAPSE_NONE,
    TF_COLLAPSE_LOST,  /* the model did better before */
    TF_COLLAPSE_STUCK, /* it never did better */
};

struct tf_collapse {
    struct tf_token_stats data;
    uint64_t ripe;   /* the update after which a model should do better */
    double nll, acc; /* the best so far of each */
    int bad;         /* the latest validations in a row that suggest a collapse */
};

/* Begin with no validation. steps: those of the run. */
void tf_collapse_init(struct tf_collapse *c, const struct tf_token_stats *data,
                      const struct tf_schedule *schedule, uint64_t steps);
/* Count a validation: nats per token without label smoothing, share of correct tokens. */
enum tf_collapse_kind tf_collapse_add(struct tf_collapse *c, uint64_t step, double nll, double acc);

#endif
