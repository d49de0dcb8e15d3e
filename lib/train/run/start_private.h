/* start_private.h - setup and checkpoint become a run that is ready for its first batch. */
#ifndef TF_TRAIN_RUN_START_PRIVATE_H
#define TF_TRAIN_RUN_START_PRIVATE_H

#include "train/run/running_private.h"

/* Everything up to the first batch. TF_RUN_ENDED: the run was finished already. */
int tf_run_start(struct tf_run *r, struct tf_err *err) TF_MUST_CHECK;
void tf_run_release(struct tf_run *r);

#endif
