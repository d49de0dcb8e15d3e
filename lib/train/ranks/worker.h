/* worker.h - a rank other than 0: it obeys. */
#ifndef TF_TRAIN_RANKS_WORKER_H
#define TF_TRAIN_RANKS_WORKER_H

#include "train/ranks/team.h"

/* Make the calls of rank 0's stepper (ranked.h) until it ends the run; t->arrived is set. Returns
 * its status. -1 and *err when rank 0 can't be reached any more; what else goes wrong, rank 0
 * reports. */
int tf_worker(struct tf_team *t, int threads, struct tf_err *err) TF_MUST_CHECK;

#endif
