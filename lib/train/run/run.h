/* run.h - a training run: to the end of the stream with checkpoints, validation and resumption. */
#ifndef TF_TRAIN_RUN_RUN_H
#define TF_TRAIN_RUN_RUN_H

#include "train/settings/settings.h"
#include "train/run/start_model.h"
#include "train/ranks/team.h"

struct tf_sandbox;

/* What a run works with besides its settings. All borrowed. */
struct tf_run_env {
    struct tf_start_model *from; /* the model of --init, whose tensors are freed once they are
                                  * loaded; NULL without it */
    struct tf_team *team;        /* NULL: a process of its own */
    const struct tf_opt *opts;   /* for the provenance */
    const char *const *command;  /* argv, for the log */
};

/* What a run needs besides the files of its options (struct tf_tool, base/opt.h). */
void tf_run_widen(struct tf_sandbox *sandbox, const struct tf_settings *o, enum tf_comm_use use);

/* Run to the end. 0; TF_AGAIN after USR2, and with a team after any signal that stops it; -1 with
 * err->status TF_FAILED, TF_DIVERGED, TF_AGAIN (directory in use) ... After a stop by TERM, INT or
 * HUP everything is saved and released and 0 is returned; the caller then calls tf_signals_reraise.
 */
int tf_run(const struct tf_settings *o, const struct tf_run_env *env,
           struct tf_err *err) TF_MUST_CHECK;

/* Measure the matrix products of this configuration on the first batches of the input, and write
 * the choices to `path` as a file for o->tuning. Trains nothing and needs no directory. */
int tf_run_tune(const struct tf_settings *o, const struct tf_run_env *env, const char *path,
                struct tf_err *err) TF_MUST_CHECK;

#endif
