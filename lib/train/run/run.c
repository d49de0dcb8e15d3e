/* run.c - a run from start to end: boundary, update, boundary, ... */
#include "train/run/run.h"
#include "base/memory.h"
#include "base/sandbox.h"
#include "ops/registry.h"
#include "train/run/boundary_private.h"
#include "train/run/checkpoints_private.h"
#include "train/run/metrics_private.h"
#include "train/run/signals.h"
#include "train/run/start_private.h"
#include "train/run/update_private.h"

#include <stdio.h>
#include <stdlib.h>

/* No further update: a stop was requested, or the stream ended or failed (then *err is set). */
static int end_of_stream(struct tf_run *r, bool failed, struct tf_err *err)
{
    struct tf_err last = {0};
    if (tf_run_collect_last(r, &last) != 0) {
        if (failed && !r->saved.impossible)
            tf_warn("%s", last.msg);
        else
            *err = last;
        return -1;
    }
    if (tf_run_stopping(r->env)) { /* the same signal may have ended the producer too */
        *err = (struct tf_err){0};
        return tf_run_stop(r, err);
    }
    if (failed || tf_run_save_rest(r, err) != 0)
        return -1;
    if (r->state.step == 0)
        return tf_fail(err, "the stream ended before the first update");
    char of[32] = "";
    if (r->o->steps > 0)
        snprintf(of, sizeof of, " of %lld", (long long)r->o->steps);
    tf_note("the stream ended at step %llu%s (tf-batch --epochs 0 repeats the text)",
            (unsigned long long)r->state.step, of);
    return tf_run_complete(r, "stream", err);
}

/* After an error: save the last boundary where that is possible, and name the checkpoint to resume
 * from. */
static int report_error(struct tf_run *r, struct tf_err *err)
{
    struct tf_err second = {0};
    if (!r->saved.impossible && tf_run_collect_last(r, &second) != 0) {
        if (r->saved.impossible)
            *err = second; /* the last update had failed first */
        else
            tf_warn("%s", second.msg);
    }
    if (!r->saved.impossible && tf_run_save_rest(r, &second) != 0)
        tf_warn("%s", second.msg);
    (void)!tf_run_wait_save(r, &second);
    tf_run_add_last_good(r, err);
    return -1;
}

static int loop(struct tf_run *r, struct tf_err *err)
{
    int rc;
    do
        rc = tf_run_boundary(r, err);
    while (rc == 0 && (rc = tf_run_update(r, err)) == 0);
    if (rc == TF_RUN_NO_BATCH || rc == TF_RUN_BAD_INPUT)
        rc = end_of_stream(r, rc == TF_RUN_BAD_INPUT, err);
    return rc < 0 ? report_error(r, err) : rc;
}

void tf_run_widen(struct tf_sandbox *sandbox, const struct tf_settings *o, enum tf_comm_use use)
{
    sandbox->off = tf_comm_wanted(use) || tf_backend_may_load(o->device);
    /* Opened again for each validation, and by then it may be another file of that name. */
    if (o->valid != NULL)
        tf_strs_add(&sandbox->beside, o->valid);
}

void tf_run_start_shell(struct tf_shell *shell, const struct tf_settings *o)
{
    char *model = tf_rundir_file(o->dir, TF_RUN_VALID);
    tf_shell_start(shell, o->valid_command, "TF_MODEL", model);
    free(model);
}

int tf_run(const struct tf_settings *o, const struct tf_run_env *env, struct tf_err *err)
{
    struct tf_run r = {.o = o, .env = env};
    if (env->team != NULL)
        env->team->arrived = tf_signals_stop;
    int rc = tf_run_start(&r, err);
    if (rc == 0) {
        r.saved.time = tf_now();
        rc = loop(&r, err);
    }
    tf_run_release(&r);
    if (rc < 0)
        tf_memory_remedy(err, "smaller batches (tf-batch --tokens) and fewer --threads take less, "
                              "and --plan prints how much");
    if (rc < 0 || rc == TF_RUN_COLLAPSED)
        return -1;
    return tf_run_stopping(env) && (tf_stop_signal == SIGUSR2 || env->team != NULL) ? TF_AGAIN : 0;
}
