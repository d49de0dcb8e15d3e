/* run.h - a training run: to the end of the stream with checkpoints, validation and resumption. */
#ifndef TF_TRAIN_RUN_RUN_H
#define TF_TRAIN_RUN_RUN_H

#include "train/run/env.h"
#include "train/settings/settings.h"

struct tf_sandbox;

/* What a run needs besides the files of its options (struct tf_tool, base/opt.h). */
void tf_run_widen(struct tf_sandbox *sandbox, const struct tf_settings *o, enum tf_comm_use use);

/* With --valid-command: start what will run it, before the sandbox is entered. */
void tf_run_start_shell(struct tf_shell *shell, const struct tf_settings *o);

/* Run to the end. 0; TF_AGAIN after USR2, and with a team after any signal that stops it; -1 with
 * err->status TF_FAILED, TF_DIVERGED, TF_AGAIN (directory in use) ... After a stop by TERM, INT or
 * HUP everything is saved and released and 0 is returned; the caller then calls tf_signals_reraise.
 */
int tf_run(const struct tf_settings *o, const struct tf_run_env *env,
           struct tf_err *err) TF_MUST_CHECK;

#endif
