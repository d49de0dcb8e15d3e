/* rundir.h - the directory of a run: ckpt-%08d.tfm at regular steps (multiples of --save-every, and
 * the last), resume.tfm for saves at other times, best.tfm, lock, log.jsonl. */
#ifndef TF_TRAIN_STORE_RUNDIR_H
#define TF_TRAIN_STORE_RUNDIR_H

#include "base/input.h"
#include "base/output.h"
#include "train/store/state.h"

#define TF_RUN_BEST "best.tfm"
#define TF_RUN_RESUME "resume.tfm"
#define TF_RUN_LOG "log.jsonl"
#define TF_RUN_LOCK "lock"

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
/* DIR/NAME, on the heap. */
char *tf_rundir_file(const char *dir, const char *name);
char *tf_rundir_regular_name(uint64_t step); /* "ckpt-%08d.tfm", on the heap */
/* Does the path name one of the run's own files (a checkpoint, the log, the lock), existing or not?
 * 1 or 0; -1 when a directory that exists cannot be read. */
int tf_rundir_owns(const char *dir, const char *path, struct tf_err *err) TF_MUST_CHECK;

/* The regular checkpoints of a directory, ascending by the step in the name, which is exactly
 * tf_rundir_regular_name of that step. */
struct tf_checkpoint_list {
    struct tf_checkpoint_file {
        char *path;
        uint64_t step;
    } * v;
    size_t n;
};
int tf_rundir_list(struct tf_checkpoint_list *l, const char *dir, struct tf_err *err) TF_MUST_CHECK;
/* Does the checkpoint contain the step of its name? A copy under another name would be taken for
 * newer or older than it is, or counted twice. */
int tf_checkpoint_check_step(const struct tf_checkpoint_file *f, uint64_t step,
                             struct tf_err *err) TF_MUST_CHECK;
void tf_checkpoint_list_release(struct tf_checkpoint_list *l);

/* The newest checkpoint, by the step in the name of regular ones and inside the others; damaged
 * ones, and models that are not checkpoints, are skipped with a warning. 1: *m, *s and *path (heap)
 * describe it; 0: there is none; -1: there are some, but none can be read, or a failure that is no
 * damage (permissions, input/output, a link that leads nowhere, memory) leaves open whether it is
 * the newest, or the newest has another step than its name. */
int tf_rundir_newest(const struct tf_rundir *d, struct tf_model_file *m, struct tf_run_state *s,
                     char **path, struct tf_err *err) TF_MUST_CHECK;

/* Make DIR/best.tfm a hard link to a file of the directory, or a copy where the file system has no
 * links. */
int tf_rundir_make_best(const struct tf_rundir *d, const char *path,
                        struct tf_err *err) TF_MUST_CHECK;
/* Is there a best.tfm of that step? */
bool tf_rundir_best_is(const struct tf_rundir *d, uint64_t step);
/* After a save at `step`: delete the regular checkpoint before it when its step is not a multiple
 * of `every`, and the oldest up to that step until `keep` are left (0: keep all); best.tfm keeps
 * its data. Also delete a resume.tfm that is not newer; one whose step can't be read stays. */
int tf_rundir_retain(const struct tf_rundir *d, uint64_t keep, uint64_t every, uint64_t step,
                     struct tf_err *err) TF_MUST_CHECK;

#endif
