/* length_private.h - how long a run trains: by --steps, --epochs and --tokens. */
#ifndef TF_TRAIN_RUN_LENGTH_PRIVATE_H
#define TF_TRAIN_RUN_LENGTH_PRIVATE_H

#include "train/settings/settings.h"
#include "train/store/state.h"

/* The option whose number has been reached ("steps", "epochs", "tokens"), or NULL: at a step
 * boundary, from the state alone. An epoch is over when the cursor after a batch says so. */
const char *tf_run_length_reached(const struct tf_settings *o, const struct tf_run_state *s);
/* About how many updates are left, for an update of the usual size; INFINITY: not known. */
double tf_run_length_left(const struct tf_settings *o, const struct tf_run_state *s);
/* "step 10 of 40", "epoch 2 of 3" or "token 9010 of 9000", of that option. */
void tf_run_length_describe(struct tf_buf *b, const char *option, const struct tf_settings *o,
                            const struct tf_run_state *s);

#endif
