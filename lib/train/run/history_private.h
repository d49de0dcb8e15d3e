/* history_private.h - the validations of a run before it was resumed, from its log. */
#ifndef TF_TRAIN_RUN_HISTORY_PRIVATE_H
#define TF_TRAIN_RUN_HISTORY_PRIVATE_H

#include "base/input.h"
#include "train/run/collapse_private.h"

/* Add the validations in the log to *c, those on the data that the run validated on last. Lines
 * that are not JSON are skipped. */
int tf_history_read(struct tf_collapse *c, struct tf_in *log, struct tf_err *err) TF_MUST_CHECK;

#endif
