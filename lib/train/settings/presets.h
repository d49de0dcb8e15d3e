/* presets.h - the rows of the paper's tables by name: a model, and how it is trained. tf-train and
 * tf-batch take the defaults of their options from here. */
#ifndef TF_TRAIN_SETTINGS_PRESETS_H
#define TF_TRAIN_SETTINGS_PRESETS_H

#include "train/settings/settings.h"

enum { TF_PAPER_TOKENS = 25000 }; /* of a batch on each side, section 5.1 */

/* Names of all presets, NULL-terminated: base big ... E parse-wsj parse-semi tiny. */
extern const char *const tf_presets[];

/* Set what a preset defines in a dialect; the rest stays. vocab_size becomes 0, special ids get the
 * defaults of tf-tokenize. An unknown name is TF_USAGE, with the list of names in the message. */
int tf_preset(struct tf_settings *s, const char *name, enum tf_dialect as,
              struct tf_err *err) TF_MUST_CHECK;
/* The same for a run that starts from a model (--init): its configuration, or that of a preset, of
 * which tf_start_model_compare refuses what differs; preset NULL without one, dialect -1 for the
 * model's. schedule: without a preset, also set how a trained model continues on other data, a
 * constant rate after a short warmup, and for how long. */
int tf_preset_from_model(struct tf_settings *s, const struct tf_config *model, const char *preset,
                         int dialect, bool schedule, struct tf_err *err) TF_MUST_CHECK;

#endif
