/* join.c - see join.h. */
#include "train/run/join.h"
#include "base/cpus.h"
#include "base/log.h"
#include "train/ranks/worker.h"
#include "train/run/signals.h"

#include <unistd.h>

int tf_run_threads(const struct tf_team *team)
{
    const int n = tf_threads_default() / (team->sharing > 1 ? team->sharing : 1);
    return n > 1 ? n : 1;
}

static int work(struct tf_team *t, int threads, struct tf_err *err)
{
    tf_signals_catch_early(SIG_DFL); /* USR1 */
    tf_signals_catch();
    t->arrived = tf_signals_any;
    return tf_worker(t, threads, err);
}

int tf_run_join(struct tf_run_env *env, struct tf_team *team, const struct tf_settings *o,
                enum tf_comm_use use, double limit, int *status, struct tf_err *err)
{
    *status = -1;
    const bool threads = tf_opt_given(env->opts, "threads");
    const int cpus = tf_cpus_bound(); /* MPI may change it */
    int rc = tf_team_open(team, use, limit, o->device, o->precision, err);
    if (rc == 0 && team->comm.size > 1)
        env->team = team;
    if (env->team != NULL && team->comm.rank == 0 && cpus == 1 && !threads &&
        sysconf(_SC_NPROCESSORS_ONLN) > 1)
        tf_warn("ranks are bound to one CPU each of %ld (mpirun --bind-to none frees them)",
                sysconf(_SC_NPROCESSORS_ONLN));
    if (team->comm.rank > 0 && env->shell != NULL)
        tf_shell_close(env->shell);
    if (rc == 0 && team->comm.rank > 0) {
        *status = work(team, threads ? (int)o->threads : tf_run_threads(team), err);
        rc = *status < 0 ? -1 : 0;
    } else if (rc != 0 && team->comm.rank > 0) {
        *status = err->status;
        *err = (struct tf_err){0};
        rc = 0;
    }
    return rc;
}
