/* start.c - setup and checkpoint become a run that is ready for its first batch. */
#include "train/run/start_private.h"
#include "base/path.h"
#include "train/run/history_private.h"
#include "train/run/length_private.h"
#include "train/run/new_weights_private.h"
#include "train/run/resume_private.h"
#include "train/run/signals.h"
#include "train/store/retain.h"
#include "train/run/validation_private.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

static int open_directory(struct tf_run *r, struct tf_err *err)
{
    const struct tf_settings *o = r->o;
    if (tf_rundir_open(&r->dir, o->dir, err) != 0)
        return -1;
    int own = o->log != NULL && strcmp(o->log, "-") != 0 ? tf_rundir_owns(o->dir, o->log, err) : 0;
    if (own > 0)
        return tf_fail_status(err, TF_USAGE, "--log %s: a file of the run itself", o->log);
    return own;
}

/* Check the validation data before there is work to lose. Other data than before starts a new
 * search for the best. */
static int check_validation_data(struct tf_run *r, struct tf_err *err)
{
    struct tf_run_state *s = &r->state;
    const struct tf_setup *p = &r->setup;
    struct tf_valid_data data;
    if (r->o->valid == NULL)
        return 0;
    const struct tf_header streams = tf_setup_streams(p);
    if (tf_validate_check(&data, r->o->valid, &streams, &p->config, err) != 0)
        return -1;
    tf_collapse_init(&r->collapse, &data.tokens, &p->schedule,
                     r->o->steps > 0 ? (uint64_t)r->o->steps : UINT64_MAX);
    if (s->has_valid && memcmp(s->valid, data.sha, sizeof data.sha) != 0) {
        tf_note("%s: not the validation data of the checkpoint: earlier results do not count for "
                "best.tfm",
                r->o->valid);
        tf_state_forget_best(s);
        r->other_valid = true;
    }
    s->has_valid = true;
    memcpy(s->valid, data.sha, sizeof data.sha);
    return 0;
}

/* Setup, weights and state: new, or those of the checkpoint. */
static int open_stepper(struct tf_run *r, struct tf_resume *from, struct tf_err *err)
{
    struct tf_setup *s = &r->setup;
    struct tf_start_weights w = {0};
    int rc = tf_setup_open(s, r->o, r->env, err);
    if (rc == 0 && from->path == NULL)
        rc = tf_setup_new_weights(s, &w, err);
    else if (rc == 0 && (rc = tf_resume_compare(from, s, err)) == 0)
        rc = tf_resume_load(from, s, &w, err);
    if (from->path != NULL)
        tf_model_free_tensors(&from->file); /* before memory for training is needed */
    if (s->env->from != NULL)
        tf_model_free_tensors(&s->env->from->file);
    r->state = from->state;
    if (rc == 0)
        rc = check_validation_data(r, err);
    if (rc == 0)
        rc = tf_setup_stepper(s, &r->stepper, &w, false, err);
    tf_start_weights_release(&w);
    return rc;
}

/* The step of a checkpoint that is there only because the run ended then; or 0. */
static uint64_t end_of(const struct tf_regular *at)
{
    return at->every > 0 && at->step % at->every != 0 ? at->step : 0;
}

/* last: the newest regular checkpoint */
static void open_saver(struct tf_run *r, const struct tf_resume *from,
                       const struct tf_regular *last)
{
    const struct tf_settings *o = r->o;
    uint64_t step = r->state.step;
    r->saved.step = r->saved.best_step = UINT64_MAX;
    r->saved.saver = tf_saver_new(&r->dir, &r->setup.common, &r->stepper, (uint64_t)o->keep,
                                  end_of(last));
    if (from->path == NULL)
        return;
    tf_saver_set_last(r->saved.saver, from->path);
    r->saved.step = step;
    if (!from->regular)
        return;
    r->saved.regular_step = step;
    if (r->state.has_best && r->state.best_step == step)
        r->saved.best_step = step;
}

/* The first item of the stream; NULL when a stop is requested. If the ranks are lost, the first
 * update will say so. */
static const struct tf_feed_item *wait_first(struct tf_run *r)
{
    const struct tf_feed_item *item;
    struct tf_err lost = {0};
    while ((item = tf_feed_next(r->setup.feed)) == NULL && !tf_run_stopping(r->env) &&
           tf_stepper_idle(&r->stepper, &lost) == 0)
        ;
    return item;
}

/* With --force: a run that became a different one gets a new provenance stage; one that resumed
 * unchanged does not, however often it was started. */
static void record_override(struct tf_run *r, const struct tf_resume *from)
{
    struct tf_value none = tf_value_map();
    wait_first(r);
    if (tf_feed_other_corpus(r->setup.feed))
        tf_warn("%s: the corpus differs from the checkpoint's; continuing with the new one",
                tf_is_std(r->o->input) ? "stdin" : r->o->input);
    else if (!from->overridden)
        return;
    tf_setup_add_stage(&r->setup, &none);
    if (from->other_kernels)
        tf_setup_add_kernels(&r->setup);
}

/* Where the stream continues. NULL: at its beginning, which before the first update may be any
 * batch. */
static const struct tf_batch_cursor *position(const struct tf_run *r)
{
    return r->state.step > 0 ? &r->state.cursor : NULL;
}

/* The first line of the log names the corpus, which only batches contain. */
static int report_start(struct tf_run *r, const struct tf_resume *from, struct tf_err *err)
{
    const struct tf_batch_cursor *data = position(r);
    if (data == NULL || r->o->force) {
        const struct tf_feed_item *item = wait_first(r);
        data = item != NULL && item->kind == TF_FEED_BATCH ? &item->next : NULL;
    }
    const struct tf_run_origin origin = {&r->setup, &r->stepper, &r->state, data, from->path};
    return tf_run_report_start(&r->report, &origin, err);
}

/* Do what a killed run had no time for: link best.tfm and delete old checkpoints, which would fill
 * the disk after many kills. before: the one before the newest. */
static int finish_killed_run(struct tf_run *r, const struct tf_resume *from, uint64_t keep,
                             const struct tf_regular *before, struct tf_err *err)
{
    if (tf_resume_repair_best(from, &r->dir, err) != 0)
        return -1;
    return tf_rundir_retain(&r->dir, keep, end_of(before), r->state.step, err);
}

/* at: the newest two regular checkpoints up to the one that the run continues from */
static int find_regular(const struct tf_run *r, struct tf_regular at[2], struct tf_err *err)
{
    struct tf_checkpoint_list l;
    if (tf_rundir_list_of(&l, tf_rundir_entries(&r->dir), r->dir.path, err) != 0)
        return -1;
    for (size_t i = 0; i < l.n && l.v[i].step <= r->state.step; i++) {
        at[1] = at[0];
        at[0].step = l.v[i].step;
    }
    tf_checkpoint_list_release(&l);
    return 0;
}

/* c: NULL, or the history of validations. Without a log nothing is known. */
static int read_history(struct tf_run *r, struct tf_collapse *c, struct tf_regular at[2],
                        struct tf_err *err)
{
    struct tf_in log;
    if (find_regular(r, at, err) != 0)
        return -1;
    if (tf_rundir_input(&r->dir, &log, TF_RUN_LOG, O_NOFOLLOW, err) != 0) {
        const bool missing = err->sys == ENOENT;
        if (missing)
            *err = (struct tf_err){0};
        return missing ? 0 : -1;
    }
    int rc = tf_history_read(c, at, 2, &log, err);
    tf_in_close(&log);
    return rc;
}

static int start_training(struct tf_run *r, struct tf_resume *from, struct tf_err *err)
{
    const struct tf_settings *o = r->o;
    bool resumed = from->path != NULL;
    struct tf_regular regular[2] = {{0, 0}, {0, 0}};
    const struct tf_feed_item *first;
    if (open_stepper(r, from, err) != 0 ||
        tf_run_report_open(&r->report, o, r->env, &r->dir, resumed ? &r->state : NULL, err) != 0 ||
        (resumed &&
         read_history(r, o->valid != NULL && !r->other_valid ? &r->collapse : NULL, regular,
                      err) != 0))
        return -1;
    open_saver(r, from, &regular[0]);
    if (!resumed)
        tf_setup_check(&r->setup);
    tf_signals_catch();
    tf_feed_start(r->setup.feed, &r->setup.config, position(r), o->force);
    if (resumed && o->force)
        record_override(r, from);
    if (resumed && r->state.cursor.part > 0)
        tf_note("resuming from %s, in part %llu of the stream: those before it are skipped",
                from->path, (unsigned long long)r->state.cursor.part);
    else if (resumed)
        tf_note("resuming from %s", from->path);
    if (report_start(r, from, err) != 0)
        return -1;
    if (!resumed || !from->regular)
        return 0;
    /* A start refused for its first batch, which the loop reports, changes no checkpoint. */
    first = wait_first(r);
    return first != NULL && first->kind == TF_FEED_ERROR
               ? 0
               : finish_killed_run(r, from, (uint64_t)o->keep, &regular[1], err);
}

static void report_finished(const struct tf_settings *o, const struct tf_run_state *s)
{
    const char *reached = tf_run_length_reached(o, s);
    struct tf_buf b = {0};
    if (reached != NULL) {
        tf_run_length_describe(&b, reached, o, s);
        tf_note("%s: %s is done: nothing left to do", o->dir, b.p);
    } else {
        tf_note("%s: stopped at step %llu, no improvement since step %llu: nothing left to do",
                o->dir, (unsigned long long)s->step, (unsigned long long)s->best_step);
    }
    tf_buf_release(&b);
}

/* A finished run needs neither stream nor device, but other options than its own are refused all
 * the same. Another --keep is not, and so deletes nothing. */
static int start_finished(struct tf_run *r, struct tf_resume *from, struct tf_err *err)
{
    const struct tf_settings *o = r->o;
    struct tf_regular regular[2] = {{0, 0}, {0, 0}};
    if (!o->force && (tf_setup_from_checkpoint(&r->setup, o, r->env, &from->file, err) != 0 ||
                      tf_resume_compare(from, &r->setup, err) != 0))
        return -1;
    r->state = from->state;
    if (from->regular && (read_history(r, NULL, regular, err) != 0 ||
                          finish_killed_run(r, from, 0, &regular[1], err) != 0))
        return -1;
    report_finished(o, &from->state);
    tf_run_report_complete(o, &from->state, from->path, false);
    return TF_RUN_ENDED;
}

int tf_run_start(struct tf_run *r, struct tf_err *err)
{
    struct tf_resume from;
    if (open_directory(r, err) != 0 || tf_resume_find(&from, &r->dir, err) != 0)
        return -1;
    int rc = tf_resume_finished(&from, r->o) ? start_finished(r, &from, err)
                                             : start_training(r, &from, err);
    tf_resume_release(&from);
    return rc;
}

void tf_run_release(struct tf_run *r)
{
    tf_saver_free(r->saved.saver);
    tf_stepper_release(&r->stepper);
    tf_run_report_close(&r->report);
    if (r->dir.path != NULL)
        tf_rundir_close(&r->dir);
    tf_setup_release(&r->setup);
}
