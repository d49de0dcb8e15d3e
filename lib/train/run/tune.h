/* tune.h - measuring the matrix products of a configuration (--tune). */
#ifndef TF_TRAIN_RUN_TUNE_H
#define TF_TRAIN_RUN_TUNE_H

#include "train/run/env.h"
#include "train/settings/settings.h"

/* Measure on the first batches of the input, and write the choices to `path` as a file for
 * o->tuning. Trains nothing and needs no directory. */
int tf_run_tune(const struct tf_settings *o, const struct tf_run_env *env, const char *path,
                struct tf_err *err) TF_MUST_CHECK;

#endif
