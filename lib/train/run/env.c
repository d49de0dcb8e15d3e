/* env.c - see env.h. */
#include "train/run/env.h"
#include "train/run/signals.h"

/* Act on the signals of other ranks as on our own. */
static void hear(const struct tf_run_env *env)
{
    if (env->team != NULL)
        tf_signals_take(tf_team_heard(env->team));
}

bool tf_run_stopping(const struct tf_run_env *env)
{
    hear(env);
    return tf_stop;
}

bool tf_run_take_save_request(const struct tf_run_env *env)
{
    hear(env);
    if (!tf_save_requested)
        return false;
    tf_save_requested = 0; /* a signal that arrives now is served with the one before it */
    return true;
}
