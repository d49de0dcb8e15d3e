/* batch_plan.c - see batch_plan_private.h. */
#include "data/batch_plan_private.h"
#include "base/memory.h"
#include "base/rng.h"

#include <stdlib.h>

enum { BUCKETS = 64, PREFETCH = 12 };

static unsigned bucket_of(uint64_t length)
{
    unsigned k = 0;
    for (uint64_t even = 8; k < BUCKETS - 2; even *= 2, k += 2) {
        if (length <= even)
            return k;
        if (length <= even / 2 * 3)
            return k + 1;
    }
    return k;
}

static uint64_t bucket_end(unsigned k)
{
    return (k % 2 == 0 ? (uint64_t)8 : (uint64_t)12) << k / 2;
}

uint64_t tf_bucket_end(uint64_t length)
{
    return bucket_end(bucket_of(length));
}

static unsigned pair_bucket(const struct tf_pair *p)
{
    return bucket_of((uint64_t)(p->len[0] > p->len[1] ? p->len[0] : p->len[1]) + 1);
}

static uint16_t times_of(const uint16_t *times, size_t i)
{
    return times != NULL ? times[i] : 1;
}

/* Counting sort of the positions by bucket, then a shuffle within each bucket. total: that of all
 * times. */
static void group_by_bucket(uint32_t *order, const struct tf_pair *pairs, const uint16_t *times,
                            size_t n, size_t total, struct tf_rng *r)
{
    size_t end[BUCKETS] = {0};
    for (size_t i = 0; i < n; i++)
        end[pair_bucket(&pairs[i])] += times_of(times, i);
    for (unsigned k = 1; k < BUCKETS; k++)
        end[k] += end[k - 1];
    for (size_t i = n; i-- > 0;) {
        size_t *const at = &end[pair_bucket(&pairs[i])];
        for (uint16_t t = times_of(times, i); t > 0; t--)
            order[--*at] = (uint32_t)i;
    }
    for (unsigned k = 0; k < BUCKETS; k++) { /* end[k] is now the start of bucket k */
        size_t next = k + 1 < BUCKETS ? end[k + 1] : total;
        tf_rng_shuffle(r, order + end[k], next - end[k]);
    }
}

static void add_cut(struct tf_batch_plan *p, size_t at)
{
    if (p->n_batches + 2 > p->cut_cap) {
        p->cut_cap = p->cut_cap ? 2 * p->cut_cap : 1024;
        p->cut = tf_xarray(p->cut, p->cut_cap, sizeof *p->cut);
        p->turn = tf_xarray(p->turn, p->cut_cap, sizeof *p->turn);
    }
    p->turn[p->n_batches] = (uint32_t)p->n_batches;
    p->cut[++p->n_batches] = (uint32_t)at;
}

static void cut_batches(struct tf_batch_plan *p, const struct tf_batch_opts *o,
                        const struct tf_pair *pairs, size_t n)
{
    uint64_t sum[2] = {0, 0}, count = 0, most = o->max_sentences ? o->max_sentences : UINT64_MAX;
    unsigned bucket = 0;
    for (size_t i = 0; i < n; i++) {
        const struct tf_pair *pair = &pairs[p->order[i]];
        if (i + PREFETCH < n)
            __builtin_prefetch(&pairs[p->order[i + PREFETCH]]);
        uint64_t x = (uint64_t)pair->len[0] + 1, y = (uint64_t)pair->len[1] + 1;
        bool full = sum[0] + x > o->tokens || sum[1] + y > o->tokens || count >= most;
        if (o->padded) {
            unsigned own = pair_bucket(pair);
            full = full || own != bucket || (count + 1) * bucket_end(own) > o->tokens;
            bucket = own;
        }
        if (full && count > 0) {
            add_cut(p, i);
            sum[0] = sum[1] = count = 0;
        }
        sum[0] += x;
        sum[1] += y;
        count++;
    }
    if (count > 0)
        add_cut(p, n);
}

void tf_batch_plan_make(struct tf_batch_plan *p, const struct tf_batch_opts *o,
                        const struct tf_pair *pairs, const uint16_t *times, size_t n,
                        uint64_t epoch, uint64_t window)
{
    size_t total = times == NULL ? n : 0;
    for (size_t i = 0; times != NULL && i < n; i++)
        total += times[i];
    TF_ASSERT(total <= TF_CORPUS_RECORDS);
    if (total > p->cap || p->order == NULL) {
        p->cap = total > 0 ? total : 1;
        p->order = tf_xarray(p->order, p->cap, sizeof *p->order);
    }
    p->n_batches = 0;
    /* Two random streams of the seed: the order of pairs, and that of batches. */
    uint64_t stream = epoch << 32 | (window & 0x7fffffff) << 1;
    if (o->shuffle) {
        struct tf_rng r = tf_rng_new(o->seed, stream);
        group_by_bucket(p->order, pairs, times, n, total, &r);
    } else {
        for (size_t i = 0, at = 0; i < n; i++)
            for (uint16_t t = times_of(times, i); t > 0; t--)
                p->order[at++] = (uint32_t)i;
    }
    cut_batches(p, o, pairs, total);
    if (p->cut != NULL)
        p->cut[0] = 0;
    if (o->shuffle) {
        struct tf_rng r = tf_rng_new(o->seed, stream | 1);
        tf_rng_shuffle(&r, p->turn, p->n_batches);
    }
}

void tf_batch_plan_release(struct tf_batch_plan *p)
{
    free(p->order);
    free(p->cut);
    free(p->turn);
    *p = (struct tf_batch_plan){0};
}
