/* ranked.c - order, share, vote: the calls of a stepper on ranks. */
#include "train/ranks/ranked.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/memory.h"
#include "ops/floats.h"
#include "train/ranks/pairs_bytes_private.h"
#include "train/ranks/parts_private.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COPY = 65536 }; /* elements that are copied between host and device at once */

/* A micro-batch that ranks have received; its gradient is computed when the update is measured. */
struct received {
    struct tf_pairs pairs;
    struct tf_rng_state rng;
};

struct ranked {
    struct tf_team *team;
    struct tf_parts parts;
    int64_t given;             /* micro-batches of rank 0 to all */
    struct received *received; /* [n_received], of at most `most` */
    int64_t n_received, most;
};

static struct ranked *ranked_of(const struct tf_stepper *s)
{
    return s->around;
}

/* An order without bytes. */
static int order(const struct tf_stepper *s, struct tf_order o, struct tf_err *err)
{
    return tf_team_order(ranked_of(s)->team, o, NULL, 0, 0, 0, err);
}

/* All ranks fared like this one? */
static int agree(struct tf_team *t, const struct tf_err *mine, double *sums, size_t n,
                 struct tf_err *err)
{
    int signal;
    if (tf_team_vote(t, mine, t->arrived != NULL ? t->arrived() : 0, &signal, sums, n, err) != 0)
        return -1;
    if (signal != 0 && (t->heard == 0 || t->heard == SIGUSR1))
        t->heard = signal;
    return 0;
}

/* ---- shares ---- */

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

/* ---- updates ---- */

static int idle(struct tf_stepper *s, struct tf_err *err)
{
    struct tf_team *t = ranked_of(s)->team;
    const struct tf_err well = {0};
    if (t->comm.rank == 0 && !tf_team_silent(t))
        return 0;
    if (order(s, (struct tf_order){.kind = TF_ORDER_IDLE}, err) != 0)
        return -1;
    return agree(t, &well, NULL, 0, err);
}

static void begin_update(struct tf_stepper *s)
{
    struct ranked *r = ranked_of(s);
    r->given = r->n_received = 0;
    tf_share_begin(s);
}

void tf_ranked_receive(struct tf_stepper *s, const void *bytes, const struct tf_rng_state *rng)
{
    struct ranked *r = ranked_of(s);
    struct received *x = &r->received[r->n_received++];
    tf_pairs_get(&x->pairs, bytes);
    x->rng = *rng;
}

/* Rank 0 sends a micro-batch to the ranks that have a part of it. */
static int add_batch(struct tf_stepper *s, const struct tf_pairs *p, const struct tf_rng_state *rng,
                     struct tf_err *err)
{
    struct ranked *r = ranked_of(s);
    const struct tf_order o = {.kind = TF_ORDER_ADD, .add = {.rng = *rng, .number = r->given}};
    const int64_t ranks = r->team->comm.size;
    int64_t first = ranks * r->given / padded(s->accumulate),
            last = (ranks * (r->given + 1) + padded(s->accumulate) - 1) / padded(s->accumulate);
    struct tf_buf b = {0};
    tf_pairs_put(&b, p);
    int rc = tf_team_order(r->team, o, b.p, b.len, (int)first, (int)last, err);
    if (rc == 0 && first == 0)
        tf_ranked_receive(s, b.p, rng);
    tf_buf_release(&b);
    r->given++;
    return rc;
}

/* A buffer of -0.0, which added to anything changes nothing. */
static tf_mem *absent(struct tf_stepper *s, struct tf_err *err)
{
    tf_mem *g = s->grads.unused[--s->grads.n_unused];
    float *zero = tf_xarray(NULL, COPY, sizeof *zero);
    for (size_t i = 0; i < COPY; i++)
        zero[i] = -0.0F;
    for (size_t i = 0, n = s->w.params.size; i < n; i += COPY)
        tf_floats_up(s->be, s->ctx[0], tf_at(s->be, TF_ELEM_PARAM, g, i), TF_ELEM_PARAM, zero,
                     n - i < COPY ? n - i : COPY);
    int rc = s->be->sync(s->ctx[0], err);
    free(zero);
    return rc == 0 ? g : NULL;
}

static void add_range(void *arg, tf_mem *total, tf_mem *theirs, size_t from, size_t to)
{
    tf_share_sum(arg, total, theirs, from, to);
}

/* The gradients of what was received, and their sum over all ranks; also that of the metrics. */
static int add_on_ranks(struct tf_stepper *s, struct tf_err *err)
{
    struct ranked *r = ranked_of(s);
    const size_t n = 4 * (size_t)s->shards;
    const double start = tf_now();
    const struct tf_err well = {0};
    struct tf_err mine = {0};
    double sums[4 * TF_MAX_SHARDS] = {0};
    int rc = 0;
    for (int64_t i = 0; rc == 0 && i < r->n_received; i++)
        rc = tf_share_add(s, &r->received[i].pairs, &r->received[i].rng, &mine);
    if (rc == 0 && (s->total = tf_share_total(s)) == NULL)
        rc = (s->total = absent(s, &mine)) != NULL ? 0 : -1;
    if (rc == 0) /* also waits for the gradient */
        rc = s->be->download(s->ctx[0], sums, TF_ELEM_F64, s->metrics, n, &mine);
    r->team->worked = tf_now() - start;
    if (agree(r->team, rc == 0 ? &well : &mine, sums, n, err) != 0)
        return -1;
    s->be->upload(s->ctx[0], s->metrics, TF_ELEM_F64, sums, n);
    tf_mem *theirs = s->grads.unused[s->grads.n_unused - 1];
    if (s->be->sync(s->ctx[0], err) != 0)
        return tf_team_lost(r->team);
    return tf_parts_reduce(&r->parts, s->total, theirs, add_range, s, err);
}

static int measure_update(struct tf_stepper *s, struct tf_stepper_metrics *m, struct tf_err *err)
{
    struct ranked *r = ranked_of(s);
    if (order(s, (struct tf_order){.kind = TF_ORDER_MEASURE}, err) != 0 ||
        add_on_ranks(s, err) != 0)
        return -1;
    tf_share_norms(s);
    if (tf_parts_gather(&r->parts, s->norms, TF_ELEM_F64, s->be->norm_chunk, err) != 0)
        return -1;
    return tf_share_metrics(s, m, err) == 0 ? 0 : tf_team_lost(r->team);
}

static int wait_metrics(struct tf_stepper *s, struct tf_err *err)
{
    return s->be->download_wait(s->ctx[0], err) == 0 ? 0 : tf_team_lost(ranked_of(s)->team);
}

static int apply_update(struct tf_stepper *s, const struct tf_adam *h, double ema_decay,
                        struct tf_err *err)
{
    const struct tf_order o = {.kind = TF_ORDER_APPLY,
                               .apply = {.adam = *h, .ema_decay = ema_decay}};
    if (order(s, o, err) != 0)
        return -1;
    tf_share_apply(s, h, ema_decay);
    return tf_parts_gather(&ranked_of(s)->parts, s->w.flat, TF_ELEM_PARAM, 1, err);
}

/* ---- other work ---- */

/* Rank 0 sends the batch to all. */
static int hand_out(struct tf_stepper *s, const struct tf_pairs *p, struct tf_err *err)
{
    struct tf_team *t = ranked_of(s)->team;
    const struct tf_order o = {.kind = TF_ORDER_EVALUATE};
    struct tf_buf b = {0};
    if (t->comm.rank > 0)
        return 0;
    tf_pairs_put(&b, p);
    int rc = tf_team_order(t, o, b.p, b.len, 0, t->comm.size, err);
    tf_buf_release(&b);
    return rc;
}

/* Ranks share the shards of a batch; those after the number of shards have none. */
static int evaluate_batch(struct tf_stepper *s, struct tf_sums *shard, const struct tf_pairs *p,
                          struct tf_err *err)
{
    struct tf_team *t = ranked_of(s)->team;
    const int n = s->shards, ranks = t->comm.size < n ? t->comm.size : n, each = n / ranks,
              rank = t->comm.rank;
    const struct tf_shard_range range = {(size_t)(rank * each), (size_t)((rank + 1) * each)};
    struct tf_err mine = {0};
    double all[4 * TF_MAX_SHARDS] = {0};
    if (hand_out(s, p, err) != 0)
        return -1;
    if (rank < ranks && tf_share_evaluate(s, shard, p, range, &mine) == 0)
        memcpy(all, shard, (size_t)n * sizeof *shard);
    if (agree(t, &mine, all, 4 * (size_t)n, err) != 0)
        return -1;
    memcpy(shard, all, (size_t)n * sizeof *shard);
    return 0;
}

/* Rank 0 has all of the weights. */
static int collect_block(struct tf_stepper *s, float *dst, enum tf_stepper_block block,
                         struct tf_err *err)
{
    const tf_mem *src = tf_share_block(s, block);
    if (block == TF_BLOCK_P)
        return tf_floats_down(s->be, s->ctx[0], dst, TF_ELEM_PARAM, src, s->w.params.size, err);
    if (order(s, (struct tf_order){.kind = TF_ORDER_COLLECT, .block = block}, err) != 0)
        return -1;
    return tf_parts_collect(&ranked_of(s)->parts, dst, src, err);
}

/* -1 names a rank whose weights differ from those of rank 0. */
static int compare_weights(struct tf_stepper *s, struct tf_err *err)
{
    struct tf_team *t = ranked_of(s)->team;
    const size_t size = s->w.params.size;
    uint32_t crc = 0;
    int rc = 0;
    if (order(s, (struct tf_order){.kind = TF_ORDER_COMPARE}, err) != 0)
        return -1;
    float *x = tf_xarray(NULL, COPY, sizeof *x);
    for (size_t i = 0, n; rc == 0 && i < size; i += n) {
        n = size - i < COPY ? size - i : COPY;
        rc = tf_floats_down(s->be, s->ctx[0], x, TF_ELEM_PARAM,
                            tf_at(s->be, TF_ELEM_PARAM, s->w.flat, i), n, err);
        crc = tf_crc32c(crc, x, n * sizeof *x);
    }
    free(x);
    return rc == 0 ? tf_team_compare(t, crc, "weights", err) : tf_team_lost(t);
}

/* ---- creation and release ---- */

static void release_ranked(struct ranked *r)
{
    tf_parts_release(&r->parts);
    for (int64_t i = 0; r->received != NULL && i < r->most; i++)
        tf_pairs_release(&r->received[i].pairs);
    free(r->received);
    free(r);
}

static void release_stepper(struct tf_stepper *s)
{
    struct tf_err ignored = {0}; /* sets comm.failed */
    (void)!order(s, (struct tf_order){.kind = TF_ORDER_RELEASE}, &ignored);
    release_ranked(ranked_of(s));
    tf_share_release(s);
}

static const struct tf_step_calls ranked_calls = {
    .idle = idle,
    .begin = begin_update,
    .add = add_batch,
    .measure = measure_update,
    .wait = wait_metrics,
    .apply = apply_update,
    .evaluate = evaluate_batch,
    .collect = collect_block,
    .compare = compare_weights,
    .release = release_stepper,
};

static int check_ranks(int ranks, int shards, int64_t accumulate, struct tf_err *err)
{
    int64_t most = shards * padded(accumulate);
    return ranks <= most ? 0
                         : tf_fail_status(err, TF_USAGE,
                                          "%d ranks: at most %lld for %d shards of %lld batches",
                                          ranks, (long long)most, shards, (long long)accumulate);
}

/* Our part of a stepper, and what is around it. */
static int create_ranked(struct tf_stepper *s, struct ranked *r, const struct tf_backend *be,
                         const struct tf_config *c, const struct tf_stepper_start *start,
                         struct tf_err *err)
{
    const struct tf_comm *comm = &r->team->comm;
    struct tf_stepper_start own = *start;
    struct tf_share share = leaves_of(comm->rank, comm->size, start->shards, start->accumulate);
    struct tf_params params;
    tf_params_init(&params, c);
    const size_t size = params.size;
    tf_params_release(&params);
    if (tf_parts_init(&r->parts, r->team, be, size, err) != 0)
        return -1;
    share.from = r->parts.from;
    share.to = r->parts.to;
    own.share = &share;
    own.gradients = 2; /* one to receive */
    if (tf_stepper_init(s, be, c, &own, err) != 0)
        return -1;
    r->parts.ctx = s->ctx[0];
    r->most = share.last - share.first + 1;
    r->received = tf_xcalloc((size_t)r->most, sizeof *r->received);
    s->around = r;
    s->calls = &ranked_calls;
    return 0;
}

/* What rank 0 starts from, to all ranks. */
static int share_start(struct tf_stepper *s, bool moments, const struct tf_stepper_start *start,
                       struct tf_err *err)
{
    const struct {
        bool exists, parts;
        const float *from;
        tf_mem *to;
    } all[] = {
        {true, false, start->p, s->w.flat},
        {moments, true, start->m, s->m},
        {moments, true, start->v, s->v},
        {start->ema, true, start->e != NULL ? start->e : start->p, s->e},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].exists &&
            tf_parts_spread(&ranked_of(s)->parts, all[i].from, all[i].to, all[i].parts, err) != 0)
            return -1;
    return 0;
}

int tf_ranked_init(struct tf_stepper *s, struct tf_team *team, const struct tf_backend *be,
                   const struct tf_config *c, const struct tf_stepper_start *start, bool moments,
                   struct tf_err *err)
{
    struct tf_stepper_start all = *start;
    struct tf_err mine = {0};
    *s = (struct tf_stepper){0};
    all.shards = start->shards > 0 ? start->shards : be->shards;
    all.accumulate = start->accumulate > 0 ? start->accumulate : 1;
    struct tf_order o = {.kind = TF_ORDER_START,
                         .start = {.config = *c,
                                   .accumulate = all.accumulate,
                                   .shards = all.shards,
                                   .ema = start->ema,
                                   .moments = moments,
                                   .frozen = start->freeze != NULL}};
    if (o.start.frozen)
        snprintf(o.start.freeze, sizeof o.start.freeze, "%s", start->freeze);
    if (check_ranks(team->comm.size, all.shards, all.accumulate, err) != 0 ||
        tf_team_order(team, o, start->tuning, start->tuning_n, 1, team->comm.size, err) != 0)
        return -1;
    struct ranked *r = tf_xcalloc(1, sizeof *r);
    r->team = team;
    if (create_ranked(s, r, be, c, &all, &mine) != 0)
        release_ranked(r);
    if (agree(team, &mine, NULL, 0, err) == 0 && tf_parts_link(&ranked_of(s)->parts, err) == 0 &&
        share_start(s, moments, &all, err) == 0)
        return 0;
    tf_stepper_release(s);
    return -1;
}
