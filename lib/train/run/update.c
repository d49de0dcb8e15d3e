/* update.c - one update: batches from the feed into the stepper, then Adam. */
#include "train/run/update_private.h"
#include "train/run/checkpoints_private.h"
#include "train/run/metrics_private.h"

/* The next item of the feed; NULL when a stop is requested. While the stream is waited for, the
 * last boundary is still the state to save. */
static int wait_item(struct tf_run *r, const struct tf_feed_item **item, struct tf_err *err)
{
    struct tf_feed *feed = r->setup.feed;
    if (!tf_feed_ready(feed) && tf_run_collect_last(r, err) != 0)
        return -1;
    while ((*item = tf_feed_next(feed)) == NULL && !tf_run_stopping(r->env)) {
        if (tf_run_poll_save(r, err) != 0 || tf_run_save_requested(r, err) != 0 ||
            tf_stepper_idle(&r->stepper, err) != 0)
            return -1;
    }
    if (tf_run_stopping(r->env))
        *item = NULL;
    return 0;
}

/* Add the gradient of one batch; *next counts it. */
static int add_batch(struct tf_run *r, const struct tf_feed_item *item, struct tf_run_state *next,
                     struct tf_err *err)
{
    const struct tf_pairs *p = &item->pairs;
    const struct tf_rng_state rng = {.seed = (uint64_t)r->o->seed, .update = (uint32_t)next->micro};
    if (tf_stepper_add(&r->stepper, p, &rng, err) != 0)
        return tf_context(err, "step %llu", (unsigned long long)next->step + 1);
    next->micro++;
    next->src_tokens += p->src_off[p->n];
    next->tgt_tokens += p->tgt_off[p->n];
    next->cursor = item->next;
    return 0;
}

/* Add all micro-batches of one update; *next becomes the state after it. */
static int add_batches(struct tf_run *r, struct tf_run_state *next, struct tf_err *err)
{
    tf_stepper_begin(&r->stepper);
    for (int64_t i = 0; i < r->o->accumulate; i++) {
        const struct tf_feed_item *item;
        if (wait_item(r, &item, err) != 0)
            return -1;
        if (item == NULL)
            return TF_RUN_NO_BATCH;
        switch (item->kind) {
        case TF_FEED_BATCH:
            if (add_batch(r, item, next, err) != 0)
                return -1;
            tf_feed_pop(r->setup.feed);
            break;
        case TF_FEED_END:
            if (i > 0)
                tf_note("the stream ended within an update: %lld of %lld batches were not used",
                        (long long)i, (long long)r->o->accumulate);
            return TF_RUN_NO_BATCH;
        case TF_FEED_ERROR:
            *err = item->err;
            return TF_RUN_BAD_INPUT;
        }
    }
    next->step++;
    return 0;
}

static struct tf_adam adam_of(const struct tf_run *r, const struct tf_update *u)
{
    const struct tf_settings *o = r->o;
    uint64_t tokens = u->done.at.tgt_tokens - r->state.tgt_tokens;
    return (struct tf_adam){
        .lr = u->done.lr,
        .beta1 = o->beta1,
        .beta2 = o->beta2,
        .eps = o->adam_eps,
        .gscale = 1 / (double)tokens,
        .clip = o->clip,
        .decay = o->weight_decay,
        .t = u->done.at.step,
        .eps_hat = o->eps_hat,
    };
}

int tf_run_update(struct tf_run *r, struct tf_err *err)
{
    struct tf_run_state next = r->state;
    int rc = add_batches(r, &next, err);
    if (rc != 0)
        return rc;
    bool ahead = tf_run_device_is_ahead(r);
    struct tf_update *before = &r->updates[r->last], *u = &r->updates[1 - r->last];
    *u = (struct tf_update){
        .pending = true,
        .done = {.at = next, .lr = tf_schedule_lr(&r->setup.schedule, next.step)},
    };
    if (tf_stepper_measure(&r->stepper, &u->arriving, err) != 0) {
        u->pending = false;
        return tf_context(err, "step %llu", (unsigned long long)next.step);
    }
    if (!ahead && tf_run_wait_metrics(r, u, err) != 0)
        return -1;
    const struct tf_adam adam = adam_of(r, u);
    tf_saver_release(r->saved.saver);
    if (tf_stepper_apply(&r->stepper, &adam, r->o->ema, err) != 0) {
        r->saved.impossible = true; /* some ranks may have applied it */
        return -1;
    }
    r->state = next;
    r->last = 1 - r->last;
    return tf_run_collect_metrics(r, ahead ? before : u, err);
}
