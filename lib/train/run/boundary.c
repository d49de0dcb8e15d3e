/* boundary.c - between two updates: validate, save, stop. */
#include "train/run/boundary_private.h"
#include "train/run/checkpoints_private.h"
#include "train/run/length_private.h"
#include "train/run/metrics_private.h"
#include "train/run/valid_command_private.h"
#include "train/run/validation_private.h"

#include <math.h>

/* A run that starts from another model first says what that has, and saves it as the best. */
static bool valid_due(const struct tf_run *r)
{
    if (r->o->valid == NULL)
        return false;
    if (r->state.step == 0)
        return r->env->from != NULL && !r->begun_valid && !r->state.has_best;
    return tf_run_is_multiple(r, r->o->valid_every) && r->state.valid_step < r->state.step;
}

/* The rate to suggest: the preset's peak, or a third of one that is hardly higher. */
static double lower_peak(double peak, double usual)
{
    return peak > 1.5 * usual ? usual : peak / 3;
}

/* Append the peak of the schedule and its update, and an option that gives a lower peak. width: the
 * model's d_model. */
static void advise_rate(struct tf_buf *b, const struct tf_settings *o, int64_t width)
{
    struct tf_schedule s = o->schedule;
    uint64_t at, usual_at;
    s.d_model = width;
    double peak = tf_schedule_peak(&s, &at), usual = tf_schedule_peak(&o->usual, &usual_at),
           lower = lower_peak(peak, usual);
    tf_buf_printf(b, "the learning rate peaks at %.3g in update %llu; try a peak of %.3g", peak,
                  (unsigned long long)at, lower);
    if (s.kind == TF_SCHEDULE_PAPER)
        tf_buf_printf(b, " (--lr-scale %.3g)", peak > 0 ? s.scale * lower / peak : 0);
    else
        tf_buf_printf(b, " (--lr %.3g)", lower);
}

/* A model that predicts nothing any more: a warning, once; TF_RUN_COLLAPSED to stop the run.
 * before: the state before this validation. */
static int report_collapse(struct tf_run *r, enum tf_collapse_kind kind, const struct tf_sums *sums,
                           const struct tf_run_state *before, struct tf_err *err)
{
    const struct tf_collapse *c = &r->collapse;
    struct tf_buf b = {0};
    bool lost = kind == TF_COLLAPSE_LOST, stop = r->o->on_collapse == TF_ON_COLLAPSE_STOP;
    const struct tf_run_state *saved = stop ? before : &r->state; /* without a save it stays */
    tf_buf_printf(&b, "step %llu: the model has collapsed: perplexity %.4g, accuracy %.2f %%",
                  (unsigned long long)r->state.step, tf_sums_ppl(sums), 100 * tf_sums_acc(sums));
    if (lost)
        tf_buf_printf(&b, ", at best %.4g and %.2f %%", exp(c->nll), 100 * c->acc);
    else
        tf_buf_str(&b, ", no better than the frequencies of the tokens");
    if (saved->has_best && saved->best_step == 0)
        tf_buf_printf(&b, "; %s/" TF_RUN_BEST " is the model that the run began with", r->o->dir);
    else if (saved->has_best)
        tf_buf_printf(&b, "; %s/" TF_RUN_BEST " is of step %llu", r->o->dir,
                      (unsigned long long)saved->best_step);
    tf_buf_str(&b, "; ");
    advise_rate(&b, r->o, r->setup.config.d_model);
    tf_buf_str(&b, " in a new directory");
    if (lost && saved->has_best)
        tf_buf_printf(&b, ", from the start or with --init %s/" TF_RUN_BEST, r->o->dir);
    if (stop)
        tf_fail_status(err, TF_DIVERGED, "%s", b.p);
    else if (!r->collapsed)
        tf_warn("%s", b.p);
    r->collapsed = true;
    tf_buf_release(&b);
    return stop ? TF_RUN_COLLAPSED : 0;
}

static int check_collapse(struct tf_run *r, const struct tf_sums *sums,
                          const struct tf_run_state *before, struct tf_err *err)
{
    enum tf_collapse_kind kind =
        tf_collapse_add(&r->collapse, r->state.step, sums->nll / sums->tokens, tf_sums_acc(sums));
    if (kind != TF_COLLAPSE_NONE)
        return report_collapse(r, kind, sums, before, err);
    r->collapsed = false;
    return 0;
}

/* Count a validation by the measure of --best-by. One without a measure, because the command of the
 * user failed, is no failure of the model. */
static bool add_validation(struct tf_run *r, const struct tf_validation *v)
{
    const enum tf_best_by by = r->o->best_by;
    if (by == TF_BEST_COMMAND && isnan(v->metric)) {
        r->state.valid_step = r->state.step;
        return false;
    }
    const double value = by == TF_BEST_COMMAND ? v->metric
                         : by == TF_BEST_ACC   ? tf_sums_acc(&v->sums)
                                               : tf_sums_ppl(&v->sums);
    const bool best = tf_state_add_validation(&r->state, value, by != TF_BEST_PPL);
    const double more = by == TF_BEST_PPL ? value - r->state.best : r->state.best - value;
    r->much_worse = r->state.has_best && more > 0.05 * fabs(r->state.best);
    return best;
}

/* TF_RUN_NO_BATCH when a signal interrupted it. */
static int validate(struct tf_run *r, struct tf_err *err)
{
    char text[TF_SHELL_TEXT] = "";
    struct tf_validation v = {.metric = NAN, .text = text};
    double start = tf_now();
    const struct tf_header streams = tf_setup_streams(&r->setup);
    int rc = tf_validate(&v.sums, &r->stepper, r->o->valid, r->state.valid, &streams, r->env, err);
    r->begun_valid = true;
    if (rc == 0 && r->env->shell != NULL)
        rc = tf_run_valid_command(r, &v.metric, text, err);
    if (rc != 0)
        return rc < 0 ? -1 : TF_RUN_NO_BATCH;
    if (r->state.step == 0)
        r->report.untuned = v.metric;
    const struct tf_run_state before = r->state;
    v.best = add_validation(r, &v);
    v.seconds = tf_now() - start;
    if (tf_run_report_valid(&r->report, &r->state, &v, err) != 0)
        return -1;
    return check_collapse(r, &v.sums, &before, err);
}

int tf_run_save_rest(struct tf_run *r, struct tf_err *err)
{
    bool regular = tf_run_save_due(r) && !valid_due(r);
    if (r->saved.step != r->state.step && r->state.step > 0 &&
        tf_run_save(r, regular ? TF_SAVE_REGULAR : TF_SAVE_RESUME, false, err) != 0)
        return -1;
    return tf_run_wait_save(r, err);
}

/* Wait for a save in progress, and log the end. */
static int finish_run(struct tf_run *r, const char *reason, struct tf_err *err)
{
    if (tf_run_wait_save(r, err) != 0 ||
        tf_run_report_end(&r->report, &r->state, reason, tf_stepper_bytes(&r->stepper), err) != 0)
        return -1;
    return TF_RUN_ENDED;
}

int tf_run_complete(struct tf_run *r, const char *reason, struct tf_err *err)
{
    int rc = finish_run(r, reason, err);
    if (rc == TF_RUN_ENDED)
        tf_run_report_complete(r->o, &r->state, tf_saver_last(r->saved.saver),
                               r->much_worse);
    return rc;
}

int tf_run_stop(struct tf_run *r, struct tf_err *err)
{
    if (tf_run_save_rest(r, err) != 0)
        return -1;
    int rc = finish_run(r, "signal", err);
    const char *last = tf_saver_last(r->saved.saver);
    tf_note("stopped at step %llu%s%s%s", (unsigned long long)r->state.step,
            last != NULL ? ", saved in " : "", last != NULL ? last : "",
            r->o->weights_only ? "" : "; repeat the command to resume");
    return rc;
}

/* The checkpoints of this boundary. By the state alone, not by what was validated just now: a run
 * that was stopped between validation and save still lacks its best.tfm. */
static int save(struct tf_run *r, bool ends, struct tf_err *err)
{
    bool best = r->state.has_best && r->state.best_step == r->state.step &&
                r->saved.best_step != r->state.step;
    if (tf_run_save_due(r) || (ends && r->saved.regular_step < r->state.step))
        return tf_run_save(r, TF_SAVE_REGULAR, best, err);
    return best ? tf_run_save(r, TF_SAVE_BEST, false, err) : 0;
}

/* What was saved before stays as it is; *err of the caller says why the run stops. */
static void stop_collapsed(struct tf_run *r, struct tf_err *err)
{
    struct tf_err second = {0};
    if (finish_run(r, "collapse", &second) < 0)
        tf_warn("%s", second.msg);
    tf_run_add_last_good(r, err);
}

int tf_run_boundary(struct tf_run *r, struct tf_err *err)
{
    const struct tf_settings *o = r->o;
    const char *enough = tf_run_length_reached(o, &r->state);
    bool pause = tf_run_stopping(r->env) || valid_due(r) || tf_run_save_due(r) || enough != NULL;
    if ((pause && tf_run_collect_last(r, err) != 0) || tf_run_poll_save(r, err) != 0)
        return -1;
    if (tf_run_stopping(r->env))
        return tf_run_stop(r, err);
    if (valid_due(r)) {
        int rc = validate(r, err);
        if (rc == TF_RUN_NO_BATCH)
            return tf_run_stop(r, err);
        if (rc == TF_RUN_COLLAPSED)
            stop_collapsed(r, err);
        if (rc != 0)
            return rc;
    }
    bool stale = o->patience > 0 && r->state.stale >= (uint64_t)o->patience;
    if (save(r, enough != NULL || stale, err) != 0 || tf_run_save_requested(r, err) != 0)
        return -1;
    if (stale && enough == NULL)
        tf_note("stopping at step %llu: no improvement since step %llu",
                (unsigned long long)r->state.step, (unsigned long long)r->state.best_step);
    if (enough == NULL && !stale)
        return 0;
    return tf_run_complete(r, enough != NULL ? enough : "patience", err);
}
