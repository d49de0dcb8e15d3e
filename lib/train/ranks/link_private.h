/* link_private.h - the devices of a team, linked so that gradients and weights need not pass
 * through host memory. */
#ifndef TF_TRAIN_RANKS_LINK_PRIVATE_H
#define TF_TRAIN_RANKS_LINK_PRIVATE_H

#include "train/ranks/team.h"

/* All ranks at once: link their devices, of which ctx is a lane, and set t->link. Where that cannot
 * be, t->link stays empty and rank 0 notes why. Fails, on all ranks, when linking itself does. */
int tf_link_open(struct tf_team *t, struct tf_ctx *ctx, struct tf_err *err) TF_MUST_CHECK;
/* All ranks at once, unless t->comm.failed, and before what the lane owns is freed, which waits
 * for queued work. */
void tf_link_close(struct tf_team *t, struct tf_ctx *ctx);
/* Wait for what is queued, as long as an answer of another rank may take. */
int tf_link_wait(struct tf_team *t, struct tf_ctx *ctx, struct tf_err *err) TF_MUST_CHECK;

#endif
