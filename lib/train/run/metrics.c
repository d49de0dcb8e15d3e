/* metrics.c - the metrics of an update: waited for, checked for divergence, reported. */
#include "train/run/metrics_private.h"

#include <math.h>

bool tf_run_device_is_ahead(const struct tf_run *r)
{
    return !r->stepper.be->host;
}

static int report_divergence(struct tf_run *r, const struct tf_update_metrics *m,
                             struct tf_err *err)
{
    double loss = m->sums.loss / m->sums.tokens;
    r->saved.impossible = true;
    return tf_fail_status(err, TF_DIVERGED, "diverged at step %llu (loss %g, gradient norm %g)",
                          (unsigned long long)m->at.step, isnan(loss) ? NAN : loss, fabs(m->norm));
}

int tf_run_wait_metrics(struct tf_run *r, struct tf_update *u, struct tf_err *err)
{
    struct tf_update_metrics *m = &u->done;
    double norm2;
    if (!u->pending || u->known)
        return 0;
    u->known = true;
    if (tf_stepper_wait_metrics(&r->stepper, &u->arriving, &m->sums, &norm2, err) != 0) {
        r->saved.impossible = true;
        return -1;
    }
    m->norm = sqrt(norm2) / m->sums.tokens;
    return isfinite(m->norm) && isfinite(m->sums.loss) ? 0 : report_divergence(r, m, err);
}

int tf_run_collect_metrics(struct tf_run *r, struct tf_update *u, struct tf_err *err)
{
    if (!u->pending)
        return 0;
    if (tf_run_wait_metrics(r, u, err) != 0)
        return -1;
    u->pending = false;
    return tf_run_report_update(&r->report, &u->done, err);
}

int tf_run_collect_last(struct tf_run *r, struct tf_err *err)
{
    return tf_run_collect_metrics(r, &r->updates[r->last], err);
}
