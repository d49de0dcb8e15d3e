/* worker.c - see worker.h. */
#include "train/ranks/worker.h"
#include "train/ranks/pairs_bytes_private.h"
#include "train/ranks/ranked.h"

/* Seconds that rank 0 may take to load a model and to wait for the stream's header, which is before
 * it can say that it is alive. */
enum { LOADING = 600 };

struct worker {
    struct tf_team *team;
    int threads;
    struct tf_stepper stepper; /* zero before the first order */
    struct tf_buf bytes;       /* that came with an order */
    struct tf_pairs pairs;
};

/* n bytes came with the order. */
static int start_worker(struct worker *w, const struct tf_team_start *o, size_t n,
                        struct tf_err *err)
{
    const struct tf_stepper_start start = {.ema = o->ema,
                                           .accumulate = o->accumulate,
                                           .shards = o->shards,
                                           .threads = w->threads,
                                           .tuning = n > 0 ? w->bytes.p : NULL,
                                           .tuning_name = "--tuning",
                                           .tuning_n = n,
                                           .freeze = o->frozen ? o->freeze : NULL};
    return tf_ranked_init(&w->stepper, w->team, w->team->be, &o->config, &start, o->moments, err);
}

static void receive(struct worker *w, const struct tf_order *o)
{
    if (o->add.number == 0)
        tf_stepper_begin(&w->stepper);
    if (o->n > 0)
        tf_ranked_receive(&w->stepper, w->bytes.p, &o->add.rng);
}

static int measure_part(struct worker *w, struct tf_err *err)
{
    struct tf_stepper_metrics m;
    struct tf_sums ignored = {0};
    double norm2;
    return tf_stepper_measure(&w->stepper, &m, err) == 0
               ? tf_stepper_wait_metrics(&w->stepper, &m, &ignored, &norm2, err)
               : -1;
}

static int evaluate_part(struct worker *w, struct tf_err *err)
{
    struct tf_sums ignored = {0};
    tf_pairs_get(&w->pairs, w->bytes.p);
    return tf_stepper_evaluate(&w->stepper, &ignored, &w->pairs, err);
}

static int obey(struct worker *w, const struct tf_order *o, struct tf_err *err)
{
    switch (o->kind) {
    case TF_ORDER_START:
        return start_worker(w, &o->start, o->n, err);
    case TF_ORDER_ADD:
        receive(w, o);
        return 0;
    case TF_ORDER_MEASURE:
        return measure_part(w, err);
    case TF_ORDER_APPLY:
        return tf_stepper_apply(&w->stepper, &o->apply.adam, o->apply.ema_decay, err);
    case TF_ORDER_EVALUATE:
        return evaluate_part(w, err);
    case TF_ORDER_COLLECT:
        return tf_stepper_collect(&w->stepper, NULL, (enum tf_stepper_block)o->block, err);
    case TF_ORDER_COMPARE:
        return tf_stepper_compare(&w->stepper, err);
    case TF_ORDER_IDLE:
        return tf_stepper_idle(&w->stepper, err);
    case TF_ORDER_RELEASE:
        tf_stepper_release(&w->stepper);
        return 0;
    case TF_ORDER_QUIT:
        return 0;
    }
    return 0;
}

int tf_worker(struct tf_team *t, int threads, struct tf_err *err)
{
    struct worker w = {.team = t, .threads = threads};
    struct tf_order o = {.kind = TF_ORDER_IDLE};
    const double limit = t->comm.limit;
    int rc = 0;
    if (limit < LOADING)
        t->comm.limit = LOADING;
    while (rc == 0 && o.kind != TF_ORDER_QUIT) {
        struct tf_err ignored = {0};
        rc = tf_team_receive(t, &o, &w.bytes, err);
        t->comm.limit = limit;
        if (rc == 0 && obey(&w, &o, &ignored) != 0 && t->comm.failed) {
            *err = ignored;
            rc = -1;
        }
    }
    tf_stepper_release(&w.stepper);
    tf_pairs_release(&w.pairs);
    tf_buf_release(&w.bytes);
    return rc == 0 ? o.status
                   : tf_context(err, "rank %d (%s)", t->comm.rank, t->comm.host[t->comm.rank]);
}
