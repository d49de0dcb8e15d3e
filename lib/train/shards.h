/* shards.h - the gradient of one micro-batch: ranges of sentences over lanes, sums over a tree. For
 * stepper.c.
 *
 * tf_pairs_cut cuts the batch into be->shards ranges. Lanes take them in order; gradients are added
 * as ((0+1)+(2+3))+((4+5)+(6+7)) by whichever lane finishes the second of two siblings, always
 * left += right. */
#ifndef TF_TRAIN_SHARDS_H
#define TF_TRAIN_SHARDS_H

#include "train/stepper.h"

/* Forward and backward. Returns the sum in one of s's gradient buffers, which the caller now has to
 * free, or NULL with *err. The sums of shard i are added to s->metrics + 4 * i. */
tf_mem *tf_shards_backward(struct tf_stepper *s, const struct tf_pairs *p,
                           const struct tf_rng_state *rng, struct tf_err *err);
/* Forward without dropout: adds to *sums, in the order of the shards. */
int tf_shards_forward(struct tf_stepper *s, struct tf_sums *sums, const struct tf_pairs *p,
                      struct tf_err *err) TF_MUST_CHECK;

#endif
