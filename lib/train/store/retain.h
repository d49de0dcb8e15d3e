/* retain.h - best.tfm, and the checkpoints that are kept. */
#ifndef TF_TRAIN_STORE_RETAIN_H
#define TF_TRAIN_STORE_RETAIN_H

#include "train/store/rundir.h"

/* Make DIR/best.tfm a hard link to a file of the directory, or a copy where the file system has no
 * links. */
int tf_rundir_make_best(const struct tf_rundir *d, const char *path,
                        struct tf_err *err) TF_MUST_CHECK;
/* Is there a best.tfm of that step? */
bool tf_rundir_best_is(const struct tf_rundir *d, uint64_t step);
/* After a save at `step`: delete the checkpoint before it if it is of step `end` (0: none), an
 * earlier end of the run at which one that never stopped would have none, and the oldest up to
 * that step until `keep` are left (0: keep all); best.tfm keeps its data. Also delete a resume.tfm
 * that is not newer; one whose step can't be read stays. */
int tf_rundir_retain(const struct tf_rundir *d, uint64_t keep, uint64_t end, uint64_t step,
                     struct tf_err *err) TF_MUST_CHECK;

#endif
