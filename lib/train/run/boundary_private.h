/* boundary_private.h - between two updates: validate, save, stop. */
#ifndef TF_TRAIN_RUN_BOUNDARY_PRIVATE_H
#define TF_TRAIN_RUN_BOUNDARY_PRIVATE_H

#include "train/run/running_private.h"

/* Validate, save and stop, whatever is due. */
int tf_run_boundary(struct tf_run *r, struct tf_err *err) TF_MUST_CHECK;
/* Save what is not saved yet, and wait until it is. */
int tf_run_save_rest(struct tf_run *r, struct tf_err *err) TF_MUST_CHECK;
/* The run stops here because of a signal, or is complete for this reason. */
int tf_run_stop(struct tf_run *r, struct tf_err *err) TF_MUST_CHECK;
int tf_run_complete(struct tf_run *r, const char *reason, struct tf_err *err) TF_MUST_CHECK;

#endif
