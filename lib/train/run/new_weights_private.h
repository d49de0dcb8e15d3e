/* new_weights_private.h - the weights of a run that does not resume: random, or another model's. */
#ifndef TF_TRAIN_RUN_NEW_WEIGHTS_PRIVATE_H
#define TF_TRAIN_RUN_NEW_WEIGHTS_PRIVATE_H

#include "train/run/setup_private.h"

/* By --seed, or those of the model of --init; adds the run's first stage to the provenance. */
int tf_setup_new_weights(struct tf_setup *s, struct tf_start_weights *w,
                         struct tf_err *err) TF_MUST_CHECK;

#endif
