/* valid_command.c - see valid_command_private.h. */
#include "train/run/valid_command_private.h"
#include "train/run/checkpoints_private.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

enum { WAIT_MS = 50 };

/* Run the command to its end: 1; 0 when the run is to stop, or with a warning when the command
 * cannot be run; -1. Other ranks must not take a long command for our end. */
static int run_command(struct tf_run *r, struct tf_shell_result *result, struct tf_err *err)
{
    struct tf_shell *shell = r->env->shell;
    struct tf_err why = {0};
    int rc = tf_shell_begin(shell, r->state.step, &why);
    while (rc == 0 && (rc = tf_shell_wait(shell, WAIT_MS, result, &why)) == 0) {
        if (tf_run_stopping(r->env)) {
            tf_shell_stop(shell); /* does not wait: the run is to be saved */
            return 0;
        }
        if (r->env->team != NULL && tf_stepper_idle(&r->stepper, err) != 0)
            return -1;
    }
    if (rc < 0)
        tf_warn("step %llu: --valid-command: %s", (unsigned long long)r->state.step, why.msg);
    return rc > 0;
}

/* Why there is no metric, as a warning: the run continues. */
static void judge(const struct tf_run *r, const struct tf_shell_result *result, double *metric)
{
    const unsigned long long step = (unsigned long long)r->state.step;
    if (!result->exited && result->status == 0)
        tf_warn("step %llu: --valid-command could not be started", step);
    else if (!result->exited)
        tf_warn("step %llu: --valid-command was ended by signal %d (%s)", step, result->status,
                strsignal(result->status));
    else if (result->status != 0)
        tf_warn("step %llu: --valid-command failed with status %d", step, result->status);
    else if (!result->has_number)
        tf_warn("step %llu: --valid-command %s", step, result->why);
    else
        *metric = result->number;
}

int tf_run_valid_command(struct tf_run *r, double *metric, char *text, struct tf_err *err)
{
    struct tf_shell_result result = {0};
    *metric = NAN;
    *text = 0;
    if (tf_run_save_model(r, err) != 0)
        return -1;
    int rc = run_command(r, &result, err);
    (void)!unlinkat(r->dir.fd, TF_RUN_VALID, 0);
    if (rc >= 0 && tf_run_stopping(r->env)) /* the same signal may have ended the command */
        return TF_RUN_NO_BATCH;
    if (rc > 0) {
        judge(r, &result, metric);
        memcpy(text, result.text, sizeof result.text);
    }
    return rc < 0 ? -1 : 0;
}
