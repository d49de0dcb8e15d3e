/* checkpoint_list.h - the files of a run by their names, and its regular checkpoints in
 * order. */
#ifndef TF_TRAIN_STORE_CHECKPOINT_LIST_H
#define TF_TRAIN_STORE_CHECKPOINT_LIST_H

#include "base/err.h"
#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TF_RUN_BEST "best.tfm"
#define TF_RUN_RESUME "resume.tfm"
#define TF_RUN_VALID "valid.tfm" /* the model for --valid-command, while that runs */
#define TF_RUN_LOG "log.jsonl"
#define TF_RUN_LOCK "lock"

/* DIR/NAME, on the heap. */
char *tf_rundir_file(const char *dir, const char *name);
char *tf_rundir_regular_name(uint64_t step); /* "ckpt-%08d.tfm", on the heap */
/* Is it the very name that we give to the checkpoint of a step? */
bool tf_rundir_regular_step(const char *name, uint64_t *step);
/* The next entry: 1; 0 at the end; -1, with errno. */
int tf_next_entry(DIR *d, struct dirent **e);

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
/* The same of a directory that is open, which is closed; NULL: opening it failed. dir: its path. */
int tf_rundir_list_of(struct tf_checkpoint_list *l, DIR *d, const char *dir,
                      struct tf_err *err) TF_MUST_CHECK;
/* Does the checkpoint contain the step of its name? A copy under another name would be taken for
 * newer or older than it is, or counted twice. */
int tf_checkpoint_check_step(const struct tf_checkpoint_file *f, uint64_t step,
                             struct tf_err *err) TF_MUST_CHECK;
void tf_checkpoint_list_release(struct tf_checkpoint_list *l);

#endif
