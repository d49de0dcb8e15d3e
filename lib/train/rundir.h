/* rundir.h - the directory of a run: ckpt-%08d.tfm on the grid of steps, resume.tfm between,
 * best.tfm, lock, log.jsonl. */
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

/* Make the directory when it is missing, take its lock (status 75, "in use by process N", when
 * another has it), remove what temporaries of its own files killed runs left. */
int tf_rundir_open(struct tf_rundir *d, const char *path, struct tf_err *err) TF_MUST_CHECK;
void tf_rundir_close(struct tf_rundir *d);
/* DIR/NAME, on the heap. */
char *tf_rundir_file(const char *dir, const char *name);
char *tf_rundir_grid_name(uint64_t step); /* "ckpt-%08d.tfm", on the heap */
/* Is the path a file of the run's own (a checkpoint, the log, the lock), or would it become one? */
bool tf_rundir_owns(const char *dir, const char *path);

/* The grid checkpoints of a directory by name, ascending by the step in the name. */
struct tf_grid_list {
    struct tf_grid_file {
        char *path;
        uint64_t step;
    } *v;
    size_t n;
};
int tf_rundir_grid(struct tf_grid_list *l, const char *dir, struct tf_err *err) TF_MUST_CHECK;
void tf_grid_list_sort(struct tf_grid_list *l); /* again, after steps have changed */
void tf_grid_list_release(struct tf_grid_list *l);

/* The newest checkpoint that can be read, by the step inside; damaged ones, and models that are no
 * checkpoints, are passed over with a warning. 1: *m, *s and *path (heap) are it; 0: there is none;
 * -1: there are some, but none can be read. */
int tf_rundir_newest(const char *dir, struct tf_model_file *m, struct tf_run_state *s, char **path,
                     struct tf_err *err) TF_MUST_CHECK;

/* Make DIR/best.tfm another name of a file of the directory, or a copy where a file can't have
 * two. */
int tf_rundir_make_best(const char *dir, const char *path, struct tf_err *err) TF_MUST_CHECK;
/* Is there a best.tfm of that step? */
bool tf_rundir_best_is(const char *dir, uint64_t step);
/* After a save at `step`: delete the checkpoint before it when its step is no multiple of `every`,
 * and the oldest grid checkpoints up to that step until `keep` are left (0: all stay); best.tfm
 * keeps its own data. Also delete a resume.tfm that is not newer; one that does not tell its step
 * stays. */
int tf_rundir_retain(const char *dir, uint64_t keep, uint64_t every, uint64_t step,
                     struct tf_err *err) TF_MUST_CHECK;

#endif
