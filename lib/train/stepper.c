/* stepper.c - updates over the lanes. Shards and chunks fix what is computed; lanes decide only who
 * computes it. */
#include "train/stepper.h"
#include "base/memory.h"

#include <stdlib.h>

static tf_mem *at(const struct tf_stepper *s, tf_mem *p, size_t i)
{
    return tf_at(s->be, TF_ELEM_PARAM, p, i);
}

/* ---- creation and release ---- */

static tf_mem *block(struct tf_stepper *s, const float *from, struct tf_err *err)
{
    size_t n = s->w.params.size;
    tf_mem *p = s->be->alloc(s->ctx[0], TF_ELEM_PARAM, n, err);
    if (p != NULL && from != NULL)
        tf_floats_up(s->be, s->ctx[0], p, TF_ELEM_PARAM, from, n);
    return p;
}

static int open_lanes(struct tf_stepper *s, const struct tf_stepper_start *start,
                      struct tf_err *err)
{
    s->pool = tf_pool_new(s->be->threads && start->threads > 1 ? start->threads : 1);
    int want = tf_pool_lanes(s->pool);
    s->ctx = tf_xcalloc((size_t)want, sizeof *s->ctx);
    s->work = tf_xcalloc((size_t)want, sizeof *s->work);
    const struct tf_ctx_opts o = {.threads = want};
    for (; s->lanes < want; s->lanes++)
        if ((s->ctx[s->lanes] = s->be->open(&o, err)) == NULL)
            return tf_context(err, "%s", s->be->name);
    if (start->tuning != NULL &&
        s->be->set_tuning(s->ctx[0], start->tuning, start->tuning_n, err) != 0)
        return tf_context(err, "%s", start->tuning_name);
    return start->tune ? s->be->start_tuning(s->ctx[0], err) : 0;
}

size_t tf_stepper_gradients(int lanes, int shards, bool accumulate)
{
    return tf_shards_buffers(lanes, shards) + accumulate;
}

static int alloc_blocks(struct tf_stepper *s, const struct tf_stepper_start *start,
                        struct tf_err *err)
{
    size_t n = s->w.params.size, shards = (size_t)s->be->shards;
    s->grads.n = tf_stepper_gradients(s->lanes, s->be->shards, start->accumulate);
    s->grads.all = tf_xcalloc(s->grads.n, sizeof *s->grads.all);
    s->grads.unused = tf_xcalloc(s->grads.n, sizeof *s->grads.unused);
    s->accumulate = start->accumulate;
    if ((s->m = block(s, start->m, err)) == NULL || (s->v = block(s, start->v, err)) == NULL)
        return -1;
    if (start->ema && (s->e = block(s, start->e != NULL ? start->e : start->p, err)) == NULL)
        return -1;
    for (size_t i = 0; i < s->grads.n; i++)
        if ((s->grads.all[i] = block(s, NULL, err)) == NULL)
            return -1;
    s->chunk = s->be->threads ? TF_NORM_CHUNK : n;
    if ((s->norms = s->be->alloc(s->ctx[0], TF_ELEM_F64, (n + s->chunk - 1) / s->chunk, err)) ==
        NULL)
        return -1;
    if ((s->metrics = s->be->alloc(s->ctx[0], TF_ELEM_F64, 4 * shards + 1, err)) == NULL)
        return -1;
    s->norm2 = tf_at(s->be, TF_ELEM_F64, s->metrics, 4 * shards);
    return s->be->sync(s->ctx[0], err);
}

int tf_stepper_init(struct tf_stepper *s, const struct tf_backend *be, const struct tf_config *c,
                    const struct tf_stepper_start *start, struct tf_err *err)
{
    *s = (struct tf_stepper){.be = be};
    TF_ASSERT(be->shards >= 1 && be->shards <= TF_MAX_SHARDS &&
              (be->shards & (be->shards - 1)) == 0);
    if (open_lanes(s, start, err) != 0 ||
        tf_weights_init(&s->w, be, s->ctx[0], c, start->p, err) != 0 ||
        alloc_blocks(s, start, err) != 0) {
        tf_stepper_release(s);
        return -1;
    }
    for (int i = 0; i < s->lanes; i++)
        s->work[i] = tf_work_new(&s->w, s->ctx[i]);
    tf_stepper_begin(s);
    return 0;
}

void tf_stepper_release(struct tf_stepper *s)
{
    for (int i = 0; s->work != NULL && i < s->lanes; i++)
        tf_work_free(s->work[i]);
    if (s->lanes > 0) {
        tf_mem *all[] = {s->m, s->v, s->e, s->norms, s->metrics};
        for (size_t i = 0; i < sizeof all / sizeof *all; i++)
            if (all[i] != NULL)
                s->be->free(s->ctx[0], all[i]);
        for (size_t i = 0; i < s->grads.n && s->grads.all[i] != NULL; i++)
            s->be->free(s->ctx[0], s->grads.all[i]);
        if (s->w.be != NULL)
            tf_weights_release(&s->w);
    }
    for (int i = 0; i < s->lanes; i++)
        s->be->close(s->ctx[i]);
    tf_pool_free(s->pool);
    free(s->ctx);
    free(s->work);
    free(s->grads.all);
    free(s->grads.unused);
    *s = (struct tf_stepper){0};
}

/* ---- flat blocks over lanes ---- */

struct chunks {
    struct tf_stepper *s;
    tf_mem *a, *b;
    const struct tf_adam *adam;
    double decay;
};

static size_t span(const struct tf_stepper *s, size_t job)
{
    size_t left = s->w.params.size - job * s->chunk;
    return left < s->chunk ? left : s->chunk;
}

static void run_chunks(struct tf_stepper *s, void (*job)(void *, size_t, int), struct chunks c)
{
    c.s = s;
    tf_pool_run(s->pool, job, &c, (s->w.params.size + s->chunk - 1) / s->chunk);
}

static void add_job(void *arg, size_t job, int lane)
{
    struct chunks *c = arg;
    struct tf_stepper *s = c->s;
    s->be->add(s->ctx[lane], at(s, c->a, job * s->chunk), at(s, c->b, job * s->chunk),
               span(s, job));
}

static void norm_job(void *arg, size_t job, int lane)
{
    struct chunks *c = arg;
    struct tf_stepper *s = c->s;
    s->be->sumsq(s->ctx[lane], tf_at(s->be, TF_ELEM_F64, s->norms, job),
                 at(s, c->a, job * s->chunk), span(s, job));
}

static void adam_job(void *arg, size_t job, int lane)
{
    struct chunks *c = arg;
    struct tf_stepper *s = c->s;
    size_t i = job * s->chunk;
    s->be->adam(s->ctx[lane], at(s, s->w.flat, i), at(s, s->m, i), at(s, s->v, i), at(s, c->a, i),
                span(s, job), s->norm2, c->adam);
    if (s->e != NULL)
        s->be->ema(s->ctx[lane], at(s, s->e, i), at(s, s->w.flat, i), span(s, job), c->decay);
}

/* ---- updates ---- */

void tf_stepper_begin(struct tf_stepper *s)
{
    for (s->grads.n_unused = 0; s->grads.n_unused < s->grads.n; s->grads.n_unused++)
        s->grads.unused[s->grads.n_unused] = s->grads.all[s->grads.n_unused];
    s->total = NULL;
    s->be->zero(s->ctx[0], s->metrics, TF_ELEM_F64, 4 * (size_t)s->be->shards);
}

static struct tf_shards shards_of(struct tf_stepper *s)
{
    return (struct tf_shards){
        .w = &s->w,
        .ctx = s->ctx,
        .work = s->work,
        .pool = s->pool,
        .grads = &s->grads,
        .sums = s->metrics,
    };
}

int tf_stepper_add(struct tf_stepper *s, const struct tf_pairs *p, const struct tf_rng_state *rng,
                   struct tf_err *err)
{
    TF_ASSERT(p->n > 0 && (s->total == NULL || s->accumulate));
    const struct tf_shards shards = shards_of(s);
    tf_mem *g = tf_shards_backward(&shards, p, rng, err);
    if (g == NULL)
        return -1;
    if (s->total == NULL) {
        s->total = g;
    } else {
        run_chunks(s, add_job, (struct chunks){.a = s->total, .b = g});
        s->grads.unused[s->grads.n_unused++] = g;
    }
    return 0;
}

int tf_stepper_measure(struct tf_stepper *s, struct tf_stepper_metrics *m, struct tf_err *err)
{
    size_t n = (s->w.params.size + s->chunk - 1) / s->chunk;
    run_chunks(s, norm_job, (struct chunks){.a = s->total});
    s->be->sum(s->ctx[0], s->norm2, s->norms, n);
    return s->be->download_async(s->ctx[0], m->v, s->metrics, 4 * (size_t)s->be->shards + 1, err);
}

int tf_stepper_wait_metrics(struct tf_stepper *s, const struct tf_stepper_metrics *m,
                            struct tf_sums *sums, double *norm2, struct tf_err *err)
{
    size_t shards = (size_t)s->be->shards;
    if (s->be->download_wait(s->ctx[0], err) != 0)
        return -1;
    for (size_t i = 0; i < shards; i++) {
        const struct tf_sums more = tf_sums_of(m->v + 4 * i);
        tf_sums_add(sums, &more);
    }
    *norm2 = m->v[4 * shards];
    return 0;
}

void tf_stepper_apply(struct tf_stepper *s, const struct tf_adam *h, double ema_decay)
{
    run_chunks(s, adam_job, (struct chunks){.a = s->total, .adam = h, .decay = ema_decay});
}

int tf_stepper_evaluate(struct tf_stepper *s, struct tf_sums *sums, const struct tf_pairs *p,
                        struct tf_err *err)
{
    const struct tf_shards shards = shards_of(s);
    return tf_shards_forward(&shards, sums, p, err);
}

int tf_stepper_download(struct tf_stepper *s, float *dst, const tf_mem *src, struct tf_err *err)
{
    return tf_floats_down(s->be, s->ctx[0], dst, TF_ELEM_PARAM, src, s->w.params.size, err);
}

size_t tf_stepper_bytes(const struct tf_stepper *s)
{
    size_t blocks = 3 + (s->e != NULL) + s->grads.n,
           bytes = blocks * s->w.params.size * s->be->elem_size[TF_ELEM_PARAM];
    for (int i = 0; i < s->lanes; i++)
        bytes += tf_work_bytes(s->work[i]);
    return bytes;
}
