/* stepper.c - updates over the lanes and ranks. Shards and chunks fix what is computed; lanes and
 * ranks decide only who computes it. */
#include "train/step/stepper.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/memory.h"
#include "train/run/signals.h"

#include <stdlib.h>
#include <string.h>

enum { COPY = 65536 }; /* elements that are copied between host and device at once */

static tf_mem *at(const struct tf_stepper *s, tf_mem *p, size_t i)
{
    return tf_at(s->be, TF_ELEM_PARAM, p, i);
}

/* ---- shares ---- */

static int ranks_of(const struct tf_stepper *s)
{
    return s->team != NULL ? s->team->comm.size : 1;
}

/* The number of micro-batches, with absent ones to a power of two. */
static int64_t padded(int64_t accumulate)
{
    int64_t n = 1;
    while (n < accumulate)
        n *= 2;
    return n;
}

/* The part of one of so many ranks in the leaves of an update. */
static struct tf_share leaves_of(int64_t rank, int64_t ranks, int64_t shards, int64_t accumulate)
{
    const int64_t n = shards * padded(accumulate) / ranks, first = rank * n;
    struct tf_share p = {.first = first / shards, .shards = {0, (size_t)shards}};
    p.last = p.first + (n > shards ? n / shards : 1);
    if (n < shards)
        p.shards = (struct tf_shard_range){(size_t)(first % shards), (size_t)(first % shards + n)};
    if (p.last > accumulate)
        p.last = accumulate > p.first ? accumulate : p.first;
    return p;
}

static int check_ranks(const struct tf_stepper *s, int64_t accumulate, struct tf_err *err)
{
    int64_t most = s->shards * padded(accumulate);
    return ranks_of(s) <= most
               ? 0
               : tf_fail_status(err, TF_USAGE,
                                "%d ranks: at most %lld for %d shards of %lld "
                                "batches",
                                ranks_of(s), (long long)most, s->shards, (long long)accumulate);
}

/* Rank 0 takes a signal that another rank got as its own. */
static void take_signal(const struct tf_team *t)
{
    if (t->comm.rank > 0 || t->stop == 0)
        return;
    if (t->stop == SIGUSR1) {
        tf_save_requested = 1;
    } else if (!tf_stop) {
        tf_stop_signal = t->stop;
        tf_stop = 1;
    }
}

/* All ranks fared like this one? */
static int agree(struct tf_stepper *s, const struct tf_err *mine, double *sums, size_t n,
                 struct tf_err *err)
{
    int signal = tf_stop ? (int)tf_stop_signal : 0;
    if (s->team->comm.rank > 0 && tf_save_requested) {
        tf_save_requested = 0;
        signal = signal != 0 ? signal : SIGUSR1;
    }
    if (tf_team_vote(s->team, mine, signal, sums, n, err) != 0)
        return -1;
    take_signal(s->team);
    return 0;
}

/* ---- creation and release ---- */

static size_t norm_chunks(const struct tf_stepper *s)
{
    return (s->w.params.size + s->be->norm_chunk - 1) / s->be->norm_chunk;
}

static tf_mem *block(struct tf_stepper *s, const float *from, size_t n, struct tf_err *err)
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

static int alloc_blocks(struct tf_stepper *s, const struct tf_stepper_start *start,
                        struct tf_err *err)
{
    const struct tf_share *own = &s->share;
    const size_t n = s->w.params.size, part = s->parts.to - s->parts.from,
                 shards = (size_t)s->shards;
    s->grads.n = tf_stepper_gradients(s->lanes, own->shards.last - own->shards.first,
                                      own->last - own->first);
    if (s->team != NULL && s->grads.n < 2)
        s->grads.n = 2; /* one to receive */
    s->grads.all = tf_xcalloc(s->grads.n, sizeof *s->grads.all);
    s->grads.unused = tf_xcalloc(s->grads.n, sizeof *s->grads.unused);
    if (s->team != NULL)
        s->received = tf_xcalloc((size_t)(own->last - own->first) + 1, sizeof *s->received);
    if ((s->m = block(s, start->m, part, err)) == NULL ||
        (s->v = block(s, start->v, part, err)) == NULL)
        return -1;
    if (start->ema && (s->e = block(s, start->e != NULL ? start->e : start->p, part, err)) == NULL)
        return -1;
    for (size_t i = 0; i < s->grads.n; i++)
        if ((s->grads.all[i] = block(s, NULL, n, err)) == NULL)
            return -1;
    if ((s->norms = s->be->alloc(s->ctx[0], TF_ELEM_F64, norm_chunks(s), err)) == NULL)
        return -1;
    if ((s->metrics = s->be->alloc(s->ctx[0], TF_ELEM_F64, 4 * shards + 1, err)) == NULL)
        return -1;
    s->norm2 = tf_at(s->be, TF_ELEM_F64, s->metrics, 4 * shards);
    return s->be->sync(s->ctx[0], err);
}

static int create(struct tf_stepper *s, const struct tf_config *c,
                  const struct tf_stepper_start *start, struct tf_err *err)
{
    if (open_lanes(s, start, err) != 0 ||
        tf_weights_init(&s->w, s->be, s->ctx[0], c, start->p, err) != 0)
        return -1;
    s->share =
        leaves_of(s->team != NULL ? s->team->comm.rank : 0, ranks_of(s), s->shards, s->accumulate);
    if (tf_parts_init(&s->parts, s->team, s->be, s->ctx[0], s->w.params.size, err) != 0 ||
        alloc_blocks(s, start, err) != 0)
        return -1;
    for (int i = 0; i < s->lanes; i++)
        s->work[i] = tf_work_new(&s->w, s->ctx[i]);
    tf_stepper_begin(s);
    return 0;
}

/* What rank 0 starts from, to all ranks. */
static int share_start(struct tf_stepper *s, const struct tf_team_start *o,
                       const struct tf_stepper_start *start, struct tf_err *err)
{
    const struct {
        bool exists, parts;
        const float *from;
        tf_mem *to;
    } all[] = {
        {true, false, start->p, s->w.flat},
        {o->moments, true, start->m, s->m},
        {o->moments, true, start->v, s->v},
        {o->ema, true, start->e != NULL ? start->e : start->p, s->e},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].exists &&
            tf_parts_spread(&s->parts, all[i].from, all[i].to, all[i].parts, err) != 0)
            return -1;
    return 0;
}

static int create_on_ranks(struct tf_stepper *s, const struct tf_config *c,
                           const struct tf_stepper_start *start, struct tf_err *err)
{
    const struct tf_order o = {.kind = TF_ORDER_START,
                               .start = {.config = *c,
                                         .accumulate = s->accumulate,
                                         .shards = s->shards,
                                         .ema = start->ema,
                                         .moments = start->m != NULL || start->moments}};
    struct tf_err mine = {0};
    if (check_ranks(s, s->accumulate, err) != 0 ||
        tf_team_order(s->team, o, start->tuning, start->tuning_n, 1, ranks_of(s), err) != 0)
        return -1;
    (void)!create(s, c, start, &mine);
    if (agree(s, &mine, NULL, 0, err) != 0 || tf_parts_link(&s->parts, err) != 0)
        return -1;
    return share_start(s, &o.start, start, err);
}

int tf_stepper_init(struct tf_stepper *s, const struct tf_backend *be, const struct tf_config *c,
                    const struct tf_stepper_start *start, struct tf_err *err)
{
    *s = (struct tf_stepper){.be = be,
                             .team = start->team,
                             .shards = start->shards > 0 ? start->shards : be->shards,
                             .accumulate = start->accumulate > 0 ? start->accumulate : 1};
    TF_ASSERT(s->shards <= TF_MAX_SHARDS && (s->shards & (s->shards - 1)) == 0);
    int rc = s->team != NULL ? create_on_ranks(s, c, start, err) : create(s, c, start, err);
    if (rc != 0)
        tf_stepper_release(s);
    return rc;
}

void tf_stepper_release(struct tf_stepper *s)
{
    const struct tf_order o = {.kind = TF_ORDER_RELEASE};
    struct tf_err ignored = {0}; /* sets comm.failed */
    (void)!tf_team_order(s->team, o, NULL, 0, 0, 0, &ignored);
    tf_parts_release(&s->parts);
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
    for (int64_t i = 0; s->received != NULL && i < s->share.last - s->share.first; i++)
        tf_pairs_release(&s->received[i].pairs);
    free(s->received);
    free(s->ctx);
    free(s->work);
    free(s->grads.all);
    free(s->grads.unused);
    *s = (struct tf_stepper){0};
}

/* ---- flat blocks over lanes ---- */

struct chunks {
    struct tf_stepper *s;
    size_t from, to; /* elements */
    size_t n;        /* of a job; `from` is a multiple of it or the only one */
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
    size_t n, i = span(c, job, &n), own = i - s->parts.from;
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

/* The sum of two siblings of the tree; NULL: no sentence. */
static tf_mem *add_siblings(struct tf_stepper *s, tf_mem *left, tf_mem *right)
{
    if (left == NULL || right == NULL)
        return left != NULL ? left : right;
    run_range(s, add_job, (struct chunks){.to = s->w.params.size, .a = left, .b = right});
    s->grads.unused[s->grads.n_unused++] = right;
    return left;
}

/* The gradient of our shards of a micro-batch into the tree. */
static int add_batch(struct tf_stepper *s, const struct tf_pairs *p, const struct tf_rng_state *rng,
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

/* The top of the tree over what was added; what is absent comes after it. */
static tf_mem *top_of_tree(struct tf_stepper *s)
{
    tf_mem *g = NULL;
    for (int i = 0; s->added >> i > 0; i++)
        if (s->added >> i & 1)
            g = add_siblings(s, s->level[i], g);
    return g;
}

/* A buffer of -0.0, which added to anything changes nothing. */
static tf_mem *absent(struct tf_stepper *s, struct tf_err *err)
{
    tf_mem *g = s->grads.unused[--s->grads.n_unused];
    float *zero = tf_xarray(NULL, COPY, sizeof *zero);
    for (size_t i = 0; i < COPY; i++)
        zero[i] = -0.0F;
    for (size_t i = 0, n = s->w.params.size; i < n; i += COPY)
        tf_floats_up(s->be, s->ctx[0], at(s, g, i), TF_ELEM_PARAM, zero,
                     n - i < COPY ? n - i : COPY);
    int rc = s->be->sync(s->ctx[0], err);
    free(zero);
    return rc == 0 ? g : NULL;
}

static void add_range(void *arg, tf_mem *total, tf_mem *theirs, size_t from, size_t to)
{
    run_range(arg, add_job, (struct chunks){.from = from, .to = to, .a = total, .b = theirs});
}

/* The gradients of what was received, and their sum over all ranks; also that of the metrics. */
static int add_on_ranks(struct tf_stepper *s, struct tf_err *err)
{
    const size_t n = 4 * (size_t)s->shards;
    const double start = tf_now();
    const struct tf_err well = {0};
    struct tf_err mine = {0};
    double sums[4 * TF_MAX_SHARDS] = {0};
    int rc = 0;
    for (int64_t i = 0; rc == 0 && i < s->n_received; i++)
        rc = add_batch(s, &s->received[i].pairs, &s->received[i].rng, &mine);
    if (rc == 0 && (s->total = top_of_tree(s)) == NULL)
        rc = (s->total = absent(s, &mine)) != NULL ? 0 : -1;
    if (rc == 0) /* also waits for the gradient */
        rc = s->be->download(s->ctx[0], sums, TF_ELEM_F64, s->metrics, n, &mine);
    s->team->worked = tf_now() - start;
    if (agree(s, rc == 0 ? &well : &mine, sums, n, err) != 0)
        return -1;
    s->be->upload(s->ctx[0], s->metrics, TF_ELEM_F64, sums, n);
    tf_mem *theirs = s->grads.unused[s->grads.n_unused - 1];
    if (s->be->sync(s->ctx[0], err) != 0)
        return tf_team_lost(s->team);
    return tf_parts_reduce(&s->parts, s->total, theirs, add_range, s, err);
}

/* ---- updates ---- */

void tf_stepper_begin(struct tf_stepper *s)
{
    for (s->grads.n_unused = 0; s->grads.n_unused < s->grads.n; s->grads.n_unused++)
        s->grads.unused[s->grads.n_unused] = s->grads.all[s->grads.n_unused];
    s->total = NULL;
    s->given = s->added = s->n_received = 0;
    s->be->zero(s->ctx[0], s->metrics, TF_ELEM_F64, 4 * (size_t)s->shards);
}

int tf_stepper_idle(struct tf_stepper *s, struct tf_err *err)
{
    const struct tf_order o = {.kind = TF_ORDER_IDLE};
    const struct tf_err well = {0};
    if (s->team == NULL || (s->team->comm.rank == 0 && !tf_team_silent(s->team)))
        return 0;
    if (tf_team_order(s->team, o, NULL, 0, 0, 0, err) != 0)
        return -1;
    return agree(s, &well, NULL, 0, err);
}

void tf_stepper_receive(struct tf_stepper *s, const void *bytes, const struct tf_rng_state *rng)
{
    struct tf_received *r = &s->received[s->n_received++];
    tf_pairs_get(&r->pairs, bytes);
    r->rng = *rng;
}

/* Rank 0 sends a micro-batch to the ranks that have a part of it. */
static int hand_out(struct tf_stepper *s, const struct tf_pairs *p, const struct tf_rng_state *rng,
                    struct tf_err *err)
{
    const struct tf_order o = {.kind = TF_ORDER_ADD, .add = {.rng = *rng, .number = s->given}};
    const int64_t ranks = ranks_of(s);
    int64_t first = ranks * s->given / padded(s->accumulate),
            last = (ranks * (s->given + 1) + padded(s->accumulate) - 1) / padded(s->accumulate);
    struct tf_buf b = {0};
    tf_pairs_put(&b, p);
    int rc = tf_team_order(s->team, o, b.p, b.len, (int)first, (int)last, err);
    if (rc == 0 && first == 0)
        tf_stepper_receive(s, b.p, rng);
    tf_buf_release(&b);
    s->given++;
    return rc;
}

int tf_stepper_add(struct tf_stepper *s, const struct tf_pairs *p, const struct tf_rng_state *rng,
                   struct tf_err *err)
{
    return s->team != NULL ? hand_out(s, p, rng, err) : add_batch(s, p, rng, err);
}

int tf_stepper_measure(struct tf_stepper *s, struct tf_stepper_metrics *m, struct tf_err *err)
{
    const struct tf_order o = {.kind = TF_ORDER_MEASURE};
    if (tf_team_order(s->team, o, NULL, 0, 0, 0, err) != 0)
        return -1;
    if (s->team == NULL)
        s->total = top_of_tree(s);
    else if (add_on_ranks(s, err) != 0)
        return -1;
    run_range(s, norm_job,
              (struct chunks){.from = s->parts.from, .to = s->parts.to, .a = s->total});
    if (tf_parts_gather(&s->parts, s->norms, TF_ELEM_F64, s->be->norm_chunk, err) != 0)
        return -1;
    s->be->sum(s->ctx[0], s->norm2, s->norms, norm_chunks(s));
    const size_t n = 4 * (size_t)s->shards + 1;
    return s->be->download_async(s->ctx[0], m->v, s->metrics, n, err) == 0 ? 0
                                                                           : tf_team_lost(s->team);
}

int tf_stepper_wait_metrics(struct tf_stepper *s, const struct tf_stepper_metrics *m,
                            struct tf_sums *sums, double *norm2, struct tf_err *err)
{
    size_t shards = (size_t)s->shards;
    if (s->be->download_wait(s->ctx[0], err) != 0)
        return tf_team_lost(s->team);
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
    const struct tf_order o = {.kind = TF_ORDER_APPLY,
                               .apply = {.adam = *h, .ema_decay = ema_decay}};
    if (tf_team_order(s->team, o, NULL, 0, 0, 0, err) != 0)
        return -1;
    run_range(s, adam_job,
              (struct chunks){.from = s->parts.from,
                              .to = s->parts.to,
                              .a = s->total,
                              .adam = h,
                              .decay = ema_decay});
    return tf_parts_gather(&s->parts, s->w.flat, TF_ELEM_PARAM, 1, err);
}

/* ---- other work ---- */

/* Ranks share the shards of a batch; those after the number of shards have none. */
static int evaluate_on_ranks(struct tf_stepper *s, struct tf_sums *sums, const struct tf_pairs *p,
                             struct tf_err *err)
{
    const struct tf_shards shards = shards_of(s);
    const int n = s->shards, ranks = ranks_of(s) < n ? ranks_of(s) : n, each = n / ranks,
              rank = s->team->comm.rank;
    const struct tf_shard_range range = {(size_t)(rank * each), (size_t)((rank + 1) * each)};
    struct tf_err mine = {0};
    double all[4 * TF_MAX_SHARDS] = {0};
    if (rank < ranks && tf_shards_forward(&shards, sums, p, range, &mine) == 0)
        memcpy(all, sums, (size_t)n * sizeof *sums);
    if (agree(s, &mine, all, 4 * (size_t)n, err) != 0)
        return -1;
    memcpy(sums, all, (size_t)n * sizeof *sums);
    return 0;
}

int tf_stepper_evaluate(struct tf_stepper *s, struct tf_sums *sums, const struct tf_pairs *p,
                        struct tf_err *err)
{
    const struct tf_shards shards = shards_of(s);
    const struct tf_order o = {.kind = TF_ORDER_EVALUATE};
    struct tf_sums shard[TF_MAX_SHARDS] = {{0}};
    struct tf_buf b = {0};
    int rc = 0;
    if (s->team != NULL && s->team->comm.rank == 0) {
        tf_pairs_put(&b, p);
        rc = tf_team_order(s->team, o, b.p, b.len, 0, ranks_of(s), err);
        tf_buf_release(&b);
    }
    if (rc == 0)
        rc = s->team != NULL ? evaluate_on_ranks(s, shard, p, err)
                             : tf_shards_forward(&shards, shard, p, s->share.shards, err);
    for (int i = 0; rc == 0 && i < s->shards; i++)
        tf_sums_add(sums, &shard[i]);
    return rc;
}

int tf_stepper_collect(struct tf_stepper *s, float *dst, enum tf_stepper_block block,
                       struct tf_err *err)
{
    const tf_mem *all[] = {s->w.flat, s->m, s->v, s->e}, *src = all[block];
    const struct tf_order o = {.kind = TF_ORDER_COLLECT, .block = block};
    if (s->team == NULL || block == TF_BLOCK_P)
        return tf_floats_down(s->be, s->ctx[0], dst, TF_ELEM_PARAM, src, s->w.params.size, err);
    if (tf_team_order(s->team, o, NULL, 0, 0, 0, err) != 0)
        return -1;
    return tf_parts_collect(&s->parts, dst, src, err);
}

int tf_stepper_compare(struct tf_stepper *s, struct tf_err *err)
{
    const struct tf_order o = {.kind = TF_ORDER_COMPARE};
    const size_t size = s->w.params.size;
    float *x = NULL;
    uint32_t crc = 0;
    int rc = 0;
    if (s->team == NULL)
        return 0;
    if (tf_team_order(s->team, o, NULL, 0, 0, 0, err) != 0)
        return -1;
    x = tf_xarray(NULL, COPY, sizeof *x);
    for (size_t i = 0, n; rc == 0 && i < size; i += n) {
        n = size - i < COPY ? size - i : COPY;
        rc = tf_floats_down(s->be, s->ctx[0], x, TF_ELEM_PARAM, at(s, s->w.flat, i), n, err);
        crc = tf_crc32c(crc, x, n * sizeof *x);
    }
    free(x);
    return rc == 0 ? tf_team_compare(s->team, crc, "weights", err) : tf_team_lost(s->team);
}

size_t tf_stepper_bytes(const struct tf_stepper *s)
{
    size_t blocks = 1 + s->grads.n, parts = 2 + (s->e != NULL),
           elements = blocks * s->w.params.size + parts * (s->parts.to - s->parts.from),
           bytes = elements * s->be->elem_size[TF_ELEM_PARAM];
    for (int i = 0; i < s->lanes; i++)
        bytes += tf_work_bytes(s->work[i]);
    return bytes;
}
