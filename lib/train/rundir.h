/* rundir.h - the directory of a run: ckpt-%08d.tfm at regular steps (multiples of --save-every, and
 * the last), resume.tfm for saves at other times, best.tfm, lock, log.jsonl. */
#ifndef TF_TRAIN_RUNDIR_H
#define TF_TRAIN_RUNDIR_H

#include "train/state.h"

#define TF_RUN_BEST "best.tfm"
#define TF_RUN_RESUME "resume.tfm"
#define TF_RUN_LOG "log.jsonl"
#define TF_RUN_LOCK "lock"

struct tf_rundir {
    char *path;
    int lock; /* descriptor that holds the lock */
};

/* Create the directory if needed, lock it (TF_AGAIN, "in use by process N", when it is locked), and
 * remove temporary files that killed runs left. Refuses a lock or log that is no regular file or
 * that no run wrote. */
int tf_rundir_open(struct tf_rundir *d, const char *path, struct tf_err *err) TF_MUST_CHECK;
/* Is the lock still the file of that name? If not, another run may have locked the new one:
 * TF_AGAIN.
 */
int tf_rundir_check_lock(const struct tf_rundir *d, struct tf_err *err) TF_MUST_CHECK;
void tf_rundir_close(struct tf_rundir *d);
/* DIR/NAME, on the heap. */
char *tf_rundir_file(const char *dir, const char *name);
char *tf_rundir_regular_name(uint64_t step); /* "ckpt-%08d.tfm", on the heap */
/* Does the path name one of the run's own files (a checkpoint, the log, the lock), existing or not?
 */
bool tf_rundir_owns(const char *dir, const char *path);

/* The regular checkpoints of a directory, ascending by the step in the name. */
struct tf_checkpoint_list {
    struct tf_checkpoint_file {
        char *path;
        uint64_t step;
    } * v;
    size_t n;
};
int tf_rundir_list(struct tf_checkpoint_list *l, const char *dir, struct tf_err *err) TF_MUST_CHECK;
void tf_checkpoint_list_sort(struct tf_checkpoint_list *l); /* after changing steps */
void tf_checkpoint_list_release(struct tf_checkpoint_list *l);

/* The newest readable checkpoint, by the step inside; damaged ones, and models that are not
 * checkpoints, are skipped with a warning. 1: *m, *s and *path (heap) describe it; 0: there is
 * none; -1: there are some, but none can be read. */
int tf_rundir_newest(const char *dir, struct tf_model_file *m, struct tf_run_state *s, char **path,
                     struct tf_err *err) TF_MUST_CHECK;

/* Make DIR/best.tfm a hard link to a file of the directory, or a copy where the file system has no
 * links. */
int tf_rundir_make_best(const char *dir, const char *path, struct tf_err *err) TF_MUST_CHECK;
/* Is there a best.tfm of that step? */
bool tf_rundir_best_is(const char *dir, uint64_t step);
/* After a save at `step`: delete the regular checkpoint before it when its step is not a multiple
 * of `every`, and the oldest up to that step until `keep` are left (0: keep all); best.tfm keeps
 * its data. Also delete a resume.tfm that is not newer; one whose step can't be read stays. */
int tf_rundir_retain(const char *dir, uint64_t keep, uint64_t every, uint64_t step,
                     struct tf_err *err) TF_MUST_CHECK;

#endif
