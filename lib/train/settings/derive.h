/* derive.h - settings that follow from others, and combinations that make no sense. */
#ifndef TF_TRAIN_SETTINGS_DERIVE_H
#define TF_TRAIN_SETTINGS_DERIVE_H

#include "train/settings/settings.h"

/* After all options are parsed: derive those that follow from others (d_k and d_v from d_model and
 * heads, ...) and refuse combinations that make no sense (TF_USAGE). opts: which were given. model:
 * that of --init, or NULL. */
int tf_settings_derive(struct tf_settings *s, struct tf_opt *opts, const struct tf_config *model,
                       struct tf_err *err) TF_MUST_CHECK;

#endif
