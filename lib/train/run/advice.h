/* advice.h - the commands that messages about a run suggest. */
#ifndef TF_TRAIN_RUN_ADVICE_H
#define TF_TRAIN_RUN_ADVICE_H

#include "base/buf.h"
#include "train/settings/settings.h"

/* Append the tf-avgckpt command that makes a model of the last n regular checkpoints in the
 * directory of a run; n 0: of its best.tfm or resume.tfm. False, and nothing is added, if it has
 * none of these. */
bool tf_advise_average(struct tf_buf *b, const char *dir, uint64_t n, bool ema);
/* The number of regular checkpoints in a directory, at most `most`; 0 if it can't be read. */
uint64_t tf_count_regular(const char *dir, uint64_t most);

/* Append the peak of the schedule and its update, and an option that gives a lower peak. width: the
 * model's d_model. */
void tf_advise_rate(struct tf_buf *b, const struct tf_settings *o, int64_t width);

#endif
