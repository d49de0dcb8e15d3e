/* checkpoints_private.h - when a run saves, and under which name. */
#ifndef TF_TRAIN_RUN_CHECKPOINTS_PRIVATE_H
#define TF_TRAIN_RUN_CHECKPOINTS_PRIVATE_H

#include "train/run/running_private.h"

/* Start to save the state of this boundary. best (regular checkpoints): also make it best.tfm. */
int tf_run_save(struct tf_run *r, enum tf_save_kind kind, bool best,
                struct tf_err *err) TF_MUST_CHECK;
/* Write valid.tfm; waits. */
int tf_run_save_model(struct tf_run *r, struct tf_err *err) TF_MUST_CHECK;
/* Save resume.tfm when USR1 or --save-minutes requests it, or without save_every a regular
 * checkpoint for the latter. */
int tf_run_save_requested(struct tf_run *r, struct tf_err *err) TF_MUST_CHECK;
/* Report a save that ended, or wait until it has. */
int tf_run_poll_save(struct tf_run *r, struct tf_err *err) TF_MUST_CHECK;
int tf_run_wait_save(struct tf_run *r, struct tf_err *err) TF_MUST_CHECK;
/* The boundary is a multiple of `every` (0: never). */
bool tf_run_is_multiple(const struct tf_run *r, int64_t every);
/* A regular checkpoint of this boundary is due. */
bool tf_run_save_due(const struct tf_run *r);
/* Append the name of the last good checkpoint to *err. */
void tf_run_add_last_good(const struct tf_run *r, struct tf_err *err);

#endif
