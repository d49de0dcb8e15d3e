/* rundir.h - the directory of a run: ckpt-%08d.tfm at regular steps (multiples of --save-every, or
 * by the clock, and the last), resume.tfm for saves at other times, best.tfm, lock, log.jsonl. */
#ifndef TF_TRAIN_STORE_RUNDIR_H
#define TF_TRAIN_STORE_RUNDIR_H

#include "base/input.h"
#include "base/output.h"
#include "stream/model.h"
#include "train/store/checkpoint_list.h"

/* All work on it is relative to its descriptor: when another directory takes its name, nothing is
 * written there. Messages name its files as the user does, by path. */
struct tf_rundir {
    char *path;
    int fd;
    int lock;    /* descriptor of the lock */
    bool locked; /* by this one */
};

/* Create the directory if needed, lock it (TF_AGAIN, "in use by process N", when it is locked), and
 * remove temporary files that killed runs left. Until it is closed, the lock contains the process
 * id and a line feed; afterwards it is empty. Refuses a lock or log that is no regular file or
 * that no run wrote. */
int tf_rundir_open(struct tf_rundir *d, const char *path, struct tf_err *err) TF_MUST_CHECK;
/* Is the lock still the file of that name? If not, another run may have locked the new one:
 * TF_AGAIN.
 */
int tf_rundir_check_lock(const struct tf_rundir *d, struct tf_err *err) TF_MUST_CHECK;
/* After a failure: if the lock is lost, that is the reason, since the run that has it now removes
 * our temporary files; it takes the error's place. Returns -1. */
int tf_rundir_failed(const struct tf_rundir *d, struct tf_err *err) TF_MUST_CHECK;
void tf_rundir_close(struct tf_rundir *d);
/* Open a file of the directory: a descriptor, or -1; err->sys is ENOENT if there is none. flags: of
 * open(2). Refuses what is no regular file, without waiting for a FIFO. With O_NOFOLLOW, a link is
 * refused as no file of a run. */
int tf_rundir_open_file(const struct tf_rundir *d, const char *name, int flags,
                        struct tf_err *err) TF_MUST_CHECK;
/* Open it as an input; flags: O_NOFOLLOW or 0. */
int tf_rundir_input(const struct tf_rundir *d, struct tf_in *in, const char *name, int flags,
                    struct tf_err *err) TF_MUST_CHECK;
/* tf_out_open_at of a file of the directory, which is closed after the output. */
int tf_rundir_create(const struct tf_rundir *d, struct tf_out *out, const char *name,
                     struct tf_err *err) TF_MUST_CHECK;
/* tf_model_read of a file of the directory. A link is followed: a checkpoint may be on another
 * disk. */
int tf_rundir_read(const struct tf_rundir *d, const char *name, struct tf_model_file *m,
                   unsigned flags, struct tf_err *err) TF_MUST_CHECK;
/* Its entries, in a stream of its own: reading them from the start leaves d->fd alone. NULL, with
 * errno. */
DIR *tf_rundir_entries(const struct tf_rundir *d);
/* Does the path name one of the run's own files (a checkpoint, the log, the lock), existing or not?
 * 1 or 0; -1 when a directory that exists cannot be read. */
int tf_rundir_owns(const char *dir, const char *path, struct tf_err *err) TF_MUST_CHECK;

#endif
