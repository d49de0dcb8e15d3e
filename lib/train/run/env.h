/* env.h - what a run works with besides its settings. */
#ifndef TF_TRAIN_RUN_ENV_H
#define TF_TRAIN_RUN_ENV_H

#include "base/opt.h"
#include "base/shell.h"
#include "train/ranks/team.h"
#include "train/run/start_model.h"

/* All borrowed. */
struct tf_run_env {
    struct tf_start_model *from; /* the model of --init, whose tensors are freed once they are
                                  * loaded; NULL without it */
    struct tf_team *team;        /* NULL: a process of its own */
    struct tf_shell *shell;      /* of --valid-command; NULL without it */
    const struct tf_opt *opts;   /* for the provenance */
    const char *const *command;  /* argv, for the log */
};

/* Did this process, or as of the last vote another rank, get a signal that stops the run? */
bool tf_run_stopping(const struct tf_run_env *env);
/* The same for one that requests a save, which is then forgotten. */
bool tf_run_take_save_request(const struct tf_run_env *env);

#endif
