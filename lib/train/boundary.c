/* boundary.c - between two updates: validate, save, stop. */
#include "train/loop.h"
#include "train/signals.h"
#include "train/validate.h"

static bool valid_due(const struct tf_run *r)
{
    return r->o->valid != NULL && tf_run_is_multiple(r, r->o->valid_every) &&
           r->state.valid_step < r->state.step;
}

/* 1 when a signal interrupted it. */
static int validate(struct tf_run *r, struct tf_err *err)
{
    struct tf_sums sums;
    double start = tf_now();
    int rc = tf_validate(&sums, &r->stepper, r->o->valid, &r->setup.common.header, &tf_stop, err);
    if (rc != 0)
        return rc;
    bool by_acc = r->o->best_by == TF_BEST_ACC,
         best = tf_state_add_validation(&r->state, by_acc ? tf_sums_acc(&sums) : tf_sums_ppl(&sums),
                                        by_acc);
    return tf_run_report_valid(&r->report, &r->state, &sums, best, tf_now() - start, err);
}

int tf_run_save_rest(struct tf_run *r, struct tf_err *err)
{
    bool regular = tf_run_save_due(r) && !valid_due(r);
    if (r->saved.step != r->state.step && r->state.step > 0 &&
        tf_run_save(r, regular ? TF_SAVE_REGULAR : TF_SAVE_RESUME, false, err) != 0)
        return -1;
    return tf_run_wait_save(r, err);
}

int tf_run_finish(struct tf_run *r, const char *reason, struct tf_err *err)
{
    if (tf_run_wait_save(r, err) != 0 || tf_run_report_end(&r->report, r->state.step, reason,
                                                           tf_stepper_bytes(&r->stepper), err) != 0)
        return -1;
    return TF_RUN_ENDED;
}

int tf_run_stop(struct tf_run *r, struct tf_err *err)
{
    if (tf_run_save_rest(r, err) != 0)
        return -1;
    int rc = tf_run_finish(r, "signal", err);
    const char *last = tf_saver_last(r->saved.saver);
    tf_note("stopped at step %llu%s%s", (unsigned long long)r->state.step,
            last != NULL ? ", saved in " : "", last != NULL ? last : "");
    return rc;
}

/* The checkpoints of this boundary. By the state alone, not by what was validated just now: a run
 * that was stopped between validation and save still lacks its best.tfm. */
static int save(struct tf_run *r, bool ends, struct tf_err *err)
{
    bool best = r->state.has_best && r->state.best_step == r->state.step;
    if (tf_run_save_due(r) || (ends && r->saved.regular_step < r->state.step))
        return tf_run_save(r, TF_SAVE_REGULAR, best, err);
    return best ? tf_run_save(r, TF_SAVE_BEST, false, err) : 0;
}

int tf_run_boundary(struct tf_run *r, struct tf_err *err)
{
    const struct tf_run_opts *o = r->o;
    bool enough = r->state.step >= (uint64_t)o->steps;
    bool pause = tf_stop || valid_due(r) || tf_run_save_due(r) || enough;
    if ((pause && tf_run_collect_last(r, err) != 0) || tf_run_poll_save(r, err) != 0)
        return -1;
    if (tf_stop)
        return tf_run_stop(r, err);
    if (valid_due(r)) {
        int rc = validate(r, err);
        if (rc != 0)
            return rc < 0 ? -1 : tf_run_stop(r, err);
    }
    bool stale = o->patience > 0 && r->state.stale >= (uint64_t)o->patience;
    if (save(r, enough || stale, err) != 0 || tf_run_save_requested(r, err) != 0)
        return -1;
    if (stale && !enough)
        tf_note("stopping at step %llu: no improvement since step %llu",
                (unsigned long long)r->state.step, (unsigned long long)r->state.best_step);
    return enough || stale ? tf_run_finish(r, enough ? "steps" : "patience", err) : 0;
}
