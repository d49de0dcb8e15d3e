/* stepper.c - updates over the lanes. Shards and chunks fix what is computed; lanes decide only who
 * computes it. */
#include "train/step/stepper.h"
#include "base/memory.h"
#include "ops/floats.h"

#include <stdlib.h>

static tf_mem *at(const struct tf_stepper *s, tf_mem *p, size_t i)
{
    return tf_at(s->be, TF_ELEM_PARAM, p, i);
}

/* ---- creation and release ---- */

static size_t norm_chunks(const struct tf_stepper *s)
{
    return (s->w.params.size + s->be->norm_chunk - 1) / s->be->norm_chunk;
}

static tf_mem *new_block(struct tf_stepper *s, const float *from, size_t n, struct tf_err *err)
{
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

size_t tf_stepper_gradients(int lanes, size_t shards, int64_t accumulate)
{
    size_t n = tf_shards_buffers(lanes, (int)shards);
    while (accumulate >>= 1) /* finished subtrees, one a level */
        n++;
    return n;
}

static const float *part_of(const struct tf_stepper *s, const float *block)
{
    return block != NULL ? block + s->share.from : NULL;
}

static int alloc_blocks(struct tf_stepper *s, const struct tf_stepper_start *start,
                        struct tf_err *err)
{
    const struct tf_share *own = &s->share;
    const size_t n = s->w.params.size, part = own->to - own->from, shards = (size_t)s->shards;
    const float *e = start->e != NULL ? start->e : start->p;
    s->grads.n = tf_stepper_gradients(s->lanes, own->shards.last - own->shards.first,
                                      own->last - own->first);
    if (s->grads.n < start->gradients)
        s->grads.n = start->gradients;
    s->grads.all = tf_xcalloc(s->grads.n, sizeof *s->grads.all);
    s->grads.unused = tf_xcalloc(s->grads.n, sizeof *s->grads.unused);
    if ((s->m = new_block(s, part_of(s, start->m), part, err)) == NULL ||
        (s->v = new_block(s, part_of(s, start->v), part, err)) == NULL)
        return -1;
    if (start->ema && (s->e = new_block(s, part_of(s, e), part, err)) == NULL)
        return -1;
    for (size_t i = 0; i < s->grads.n; i++)
        if ((s->grads.all[i] = new_block(s, NULL, n, err)) == NULL)
            return -1;
    if ((s->norms = s->be->alloc(s->ctx[0], TF_ELEM_F64, norm_chunks(s), err)) == NULL)
        return -1;
    if ((s->metrics = s->be->alloc(s->ctx[0], TF_ELEM_F64, 4 * shards + 1, err)) == NULL)
        return -1;
    s->norm2 = tf_at(s->be, TF_ELEM_F64, s->metrics, 4 * shards);
    return s->be->sync(s->ctx[0], err);
}

static int create_stepper(struct tf_stepper *s, const struct tf_config *c,
                          const struct tf_stepper_start *start, struct tf_err *err)
{
    if (open_lanes(s, start, err) != 0 ||
        tf_weights_init(&s->w, s->be, s->ctx[0], c, start->p, err) != 0)
        return -1;
    if (tf_frozen_init(&s->frozen, &s->w.params, start->freeze, err) != 0)
        return -1;
    s->w.encoder_is_frozen = s->frozen.encoder;
    s->share = start->share != NULL ? *start->share
                                    : (struct tf_share){.last = s->accumulate,
                                                        .shards = {0, (size_t)s->shards},
                                                        .to = s->w.params.size};
    if (alloc_blocks(s, start, err) != 0)
        return -1;
    for (int i = 0; i < s->lanes; i++)
        s->work[i] = tf_work_new(&s->w, s->ctx[i]);
    tf_share_begin(s);
    return 0;
}

void tf_share_release(struct tf_stepper *s)
{
    for (int i = 0; s->work != NULL && i < s->lanes; i++)
        tf_work_free(s->work[i]);
    if (s->lanes > 0) {
        tf_mem *all[] = {s->m, s->v, s->e, s->norms, s->metrics};
        for (size_t i = 0; i < sizeof all / sizeof *all; i++)
            s->be->free(s->ctx[0], all[i]);
        for (size_t i = 0; i < s->grads.n; i++)
            s->be->free(s->ctx[0], s->grads.all[i]);
        tf_weights_release(&s->w);
    }
    for (int i = 0; i < s->lanes; i++)
        s->be->close(s->ctx[i]);
    tf_pool_free(s->pool);
    free(s->ctx);
    free(s->work);
    free(s->grads.all);
    free(s->grads.unused);
    tf_frozen_release(&s->frozen);
    *s = (struct tf_stepper){0};
}

/* ---- flat blocks over lanes ---- */

struct chunks {
    struct tf_stepper *s;
    size_t from, to; /* elements */
    size_t n;        /* of a job; of norms `from` is a multiple of it or the only one */
    tf_mem *a, *b;
    const struct tf_adam *adam;
    double decay;
};

/* The elements of a job: returns the first. */
static size_t span(const struct chunks *c, size_t job, size_t *n)
{
    size_t i = c->from + job * c->n, left = c->to - i;
    *n = left < c->n ? left : c->n;
    return i;
}

/* A job that gives the same bytes in any chunks: lanes share them, a device takes all at once. */
static void run_range(struct tf_stepper *s, void (*job)(void *, size_t, int), struct chunks c)
{
    c.s = s;
    c.n = s->be->threads ? s->be->norm_chunk : c.to - c.from;
    if (c.from < c.to)
        tf_pool_run(s->pool, job, &c, (c.to - c.from + c.n - 1) / c.n);
}

static void add_job(void *arg, size_t job, int lane)
{
    struct chunks *c = arg;
    struct tf_stepper *s = c->s;
    size_t n, i = span(c, job, &n);
    s->be->add(s->ctx[lane], at(s, c->a, i), at(s, c->b, i), n);
}

static void norm_job(void *arg, size_t job, int lane)
{
    struct chunks *c = arg;
    struct tf_stepper *s = c->s;
    size_t n, i = span(c, job, &n);
    size_t chunk = s->be->norm_chunk;
    s->be->sumsq(s->ctx[lane], tf_at(s->be, TF_ELEM_F64, s->norms, i / chunk), at(s, c->a, i), n,
                 chunk);
}

static void adam_job(void *arg, size_t job, int lane)
{
    struct chunks *c = arg;
    struct tf_stepper *s = c->s;
    size_t n, i = span(c, job, &n), own = i - s->share.from;
    s->be->adam(s->ctx[lane], at(s, s->w.flat, i), at(s, s->m, own), at(s, s->v, own),
                at(s, c->a, i), n, s->norm2, c->adam);
    if (s->e != NULL)
        s->be->ema(s->ctx[lane], at(s, s->e, own), at(s, s->w.flat, i), n, c->decay);
}

/* ---- gradients ---- */

static struct tf_shards shards_of(struct tf_stepper *s)
{
    return (struct tf_shards){
        .w = &s->w,
        .shards = (size_t)s->shards,
        .ctx = s->ctx,
        .work = s->work,
        .pool = s->pool,
        .grads = &s->grads,
        .sums = s->metrics,
    };
}

void tf_share_sum(struct tf_stepper *s, tf_mem *a, tf_mem *b, size_t from, size_t to)
{
    run_range(s, add_job, (struct chunks){.from = from, .to = to, .a = a, .b = b});
}

/* The sum of two siblings of the tree; NULL: no sentence. */
static tf_mem *add_siblings(struct tf_stepper *s, tf_mem *left, tf_mem *right)
{
    if (left == NULL || right == NULL)
        return left != NULL ? left : right;
    tf_share_sum(s, left, right, 0, s->w.params.size);
    s->grads.unused[s->grads.n_unused++] = right;
    return left;
}

int tf_share_add(struct tf_stepper *s, const struct tf_pairs *p, const struct tf_rng_state *rng,
                 struct tf_err *err)
{
    const struct tf_shards shards = shards_of(s);
    tf_mem *g;
    int i = 0;
    TF_ASSERT(p->n > 0 && s->added < s->accumulate);
    if (tf_shards_backward(&shards, &g, p, s->share.shards, rng, err) != 0)
        return -1;
    for (; s->added >> i & 1; i++)
        g = add_siblings(s, s->level[i], g);
    s->level[i] = g;
    s->added++;
    return 0;
}

tf_mem *tf_share_total(struct tf_stepper *s)
{
    tf_mem *g = NULL;
    for (int i = 0; s->added >> i > 0; i++)
        if (s->added >> i & 1)
            g = add_siblings(s, s->level[i], g);
    return g;
}

/* ---- updates ---- */

void tf_share_begin(struct tf_stepper *s)
{
    for (s->grads.n_unused = 0; s->grads.n_unused < s->grads.n; s->grads.n_unused++)
        s->grads.unused[s->grads.n_unused] = s->grads.all[s->grads.n_unused];
    s->total = NULL;
    s->added = 0;
    s->be->zero(s->ctx[0], s->metrics, TF_ELEM_F64, 4 * (size_t)s->shards);
}

/* The part of a range that is ours; false: none. */
static bool own_part(const struct tf_stepper *s, const struct tf_range *r, size_t *from, size_t *to)
{
    *from = r->from > s->share.from ? r->from : s->share.from;
    *to = r->to < s->share.to ? r->to : s->share.to;
    return *from < *to;
}

void tf_share_norms(struct tf_stepper *s)
{
    size_t from, to;
    for (size_t i = 0; i < s->frozen.n; i++)
        if (s->frozen.range[i].frozen && own_part(s, &s->frozen.range[i], &from, &to))
            s->be->zero(s->ctx[0], at(s, s->total, from), TF_ELEM_PARAM, to - from);
    run_range(s, norm_job,
              (struct chunks){.from = s->share.from, .to = s->share.to, .a = s->total});
}

int tf_share_metrics(struct tf_stepper *s, struct tf_stepper_metrics *m, struct tf_err *err)
{
    s->be->sum(s->ctx[0], s->norm2, s->norms, norm_chunks(s));
    return s->be->download_async(s->ctx[0], m->v, s->metrics, 4 * (size_t)s->shards + 1, err);
}

void tf_share_apply(struct tf_stepper *s, const struct tf_adam *h, double ema_decay)
{
    struct chunks c = {.a = s->total, .adam = h, .decay = ema_decay};
    for (size_t i = 0; i < s->frozen.n; i++)
        if (!s->frozen.range[i].frozen && own_part(s, &s->frozen.range[i], &c.from, &c.to))
            run_range(s, adam_job, c);
}

int tf_share_evaluate(struct tf_stepper *s, struct tf_sums *shard, const struct tf_pairs *p,
                      struct tf_shard_range range, struct tf_err *err)
{
    const struct tf_shards shards = shards_of(s);
    return tf_shards_forward(&shards, shard, p, range, err);
}

tf_mem *tf_share_block(const struct tf_stepper *s, enum tf_stepper_block block)
{
    tf_mem *const all[] = {s->w.flat, s->m, s->v, s->e};
    return all[block];
}

/* ---- the calls of a process of its own ---- */

static int idle(struct tf_stepper *s, struct tf_err *err)
{
    (void)s, (void)err;
    return 0;
}

static int measure_update(struct tf_stepper *s, struct tf_stepper_metrics *m, struct tf_err *err)
{
    s->total = tf_share_total(s);
    tf_share_norms(s);
    return tf_share_metrics(s, m, err);
}

static int wait_metrics(struct tf_stepper *s, struct tf_err *err)
{
    return s->be->download_wait(s->ctx[0], err);
}

static int apply_update(struct tf_stepper *s, const struct tf_adam *h, double ema_decay,
                        struct tf_err *err)
{
    (void)err;
    tf_share_apply(s, h, ema_decay);
    return 0;
}

static int evaluate_batch(struct tf_stepper *s, struct tf_sums *shard, const struct tf_pairs *p,
                          struct tf_err *err)
{
    return tf_share_evaluate(s, shard, p, s->share.shards, err);
}

static int collect_block(struct tf_stepper *s, float *dst, enum tf_stepper_block block,
                         struct tf_err *err)
{
    return tf_floats_down(s->be, s->ctx[0], dst, TF_ELEM_PARAM, tf_share_block(s, block),
                          s->w.params.size, err);
}

static const struct tf_step_calls own_calls = {
    .idle = idle,
    .begin = tf_share_begin,
    .add = tf_share_add,
    .measure = measure_update,
    .wait = wait_metrics,
    .apply = apply_update,
    .evaluate = evaluate_batch,
    .collect = collect_block,
    .compare = idle,
    .release = tf_share_release,
};

int tf_stepper_init(struct tf_stepper *s, const struct tf_backend *be, const struct tf_config *c,
                    const struct tf_stepper_start *start, struct tf_err *err)
{
    *s = (struct tf_stepper){.calls = &own_calls,
                             .be = be,
                             .shards = start->shards > 0 ? start->shards : be->shards,
                             .accumulate = start->accumulate > 0 ? start->accumulate : 1};
    TF_ASSERT(s->shards <= TF_MAX_SHARDS && (s->shards & (s->shards - 1)) == 0);
    int rc = create_stepper(s, c, start, err);
    if (rc != 0)
        tf_share_release(s);
    return rc;
}

/* ---- the calls of a run ---- */

void tf_stepper_release(struct tf_stepper *s)
{
    if (s->calls != NULL)
        s->calls->release(s);
}

int tf_stepper_idle(struct tf_stepper *s, struct tf_err *err)
{
    return s->calls->idle(s, err);
}

void tf_stepper_begin(struct tf_stepper *s)
{
    s->calls->begin(s);
}

int tf_stepper_add(struct tf_stepper *s, const struct tf_pairs *p, const struct tf_rng_state *rng,
                   struct tf_err *err)
{
    return s->calls->add(s, p, rng, err);
}

int tf_stepper_measure(struct tf_stepper *s, struct tf_stepper_metrics *m, struct tf_err *err)
{
    return s->calls->measure(s, m, err);
}

int tf_stepper_wait_metrics(struct tf_stepper *s, const struct tf_stepper_metrics *m,
                            struct tf_sums *sums, double *norm2, struct tf_err *err)
{
    size_t shards = (size_t)s->shards;
    if (s->calls->wait(s, err) != 0)
        return -1;
    for (size_t i = 0; i < shards; i++) {
        const struct tf_sums more = tf_sums_of(m->v + 4 * i);
        tf_sums_add(sums, &more);
    }
    *norm2 = m->v[4 * shards];
    return 0;
}

int tf_stepper_apply(struct tf_stepper *s, const struct tf_adam *h, double ema_decay,
                     struct tf_err *err)
{
    return s->calls->apply(s, h, ema_decay, err);
}

int tf_stepper_evaluate(struct tf_stepper *s, struct tf_sums *sums, const struct tf_pairs *p,
                        struct tf_err *err)
{
    struct tf_sums shard[TF_MAX_SHARDS] = {{0}};
    if (s->calls->evaluate(s, shard, p, err) != 0)
        return -1;
    for (int i = 0; i < s->shards; i++)
        tf_sums_add(sums, &shard[i]);
    return 0;
}

int tf_stepper_collect(struct tf_stepper *s, float *dst, enum tf_stepper_block block,
                       struct tf_err *err)
{
    return s->calls->collect(s, dst, block, err);
}

const float *tf_stepper_live(const struct tf_stepper *s, enum tf_stepper_block block)
{
    const bool own = s->calls == &own_calls && s->be->host &&
                     s->be->elem_size[TF_ELEM_PARAM] == sizeof(float);
    return own ? (const float *)(const void *)tf_share_block(s, block) : NULL;
}

int tf_stepper_compare(struct tf_stepper *s, struct tf_err *err)
{
    return s->calls->compare(s, err);
}

size_t tf_stepper_bytes(const struct tf_stepper *s)
{
    size_t blocks = 1 + s->grads.n, parts = 2 + (s->e != NULL),
           elements = blocks * s->w.params.size + parts * (s->share.to - s->share.from),
           bytes = elements * s->be->elem_size[TF_ELEM_PARAM];
    for (int i = 0; i < s->lanes; i++)
        bytes += tf_work_bytes(s->work[i]);
    return bytes;
}
