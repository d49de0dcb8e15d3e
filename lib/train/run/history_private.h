/* history_private.h - what a run did before it was resumed, from its log. */
#ifndef TF_TRAIN_RUN_HISTORY_PRIVATE_H
#define TF_TRAIN_RUN_HISTORY_PRIVATE_H

#include "base/input.h"
#include "train/run/collapse_private.h"

/* A regular checkpoint; every: the --save-every of the start that wrote it; 0: unknown, or it saved
 * by time. */
struct tf_regular {
    uint64_t step, every;
};

/* Add the validations in the log to *c, unless c is NULL: those on the data that the run validated
 * on last. Find at[i].every of each at[i].step; where there is none, it stays. Lines that
 * are not JSON are skipped. */
int tf_history_read(struct tf_collapse *c, struct tf_regular *at, size_t n_at, struct tf_in *log,
                    struct tf_err *err) TF_MUST_CHECK;

#endif
