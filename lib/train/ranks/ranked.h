/* ranked.h - a stepper whose updates ranks share. Each of its calls on rank 0 is an order to the
 * others, which make the same call (worker.h): the part of a process (step/stepper.h), with a vote
 * and an exchange (parts_private.h) around it. The results are those of one process. */
#ifndef TF_TRAIN_RANKS_RANKED_H
#define TF_TRAIN_RANKS_RANKED_H

#include "train/ranks/team.h"
#include "train/step/stepper.h"

/* The same as tf_stepper_init, on all ranks at once. Ranks other than 0 give threads and what the
 * order says; moments: m and v of rank 0 are not zero. Each rank has all weights, its part of the
 * moments and of the moving average, and applies that part of an update. Calls that return int then
 * also fail if another rank does. team and be are borrowed. */
int tf_ranked_init(struct tf_stepper *s, struct tf_team *team, const struct tf_backend *be,
                   const struct tf_config *c, const struct tf_stepper_start *start, bool moments,
                   struct tf_err *err) TF_MUST_CHECK;
/* In place of tf_stepper_add on another rank, for each micro-batch of the share: the bytes are of
 * tf_pairs_put. */
void tf_ranked_receive(struct tf_stepper *s, const void *bytes, const struct tf_rng_state *rng);

#endif
