/* update_private.h - one update: batches from the feed into the stepper, then Adam. */
#ifndef TF_TRAIN_RUN_UPDATE_PRIVATE_H
#define TF_TRAIN_RUN_UPDATE_PRIVATE_H

#include "train/run/running_private.h"

/* On any other return than 0, weights and r->state are those of the last boundary. */
int tf_run_update(struct tf_run *r, struct tf_err *err) TF_MUST_CHECK;

#endif
