/* resume_private.h - the checkpoint that a run continues from: found, compared with what is
 * requested now, loaded. */
#ifndef TF_TRAIN_RUN_RESUME_PRIVATE_H
#define TF_TRAIN_RUN_RESUME_PRIVATE_H

#include "train/run/setup_private.h"

struct tf_resume {
    char *path; /* NULL: a new run */
    struct tf_model_file file;
    struct tf_run_state state; /* without the best so far when the measure of the best changed */
    bool regular;              /* it is the regular checkpoint of its step, not resume.tfm */
    bool overridden;           /* --force accepted settings other than the checkpoint's */
    bool other_kernels;        /* among them the kernels that computed it */
};

/* Find tf_rundir_newest of d. 0 also when there is none. */
int tf_resume_find(struct tf_resume *r, const struct tf_rundir *d,
                   struct tf_err *err) TF_MUST_CHECK;
void tf_resume_release(struct tf_resume *r);

/* Is nothing left to train? A run that was stopped at its last step boundary has all of its updates
 * but lacks its last checkpoint: it is not finished. */
bool tf_resume_finished(const struct tf_resume *r, const struct tf_settings *o);

/* Refuse what would silently turn this run into a different one: another vocabulary, configuration,
 * setting, batching or --init. With --force, differences are warnings and set r->overridden. What a
 * checkpoint records and the options leave open (--init, best_by) is copied into s->common. */
int tf_resume_compare(struct tf_resume *r, struct tf_setup *s, struct tf_err *err) TF_MUST_CHECK;
/* Then take over weights, optimiser state, vocabulary and provenance. */
int tf_resume_load(const struct tf_resume *r, struct tf_setup *s, struct tf_start_weights *w,
                   struct tf_err *err) TF_MUST_CHECK;

/* Link best.tfm to the checkpoint when a killed run had no time to. */
int tf_resume_repair_best(const struct tf_resume *r, const struct tf_rundir *d,
                          struct tf_err *err) TF_MUST_CHECK;

#endif
