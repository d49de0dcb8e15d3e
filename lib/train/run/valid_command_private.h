/* valid_command_private.h - the user's own measure of a model: the command of --valid-command. */
#ifndef TF_TRAIN_RUN_VALID_COMMAND_PRIVATE_H
#define TF_TRAIN_RUN_VALID_COMMAND_PRIVATE_H

#include "base/shell.h"
#include "train/run/running_private.h"

/* Write the model of this boundary to valid.tfm, run the command, remove the file. *metric is the
 * number that its output means (base/measure_private.h); NAN, with a warning, when there is none or
 * the command failed; text [TF_SHELL_TEXT]: what it printed before. Returns 0; TF_RUN_NO_BATCH when
 * a signal stopped the run, which also ended the command; -1. */
int tf_run_valid_command(struct tf_run *r, double *metric, char *text,
                         struct tf_err *err) TF_MUST_CHECK;

#endif
