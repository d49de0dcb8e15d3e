/* newest.h - the checkpoint that a run resumes from. */
#ifndef TF_TRAIN_STORE_NEWEST_H
#define TF_TRAIN_STORE_NEWEST_H

#include "train/store/rundir.h"
#include "train/store/state.h"

/* The newest checkpoint, by the step in the name of regular ones and inside the others; damaged
 * ones, and models that are not checkpoints, are skipped with a warning. 1: *m, *s and *path (heap)
 * describe it; 0: there is none; -1: there are some, but none can be read, or a failure that is no
 * damage (permissions, input/output, a link that leads nowhere, memory) leaves open whether it is
 * the newest, or the newest has another step than its name. */
int tf_rundir_newest(const struct tf_rundir *d, struct tf_model_file *m, struct tf_run_state *s,
                     char **path, struct tf_err *err) TF_MUST_CHECK;
/* Read the step of a file that has none in its name: resume.tfm, best.tfm. False when there is no
 * such file, and the path is NULL; *why is set when the step can't be read. */
bool tf_rundir_peek(struct tf_checkpoint_file *f, const struct tf_rundir *d, const char *name,
                    struct tf_err *why);

#endif
