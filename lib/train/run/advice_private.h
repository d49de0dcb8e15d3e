/* advice_private.h - the learning rate that messages about a run suggest. */
#ifndef TF_TRAIN_RUN_ADVICE_PRIVATE_H
#define TF_TRAIN_RUN_ADVICE_PRIVATE_H

#include "base/buf.h"
#include "train/settings/settings.h"

/* Append the peak of the schedule and its update, and an option that gives a lower peak. width: the
 * model's d_model. */
void tf_advise_rate(struct tf_buf *b, const struct tf_settings *o, int64_t width);

#endif
