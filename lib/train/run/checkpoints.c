/* checkpoints.c - when a run saves, and under which name. */
#include "train/run/checkpoints_private.h"
#include "train/run/metrics_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* After a failure to save, all later ones would hide its reason. */
static int save_failed(struct tf_run *r)
{
    r->saved.impossible = true;
    return -1;
}

/* A save in progress may take long; other ranks must not take that for our end. */
static int keep_waiting(struct tf_run *r, struct tf_err *err)
{
    const struct timespec tick = {.tv_nsec = 10000000};
    int rc = 0;
    while (rc == 0 && r->env->team != NULL && tf_saver_writing(r->saved.saver)) {
        nanosleep(&tick, NULL);
        rc = tf_stepper_idle(&r->stepper, err);
    }
    return rc;
}

/* Log a save that ended well. rc: of tf_saver_wait or tf_saver_poll. */
static int report_save(struct tf_run *r, int rc, struct tf_err *err)
{
    if (rc == 0)
        return 0;
    if (rc < 0)
        return save_failed(r);
    if (r->saved.kind == TF_SAVE_VALID)
        return 0;
    char *name = tf_save_name(r->saved.kind, r->saved.from);
    rc = tf_run_report_save(&r->report, r->saved.from, name, err);
    free(name);
    return rc;
}

/* All lines of the log so far are on the disk before a checkpoint that a run resumes from is. */
static int start_save(struct tf_run *r, enum tf_save_kind kind, bool best, struct tf_err *err)
{
    if (tf_run_wait_save(r, err) != 0)
        return -1;
    if (tf_stepper_compare(&r->stepper, err) != 0 ||
        tf_journal_sync(&r->report.journal, err) != 0 ||
        tf_saver_start(r->saved.saver, &r->state, kind, best, err) != 0)
        return save_failed(r);
    r->saved.kind = kind;
    r->saved.from = r->state.step;
    return 0;
}

int tf_run_save(struct tf_run *r, enum tf_save_kind kind, bool best, struct tf_err *err)
{
    if (!r->o->no_save && start_save(r, kind, best, err) != 0)
        return -1;
    if (kind == TF_SAVE_REGULAR || r->o->save_every > 0)
        r->saved.time = tf_now();
    if (kind != TF_SAVE_BEST)
        r->saved.step = r->state.step;
    if (kind == TF_SAVE_REGULAR)
        r->saved.regular_step = r->state.step;
    if (kind == TF_SAVE_BEST || best)
        r->saved.best_step = r->state.step;
    return 0;
}

int tf_run_save_model(struct tf_run *r, struct tf_err *err)
{
    return start_save(r, TF_SAVE_VALID, false, err) != 0 ? -1 : tf_run_wait_save(r, err);
}

int tf_run_poll_save(struct tf_run *r, struct tf_err *err)
{
    return report_save(r, tf_saver_poll(r->saved.saver, err), err);
}

int tf_run_wait_save(struct tf_run *r, struct tf_err *err)
{
    struct tf_err lost = {0};
    const bool alone = keep_waiting(r, &lost) != 0;
    int rc = report_save(r, tf_saver_wait(r->saved.saver, err), err);
    if (!alone)
        return rc;
    *err = lost;
    return save_failed(r);
}

int tf_run_save_requested(struct tf_run *r, struct tf_err *err)
{
    double minutes = r->o->save_minutes;
    bool requested = tf_run_take_save_request(r->env),
         time = minutes > 0 && tf_now() - r->saved.time >= 60 * minutes;
    if (!requested && !time)
        return 0;
    if (r->saved.step == r->state.step || r->state.step == 0)
        return 0;
    bool regular = time && r->o->save_every == 0;
    return tf_run_collect_last(r, err) != 0
               ? -1
               : tf_run_save(r, regular ? TF_SAVE_REGULAR : TF_SAVE_RESUME, false, err);
}

bool tf_run_is_multiple(const struct tf_run *r, int64_t every)
{
    return every > 0 && r->state.step > 0 && r->state.step % (uint64_t)every == 0;
}

bool tf_run_save_due(const struct tf_run *r)
{
    return tf_run_is_multiple(r, r->o->save_every) && r->saved.regular_step < r->state.step;
}

void tf_run_add_last_good(const struct tf_run *r, struct tf_err *err)
{
    const char *last = r->saved.saver != NULL ? tf_saver_last(r->saved.saver) : NULL;
    char text[sizeof err->msg];
    struct tf_err old = *err;
    snprintf(text, sizeof text, "%s", old.msg);
    if (last != NULL)
        tf_fail_status(err, old.status, "%s; last good checkpoint is %s", text, last);
    else
        tf_fail_status(err, old.status, "%s; no checkpoint was saved before", text);
    err->sys = old.sys;
}
