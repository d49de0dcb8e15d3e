/* shards.c - shards of a micro-batch over lanes, their gradients summed over a tree. */
#include "train/step/shards.h"

#include <pthread.h>

/* One pass over a micro-batch. */
struct pass {
    const struct tf_shards *s;
    const struct tf_pairs *pairs;
    const struct tf_rng_state *rng; /* NULL: forward only */
    struct tf_shard_range range;
    size_t top; /* the node of this range */
    size_t cut[TF_MAX_SHARDS + 1];
    struct tf_sums *sums; /* forward only */
    pthread_mutex_t lock; /* guards all below, and the pool of gradients */
    pthread_cond_t changed;
    size_t next; /* the shard that may take a buffer */
    /* nodes as in a heap: 1 is the root, shards + i leaf i; NULL: no sentence in it */
    tf_mem *node[2 * TF_MAX_SHARDS];
    bool done[2 * TF_MAX_SHARDS];
    struct tf_err err;
};

int tf_shards_usual(int64_t tokens)
{
    int n = TF_CPU_SHARDS;
    while (n < TF_MAX_SHARDS && tokens > (int64_t)n * 1024)
        n *= 2;
    return n;
}

/* Shards take buffers in their order. So all before one that waits have theirs and finish; together
 * they hold at most one a level, and the next is free. One for each lane keeps all of them busy. */
size_t tf_shards_buffers(int lanes, int shards)
{
    int levels = 0;
    while (1 << levels < shards)
        levels++;
    return (size_t)(lanes + levels < shards ? lanes + levels : shards);
}

/* For this shard; without sentences it needs none. NULL: none is needed, or another lane failed. */
static tf_mem *take_buffer(struct pass *r, size_t shard)
{
    struct tf_grad_pool *grads = r->s->grads;
    const bool need = r->cut[shard] < r->cut[shard + 1];
    tf_mem *g = NULL;
    pthread_mutex_lock(&r->lock);
    while ((r->next != shard || (need && grads->n_unused == 0)) && r->err.status == 0)
        pthread_cond_wait(&r->changed, &r->lock);
    if (need && r->err.status == 0)
        g = grads->unused[--grads->n_unused];
    r->next = shard + 1;
    pthread_cond_broadcast(&r->changed);
    pthread_mutex_unlock(&r->lock);
    return g;
}

static void free_buffer(struct pass *r, tf_mem *g)
{
    r->s->grads->unused[r->s->grads->n_unused++] = g;
    pthread_cond_broadcast(&r->changed);
}

/* A node is done. While its sibling is done too, add the right one to the left one, and their
 * parent is done. */
static void climb(struct pass *r, size_t i, tf_mem *g, int lane)
{
    const struct tf_shards *s = r->s;
    pthread_mutex_lock(&r->lock);
    for (;;) {
        r->node[i] = g;
        r->done[i] = true;
        if (i == r->top || !r->done[i ^ 1])
            break;
        tf_mem *left = r->node[i & ~(size_t)1], *right = r->node[i | 1];
        g = left != NULL ? left : right;
        if (left != NULL && right != NULL) {
            pthread_mutex_unlock(&r->lock);
            s->w->be->add(s->ctx[lane], left, right, s->w->params.size);
            struct tf_err e = {0};
            int rc = s->w->be->sync(s->ctx[lane], &e);
            pthread_mutex_lock(&r->lock);
            free_buffer(r, right);
            if (rc != 0 && r->err.status == 0)
                r->err = e;
        }
        i /= 2;
    }
    pthread_mutex_unlock(&r->lock);
}

static void note_failure(struct pass *r, const struct tf_err *e)
{
    pthread_mutex_lock(&r->lock);
    if (r->err.status == 0)
        r->err = *e;
    pthread_cond_broadcast(&r->changed);
    pthread_mutex_unlock(&r->lock);
}

static void backward_job(void *arg, size_t job, int lane)
{
    struct pass *r = arg;
    job += r->range.first;
    const struct tf_shards *s = r->s;
    struct tf_err e = {0};
    tf_mem *g = take_buffer(r, job);
    if (r->cut[job] < r->cut[job + 1]) {
        if (g == NULL)
            return;
        tf_mem *acc = tf_at(s->w->be, TF_ELEM_F64, s->sums, 4 * job);
        if (tf_queue_backward(s->work[lane], g, acc, r->pairs, r->cut[job], r->cut[job + 1], r->rng,
                              &e) != 0) {
            note_failure(r, &e);
            return;
        }
    }
    climb(r, s->shards + job, g, lane);
}

static void forward_job(void *arg, size_t job, int lane)
{
    struct pass *r = arg;
    struct tf_err e = {0};
    job += r->range.first;
    if (r->cut[job] < r->cut[job + 1] && tf_forward(r->s->work[lane], &r->sums[job], NULL, r->pairs,
                                                    r->cut[job], r->cut[job + 1], &e) != 0)
        note_failure(r, &e);
}

static int run_shards(struct pass *r, void (*job)(void *, size_t, int), struct tf_err *err)
{
    const struct tf_shards *s = r->s;
    const size_t n = s->shards, jobs = r->range.last - r->range.first;
    r->top = (n + r->range.first) / jobs;
    if (tf_weights_positions(s->w, r->pairs->longest, err) != 0)
        return -1;
    tf_pairs_cut(r->cut, n, r->pairs);
    pthread_mutex_init(&r->lock, NULL);
    pthread_cond_init(&r->changed, NULL);
    r->next = r->range.first;
    tf_pool_run(s->pool, job, r, jobs);
    pthread_cond_destroy(&r->changed);
    pthread_mutex_destroy(&r->lock);
    if (r->err.status != 0) {
        *err = r->err;
        return -1;
    }
    return 0;
}

int tf_shards_backward(const struct tf_shards *s, tf_mem **g, const struct tf_pairs *p,
                       struct tf_shard_range range, const struct tf_rng_state *rng,
                       struct tf_err *err)
{
    struct pass r = {.s = s, .pairs = p, .range = range, .rng = rng};
    int rc = run_shards(&r, backward_job, err);
    *g = rc == 0 ? r.node[r.top] : NULL;
    return rc;
}

int tf_shards_forward(const struct tf_shards *s, struct tf_sums *sums, const struct tf_pairs *p,
                      struct tf_shard_range range, struct tf_err *err)
{
    struct pass r = {.s = s, .pairs = p, .range = range, .sums = sums};
    return run_shards(&r, forward_job, err);
}
