/* loop.c - the loop of a run. Between two updates stands a border: there the run may be validated,
 * saved and stopped, and a checkpoint always tells of a border, so that whatever happens between
 * two of them is done again from the same batches. */
#include "train/run_parts.h"
#include "train/signals.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Name what can still be relied on. */
static void add_last_good(struct tf_run *r, struct tf_err *err)
{
    uint64_t step;
    const char *last = r->saver != NULL ? tf_saver_last(r->saver, &step) : NULL;
    char text[sizeof err->msg];
    struct tf_err old = *err;
    snprintf(text, sizeof text, "%s", old.msg);
    if (last != NULL)
        tf_fail_status(err, old.status, "%s; last good checkpoint is %s", text, last);
    else
        tf_fail_status(err, old.status, "%s; no checkpoint was saved before", text);
    err->sys = old.sys;
}

/* Of the run as it stands nothing can be saved any more: it diverged, the device is lost, or it is
 * saving that failed. */
static int no_more_saves(struct tf_run *r)
{
    r->lost = true;
    return -1;
}

static int save(struct tf_run *r, enum tf_save_kind kind, bool best, struct tf_err *err)
{
    if (tf_saver_start(r->saver, &r->stepper, &r->state, kind, best, err) != 0)
        return no_more_saves(r);
    r->saved_at = tf_now();
    if (kind != TF_SAVE_BEST)
        r->saved_step = r->state.step;
    if (kind == TF_SAVE_GRID)
        r->grid_step = r->state.step;
    char *name = tf_save_name(kind, r->state.step);
    int rc = tf_report_save(r, name, err);
    free(name);
    return rc;
}

static int wait_saved(struct tf_run *r, struct tf_err *err)
{
    return tf_saver_wait(r->saver, err) != 0 ? no_more_saves(r) : 0;
}

/* ---- what an update found ----
 *
 * A device works behind the host's back: there the figures of an update are asked for when the next
 * one is queued, so that it never waits for the host. Nobody sees the difference: before anything
 * is saved, validated or waited for, the figures are looked at, and an update whose gradient is not
 * finite changes nothing. */

static bool works_ahead(const struct tf_run *r)
{
    return r->stepper.be->poll > 1;
}

/* Wait for the figures of an update; a divergence ends the run. */
static int look(struct tf_run *r, struct tf_update *u, struct tf_err *err)
{
    double norm2;
    if (!u->open || u->known)
        return 0;
    u->known = true;
    if (tf_step_found(&r->stepper, &u->figures, &u->sums, &norm2, err) != 0)
        return no_more_saves(r);
    u->norm = sqrt(norm2) / u->sums.tokens;
    if (isfinite(u->norm) && isfinite(u->sums.loss))
        return 0;
    double loss = u->sums.loss / u->sums.tokens;
    tf_fail_status(err, TF_DIVERGED, "diverged at step %llu (loss %g, gradient norm %g)",
                   (unsigned long long)u->at.step, isnan(loss) ? NAN : loss, fabs(u->norm));
    return no_more_saves(r);
}

/* And tell of it. */
static int settle(struct tf_run *r, struct tf_update *u, struct tf_err *err)
{
    if (!u->open)
        return 0;
    if (look(r, u, err) != 0)
        return -1;
    u->open = false;
    r->steps_here++;
    return tf_report_step(r, u, err);
}

static int settle_last(struct tf_run *r, struct tf_err *err)
{
    return settle(r, &r->updates[r->turn], err);
}

/* ---- borders ---- */

static bool on_grid(const struct tf_run *r, int64_t every)
{
    return every > 0 && r->state.step > 0 && r->state.step % (uint64_t)every == 0;
}

static bool valid_due(const struct tf_run *r)
{
    return r->o->valid != NULL && on_grid(r, r->o->valid_every) &&
           r->state.valid_step < r->state.step;
}

static bool save_due(const struct tf_run *r)
{
    return on_grid(r, r->o->save_every) && r->grid_step < r->state.step;
}

/* 1 when a signal cut it short. */
static int validate(struct tf_run *r, struct tf_err *err)
{
    struct tf_sums sums;
    double from = tf_now();
    int rc = tf_validate(&sums, &r->stepper, r->o->valid, &r->common.header, &tf_stop, err);
    if (rc != 0)
        return rc;
    bool by_acc = r->o->best_by == TF_BEST_ACC;
    double value = by_acc ? tf_sums_acc(&sums) : tf_sums_ppl(&sums);
    bool best = !r->state.has_best ? !isnan(value)
                : by_acc           ? value > r->state.best
                                   : value < r->state.best;
    r->state.valid_step = r->state.step;
    r->state.stale++;
    if (best) {
        r->state.has_best = true;
        r->state.best = value;
        r->state.best_step = r->state.step;
        r->state.stale = 0;
    }
    return tf_report_valid(r, &sums, best, tf_now() - from, err);
}

/* Save what there is: on the grid when that is all that is missing there, else resume.tfm. */
static int save_here(struct tf_run *r, struct tf_err *err)
{
    int rc = 0;
    if (r->saved_step != r->state.step && r->state.step > 0)
        rc = save(r, save_due(r) && !valid_due(r) ? TF_SAVE_GRID : TF_SAVE_RESUME, false, err);
    return rc == 0 ? wait_saved(r, err) : rc;
}

enum { GO_ON = 0, ENDED = 3 };

static int finish(struct tf_run *r, const char *reason, struct tf_err *err)
{
    if (wait_saved(r, err) != 0)
        return -1;
    return tf_report_end(r, reason, err) != 0 ? -1 : ENDED;
}

static int stop_here(struct tf_run *r, struct tf_err *err)
{
    if (save_here(r, err) != 0)
        return -1;
    int rc = finish(r, "signal", err);
    uint64_t step;
    const char *last = tf_saver_last(r->saver, &step);
    tf_note("stopped at step %llu%s%s", (unsigned long long)r->state.step,
            last != NULL ? ", saved in " : "", last != NULL ? last : "");
    return rc;
}

/* resume.tfm, when USR1 or the clock ask for it. */
static int save_wanted(struct tf_run *r, struct tf_err *err)
{
    bool clock = r->o->save_minutes > 0 && tf_now() - r->saved_at >= 60 * r->o->save_minutes;
    if (!tf_save_asked && !clock)
        return 0;
    tf_save_asked = 0;
    if (r->saved_step == r->state.step || r->state.step == 0)
        return 0;
    return settle_last(r, err) != 0 ? -1 : save(r, TF_SAVE_RESUME, false, err);
}

static int border(struct tf_run *r, struct tf_err *err)
{
    const struct tf_run_opts *o = r->o;
    bool rest = tf_stop || valid_due(r) || save_due(r) || r->state.step >= (uint64_t)o->steps;
    if (rest && settle_last(r, err) != 0)
        return -1;
    if (tf_saver_poll(r->saver, err) != 0)
        return no_more_saves(r);
    if (tf_stop)
        return stop_here(r, err);
    if (valid_due(r)) {
        int rc = validate(r, err);
        if (rc != 0)
            return rc < 0 ? -1 : stop_here(r, err);
    }
    /* By the state, not by what was validated just now: a run that was stopped between the two
     * still owes best.tfm. */
    bool best = r->state.has_best && r->state.best_step == r->state.step;
    bool enough = r->state.step >= (uint64_t)o->steps,
         stale = o->patience > 0 && r->state.stale >= (uint64_t)o->patience;
    bool last = (enough || stale) && r->grid_step < r->state.step;
    if (save_due(r) || last) {
        if (save(r, TF_SAVE_GRID, best, err) != 0)
            return -1;
    } else if (best && save(r, TF_SAVE_BEST, false, err) != 0) {
        return -1;
    }
    if (save_wanted(r, err) != 0)
        return -1;
    if (stale && !enough)
        tf_note("stopping at step %llu: no better since step %llu",
                (unsigned long long)r->state.step, (unsigned long long)r->state.best_step);
    return enough || stale ? finish(r, enough ? "steps" : "patience", err) : GO_ON;
}

/* ---- updates ---- */

/* How an attempt at an update ended, other than 0 and -1: the stream ended or a stop was asked for
 * before it was complete; the stream failed. */
enum { NO_MORE = 1, BAD_INPUT = 2 };

/* The next item; NULL when a stop was asked for. While the stream is waited for, the last border is
 * still the one to save. */
static int wait_item(struct tf_run *r, const struct tf_feed_item **item, struct tf_err *err)
{
    if (!tf_feed_ready(r->feed) && settle_last(r, err) != 0)
        return -1;
    while ((*item = tf_feed_next(r->feed)) == NULL && !tf_stop) {
        if (tf_saver_poll(r->saver, err) != 0)
            return no_more_saves(r);
        if (save_wanted(r, err) != 0)
            return -1;
    }
    if (tf_stop)
        *item = NULL;
    return 0;
}

/* All micro-batches of one update into the stepper; *next is the state behind it. */
static int gather(struct tf_run *r, struct tf_run_state *next, struct tf_err *err)
{
    tf_step_begin(&r->stepper);
    for (int64_t i = 0; i < r->o->accumulate; i++) {
        const struct tf_feed_item *item;
        if (wait_item(r, &item, err) != 0)
            return -1;
        if (item == NULL)
            return NO_MORE;
        if (item->kind == TF_FEED_END) {
            if (i > 0)
                tf_note("the stream ended within an update: %lld of %lld batches were not used",
                        (long long)i, (long long)r->o->accumulate);
            return NO_MORE;
        }
        if (item->kind == TF_FEED_ERROR) {
            *err = item->err;
            return BAD_INPUT;
        }
        const struct tf_rng_state step = {.seed = (uint64_t)r->o->seed,
                                          .update = (uint32_t)next->micro};
        if (tf_step_add(&r->stepper, &item->pairs, &step, err) != 0)
            return tf_context(err, "step %llu", (unsigned long long)next->step + 1);
        next->micro++;
        next->src_tokens += item->pairs.src_off[item->pairs.n];
        next->tgt_tokens += item->pairs.tgt_off[item->pairs.n];
        next->cursor = item->next;
        tf_feed_pop(r->feed);
    }
    next->step++;
    return 0;
}

static int update(struct tf_run *r, struct tf_err *err)
{
    const struct tf_run_opts *o = r->o;
    struct tf_run_state next = r->state;
    int rc = gather(r, &next, err);
    if (rc != 0)
        return rc;
    struct tf_update *before = &r->updates[r->turn], *u = &r->updates[1 - r->turn];
    *u =
        (struct tf_update){.open = true, .at = next, .lr = tf_schedule_lr(&r->schedule, next.step)};
    tf_step_look(&r->stepper, &u->figures);
    if (!works_ahead(r) && look(r, u, err) != 0)
        return -1;
    const struct tf_adam adam = {.lr = u->lr,
                                 .beta1 = o->beta1,
                                 .beta2 = o->beta2,
                                 .eps = o->adam_eps,
                                 .gscale = 1 / (double)(next.tgt_tokens - r->state.tgt_tokens),
                                 .clip = o->clip,
                                 .t = next.step,
                                 .eps_hat = o->eps_hat};
    tf_step_apply(&r->stepper, &adam, o->ema);
    r->state = next;
    r->turn = 1 - r->turn;
    return settle(r, works_ahead(r) ? before : u, err);
}

/* The stream gave no further update: a stop, its end, or its failure. */
static int stream_over(struct tf_run *r, int why, struct tf_err *err)
{
    struct tf_err last = {0};
    if (settle_last(r, &last) != 0) {
        if (why == BAD_INPUT && !r->lost)
            tf_warn("%s", last.msg);
        else
            *err = last;
        return -1;
    }
    if (tf_stop) { /* whoever sent the signal may have ended the producer too */
        memset(err, 0, sizeof *err);
        return stop_here(r, err);
    }
    if (why == BAD_INPUT || save_here(r, err) != 0)
        return -1;
    tf_note("the stream ended at step %llu of %lld", (unsigned long long)r->state.step,
            (long long)r->o->steps);
    return finish(r, "stream", err);
}

/* Something failed, but weights and state stand at a border: keep the work, and say what there is
 * to go on from. */
static int give_up(struct tf_run *r, struct tf_err *err)
{
    struct tf_err second = {0};
    if (!r->lost && settle_last(r, &second) != 0) {
        if (r->lost)
            *err = second; /* the update on its way had failed before this did */
        else
            tf_warn("%s", second.msg);
    }
    if (!r->lost && save_here(r, &second) != 0)
        tf_warn("%s", second.msg);
    (void)!tf_saver_wait(r->saver, &second);
    add_last_good(r, err);
    return -1;
}

static int loop(struct tf_run *r, struct tf_err *err)
{
    int rc;
    do
        rc = border(r, err);
    while (rc == GO_ON && (rc = update(r, err)) == 0);
    if (rc == NO_MORE || rc == BAD_INPUT)
        rc = stream_over(r, rc, err);
    return rc < 0 ? give_up(r, err) : rc;
}

int tf_run(const struct tf_run_opts *o, struct tf_err *err)
{
    struct tf_run r = {.o = o};
    int rc = tf_run_start(&r, err);
    if (rc == 0) {
        r.saved_at = tf_now();
        rc = tf_report_start(&r, err);
        if (rc == 0)
            rc = loop(&r, err);
        tf_progress_end(&r.progress);
    }
    tf_run_release(&r);
    if (rc < 0)
        return -1;
    return tf_stop && tf_stop_signal == SIGUSR2 ? TF_AGAIN : 0;
}
