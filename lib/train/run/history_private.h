/* history_private.h - what a run did before it was resumed, from its log. */
#ifndef TF_TRAIN_RUN_HISTORY_PRIVATE_H
#define TF_TRAIN_RUN_HISTORY_PRIVATE_H

#include "base/input.h"
#include "train/run/collapse_private.h"

/* Add the validations in the log to *c, unless c is NULL: those on the data that the run validated
 * on last. *every: the --save-every of the start that wrote the checkpoint of `step`; 0: unknown,
 * or it saved by time. Lines that are not JSON are skipped. */
int tf_history_read(struct tf_collapse *c, uint64_t *every, uint64_t step, struct tf_in *log,
                    struct tf_err *err) TF_MUST_CHECK;

#endif
