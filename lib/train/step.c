/* step.c - one update over the lanes. What is computed is fixed by shards and chunks; lanes decide
 * only who computes it. */
#include "train/step.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static tf_mem *at(const struct tf_stepper *s, tf_mem *p, size_t i)
{
    return tf_at(s->be, TF_ELEM_PARAM, p, i);
}

/* ---- life ---- */

static tf_mem *block(struct tf_stepper *s, const float *from, struct tf_err *err)
{
    size_t n = s->w.params.size;
    tf_mem *p = s->be->alloc(s->ctx[0], TF_ELEM_PARAM, n, err);
    if (p != NULL && from != NULL)
        tf_floats_up(s->be, s->ctx[0], p, TF_ELEM_PARAM, from, n);
    return p;
}

static int open_lanes(struct tf_stepper *s, const struct tf_step_start *start, struct tf_err *err)
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

/* With so many for the tree, whenever every lane waits for one, one is free: what is done holds at
 * most one a level at a time. */
size_t tf_step_buffers(int lanes, int shards, bool accumulate)
{
    int levels = 0;
    while (1 << levels < shards)
        levels++;
    return (size_t)(lanes + levels < shards ? lanes + levels : shards) + accumulate;
}

static int alloc_blocks(struct tf_stepper *s, const struct tf_step_start *start, struct tf_err *err)
{
    size_t n = s->w.params.size, shards = (size_t)s->be->shards;
    s->n_grads = tf_step_buffers(s->lanes, s->be->shards, start->accumulate);
    s->grads = tf_xcalloc(s->n_grads, sizeof *s->grads);
    s->spare = tf_xcalloc(s->n_grads, sizeof *s->spare);
    s->accumulate = start->accumulate;
    if ((s->m = block(s, start->m, err)) == NULL || (s->v = block(s, start->v, err)) == NULL)
        return -1;
    if (start->ema && (s->e = block(s, start->e != NULL ? start->e : start->p, err)) == NULL)
        return -1;
    for (size_t i = 0; i < s->n_grads; i++)
        if ((s->grads[i] = block(s, NULL, err)) == NULL)
            return -1;
    s->chunk = s->be->threads ? TF_STEP_CHUNK : n;
    if ((s->norms = s->be->alloc(s->ctx[0], TF_ELEM_F64, (n + s->chunk - 1) / s->chunk, err)) ==
        NULL)
        return -1;
    if ((s->figures = s->be->alloc(s->ctx[0], TF_ELEM_F64, 4 * shards + 1, err)) == NULL)
        return -1;
    s->norm2 = tf_at(s->be, TF_ELEM_F64, s->figures, 4 * shards);
    return s->be->sync(s->ctx[0], err);
}

int tf_stepper_init(struct tf_stepper *s, const struct tf_backend *be, const struct tf_config *c,
                    const struct tf_step_start *start, struct tf_err *err)
{
    *s = (struct tf_stepper){.be = be};
    TF_ASSERT(be->shards >= 1 && be->shards <= TF_STEP_SHARDS &&
              (be->shards & (be->shards - 1)) == 0);
    if (open_lanes(s, start, err) != 0 ||
        tf_weights_init(&s->w, be, s->ctx[0], c, start->p, err) != 0 ||
        alloc_blocks(s, start, err) != 0) {
        tf_stepper_release(s);
        return -1;
    }
    for (int i = 0; i < s->lanes; i++)
        s->work[i] = tf_work_new(&s->w, s->ctx[i]);
    tf_step_begin(s);
    return 0;
}

void tf_stepper_release(struct tf_stepper *s)
{
    for (int i = 0; s->work != NULL && i < s->lanes; i++)
        tf_work_free(s->work[i]);
    if (s->lanes > 0) {
        tf_mem *all[] = {s->m, s->v, s->e, s->norms, s->figures};
        for (size_t i = 0; i < sizeof all / sizeof *all; i++)
            if (all[i] != NULL)
                s->be->free(s->ctx[0], all[i]);
        for (size_t i = 0; i < s->n_grads && s->grads[i] != NULL; i++)
            s->be->free(s->ctx[0], s->grads[i]);
        if (s->w.be != NULL)
            tf_weights_release(&s->w);
    }
    for (int i = 0; i < s->lanes; i++)
        s->be->close(s->ctx[i]);
    tf_pool_free(s->pool);
    free(s->ctx);
    free(s->work);
    free(s->grads);
    free(s->spare);
    *s = (struct tf_stepper){0};
}

/* ---- gradients: shards over lanes, sums over a tree ---- */

struct shards {
    struct tf_stepper *s;
    const struct tf_pairs *pairs;
    const struct tf_rng_state *step; /* NULL: forward only */
    size_t cut[TF_STEP_SHARDS + 1];
    struct tf_sums sums[TF_STEP_SHARDS]; /* forward only */
    pthread_mutex_t lock;       /* guards all below, and the stepper's spare buffers */
    pthread_cond_t freed;
    /* of a heap: 1 the root, shards + i the leaves; NULL: no sentence in it */
    tf_mem *node[2 * TF_STEP_SHARDS];
    bool done[2 * TF_STEP_SHARDS];
    struct tf_err err;
};

static tf_mem *take(struct shards *r)
{
    pthread_mutex_lock(&r->lock);
    while (r->s->n_spare == 0 && r->err.status == 0)
        pthread_cond_wait(&r->freed, &r->lock);
    tf_mem *g = r->err.status == 0 ? r->s->spare[--r->s->n_spare] : NULL;
    pthread_mutex_unlock(&r->lock);
    return g;
}

static void give(struct shards *r, tf_mem *g)
{
    r->s->spare[r->s->n_spare++] = g;
    pthread_cond_signal(&r->freed);
}

/* A node is done: while its sibling is done too, the left takes the right in and the parent is
 * done. */
static void climb(struct shards *r, size_t i, tf_mem *g, int lane)
{
    struct tf_stepper *s = r->s;
    pthread_mutex_lock(&r->lock);
    for (;;) {
        r->node[i] = g;
        r->done[i] = true;
        if (i == 1 || !r->done[i ^ 1])
            break;
        tf_mem *left = r->node[i & ~(size_t)1], *right = r->node[i | 1];
        g = left != NULL ? left : right;
        if (left != NULL && right != NULL) {
            pthread_mutex_unlock(&r->lock);
            s->be->add(s->ctx[lane], left, right, s->w.params.size);
            struct tf_err e = {0};
            int rc = s->be->sync(s->ctx[lane], &e);
            pthread_mutex_lock(&r->lock);
            give(r, right);
            if (rc != 0 && r->err.status == 0)
                r->err = e;
        }
        i /= 2;
    }
    pthread_mutex_unlock(&r->lock);
}

static void fail(struct shards *r, const struct tf_err *e)
{
    pthread_mutex_lock(&r->lock);
    if (r->err.status == 0)
        r->err = *e;
    pthread_cond_broadcast(&r->freed);
    pthread_mutex_unlock(&r->lock);
}

static void backward_job(void *arg, size_t job, int lane)
{
    struct shards *r = arg;
    struct tf_stepper *s = r->s;
    struct tf_err e = {0};
    tf_mem *g = NULL;
    if (r->cut[job] < r->cut[job + 1]) {
        if ((g = take(r)) == NULL)
            return;
        tf_mem *acc = tf_at(s->be, TF_ELEM_F64, s->figures, 4 * job);
        if (tf_queue_backward(s->work[lane], g, acc, r->pairs, r->cut[job], r->cut[job + 1],
                              r->step, &e) != 0) {
            fail(r, &e);
            return;
        }
    }
    climb(r, (size_t)s->be->shards + job, g, lane);
}

static void forward_job(void *arg, size_t job, int lane)
{
    struct shards *r = arg;
    struct tf_err e = {0};
    if (r->cut[job] < r->cut[job + 1] && tf_forward(r->s->work[lane], &r->sums[job], NULL, r->pairs,
                                                    r->cut[job], r->cut[job + 1], &e) != 0)
        fail(r, &e);
}

static int run_shards(struct shards *r, void (*job)(void *, size_t, int), struct tf_err *err)
{
    struct tf_stepper *s = r->s;
    size_t n = (size_t)s->be->shards;
    if (tf_weights_positions(&s->w, r->pairs->longest, err) != 0)
        return -1;
    tf_pairs_cut(r->cut, n, r->pairs);
    pthread_mutex_init(&r->lock, NULL);
    pthread_cond_init(&r->freed, NULL);
    tf_pool_run(s->pool, job, r, n);
    pthread_cond_destroy(&r->freed);
    pthread_mutex_destroy(&r->lock);
    if (r->err.status != 0) {
        *err = r->err;
        return -1;
    }
    return 0;
}

void tf_step_begin(struct tf_stepper *s)
{
    for (s->n_spare = 0; s->n_spare < s->n_grads; s->n_spare++)
        s->spare[s->n_spare] = s->grads[s->n_spare];
    s->total = NULL;
    s->be->zero(s->ctx[0], s->figures, TF_ELEM_F64, 4 * (size_t)s->be->shards);
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

int tf_step_add(struct tf_stepper *s, const struct tf_pairs *p, const struct tf_rng_state *step,
                struct tf_err *err)
{
    struct shards r = {.s = s, .pairs = p, .step = step};
    TF_ASSERT(p->n > 0 && (s->total == NULL || s->accumulate));
    if (run_shards(&r, backward_job, err) != 0)
        return -1;
    if (s->total == NULL) {
        s->total = r.node[1];
    } else {
        run_chunks(s, add_job, (struct chunks){.a = s->total, .b = r.node[1]});
        s->spare[s->n_spare++] = r.node[1];
    }
    return 0;
}

void tf_step_look(struct tf_stepper *s, struct tf_step_figures *f)
{
    size_t n = (s->w.params.size + s->chunk - 1) / s->chunk;
    run_chunks(s, norm_job, (struct chunks){.a = s->total});
    s->be->sum(s->ctx[0], s->norm2, s->norms, n);
    s->be->download_async(s->ctx[0], f->v, s->figures, 4 * (size_t)s->be->shards + 1);
}

int tf_step_found(struct tf_stepper *s, const struct tf_step_figures *f, struct tf_sums *sums,
                  double *norm2, struct tf_err *err)
{
    size_t shards = (size_t)s->be->shards;
    if (s->be->download_wait(s->ctx[0], err) != 0)
        return -1;
    for (size_t i = 0; i < shards; i++) {
        const struct tf_sums more = tf_sums_of(f->v + 4 * i);
        tf_sums_add(sums, &more);
    }
    *norm2 = f->v[4 * shards];
    return 0;
}

void tf_step_apply(struct tf_stepper *s, const struct tf_adam *h, double ema_decay)
{
    run_chunks(s, adam_job, (struct chunks){.a = s->total, .adam = h, .decay = ema_decay});
}

int tf_step_evaluate(struct tf_stepper *s, struct tf_sums *sums, const struct tf_pairs *p,
                     struct tf_err *err)
{
    struct shards r = {.s = s, .pairs = p};
    if (run_shards(&r, forward_job, err) != 0)
        return -1;
    for (int i = 0; i < s->be->shards; i++)
        tf_sums_add(sums, &r.sums[i]);
    return 0;
}

int tf_step_download(struct tf_stepper *s, float *dst, const tf_mem *src, struct tf_err *err)
{
    return tf_floats_down(s->be, s->ctx[0], dst, TF_ELEM_PARAM, src, s->w.params.size, err);
}

size_t tf_step_bytes(const struct tf_stepper *s)
{
    size_t blocks = 3 + (s->e != NULL) + s->n_grads,
           bytes = blocks * s->w.params.size * s->be->elem_size[TF_ELEM_PARAM];
    for (int i = 0; i < s->lanes; i++)
        bytes += tf_work_bytes(s->work[i]);
    return bytes;
}
