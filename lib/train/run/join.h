/* join.h - how a process becomes a rank of a run. */
#ifndef TF_TRAIN_RUN_JOIN_H
#define TF_TRAIN_RUN_JOIN_H

#include "train/run/env.h"
#include "train/settings/settings.h"

/* Join the other ranks, if there are any: *team is then env->team. A rank other than 0 obeys to the
 * end of the run, and *status becomes its status; else -1. What all ranks find, only rank 0
 * reports. Of o: device, precision and, if given in env->opts, threads. limit: see
 * tf_team_open. */
int tf_run_join(struct tf_run_env *env, struct tf_team *team, const struct tf_settings *o,
                enum tf_comm_use use, double limit, int *status, struct tf_err *err) TF_MUST_CHECK;

/* The threads of a process by default: the CPUs, shared with the team's ranks on this machine. */
int tf_run_threads(const struct tf_team *team);

#endif
