/* Batch plans: every pair is in one batch, no batch exceeds the budget or ends early, and the seed,
 * epoch and window determine the plan. */
#include "../harness/tap.h"
#include "base/memory.h"
#include "base/rng.h"
#include "data/batch_plan_private.h"

static struct tf_pair *make_pairs(size_t n, unsigned longest, uint64_t seed)
{
    struct tf_pair *p = tf_xcalloc(n + 1, sizeof *p);
    struct tf_rng r = tf_rng_new(seed, 0);
    for (size_t i = 0; i < n; i++) {
        p[i].len[0] = (uint32_t)tf_rng_below(&r, longest) + 1;
        p[i].len[1] = (uint32_t)tf_rng_below(&r, longest) + 1;
        p[i].idx = (uint32_t)i;
    }
    return p;
}

/* Returns what is wrong with a plan, or "". */
static const char *fault(const struct tf_batch_plan *p, const struct tf_batch_opts *b,
                         const struct tf_pair *pairs, size_t n)
{
    static char seen[100000], turn[100000];
    if (n == 0)
        return p->n_batches == 0 ? "" : "batches without pairs";
    memset(seen, 0, n);
    memset(turn, 0, p->n_batches);
    if (p->cut[0] != 0 || p->cut[p->n_batches] != n)
        return "cuts do not span the pairs";
    for (size_t k = 0; k < p->n_batches; k++) {
        uint64_t sum[2] = {0, 0}, end = 0;
        if (p->cut[k] >= p->cut[k + 1])
            return "an empty batch";
        if (turn[p->turn[k]]++)
            return "a batch is written twice";
        for (size_t i = p->cut[k]; i < p->cut[k + 1]; i++) {
            const struct tf_pair *q = &pairs[p->order[i]];
            uint64_t longer = (q->len[0] > q->len[1] ? q->len[0] : q->len[1]) + 1;
            if (seen[p->order[i]]++)
                return "a pair is in two batches";
            sum[0] += q->len[0] + 1;
            sum[1] += q->len[1] + 1;
            if (b->padded && i > p->cut[k] && tf_bucket_end(longer) != end)
                return "a batch spans two buckets";
            end = tf_bucket_end(longer);
        }
        size_t count = p->cut[k + 1] - p->cut[k];
        if (sum[0] > b->tokens || sum[1] > b->tokens)
            return "over the budget";
        if (b->padded && count > 1 && count * end > b->tokens)
            return "over the padded budget";
        if (b->max_sentences && count > b->max_sentences)
            return "over the number of sentences";
        if (!b->padded && k + 1 < p->n_batches && (!b->max_sentences || count < b->max_sentences)) {
            const struct tf_pair *q = &pairs[p->order[p->cut[k + 1]]];
            if (sum[0] + q->len[0] + 1 <= b->tokens && sum[1] + q->len[1] + 1 <= b->tokens)
                return "ended although the next pair fits";
        }
    }
    return "";
}

static bool same(const struct tf_batch_plan *a, const struct tf_batch_plan *b, size_t n)
{
    return a->n_batches == b->n_batches && memcmp(a->order, b->order, n * 4) == 0 &&
           memcmp(a->cut, b->cut, (a->n_batches + 1) * 4) == 0 &&
           memcmp(a->turn, b->turn, a->n_batches * 4) == 0;
}

int main(void)
{
    static const uint64_t ends[][2] = {{1, 8},   {8, 8},   {9, 12},           {12, 12}, {13, 16},
                                       {16, 16}, {17, 24}, {24, 24},          {25, 32}, {33, 48},
                                       {48, 48}, {49, 64}, {1048577, 1572864}};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        is_int((long long)tf_bucket_end(ends[i][0]), (long long)ends[i][1], "bucket of %llu",
               (unsigned long long)ends[i][0]);

    struct tf_batch_plan p = {0}, q = {0};
    static const size_t sizes[] = {0, 1, 2, 100, 5000};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int way = 0; way < 6; way++) {
            size_t n = sizes[s];
            struct tf_pair *pairs = make_pairs(n, 60, way + 1);
            struct tf_batch_opts b = {.tokens = way % 2 ? 61 : 1000,
                                    .max_sentences = way == 2 ? 7 : 0,
                                    .padded = way >= 4,
                                    .shuffle = way != 3,
                                    .seed = 5};
            tf_batch_plan_make(&p, &b, pairs, NULL, n, 0, 0);
            is_str(fault(&p, &b, pairs, n), "", "%zu pairs, options %d", n, way);
            free(pairs);
        }

    size_t n = 5000;
    struct tf_pair *pairs = make_pairs(n, 60, 3);
    struct tf_batch_opts b = {.tokens = 500, .shuffle = true, .seed = 5};
    tf_batch_plan_make(&p, &b, pairs, NULL, n, 2, 0);
    tf_batch_plan_make(&q, &b, pairs, NULL, n, 2, 0);
    ok(same(&p, &q, n), "the same seed and epoch: the same plan");
    tf_batch_plan_make(&q, &b, pairs, NULL, n, 3, 0);
    ok(!same(&p, &q, n), "another epoch: another plan");
    tf_batch_plan_make(&q, &b, pairs, NULL, n, 2, 1);
    ok(!same(&p, &q, n), "another window: another plan");
    b.seed = 6;
    tf_batch_plan_make(&q, &b, pairs, NULL, n, 2, 0);
    ok(!same(&p, &q, n), "another seed: another plan");

    /* Few batches mix length buckets, and the order of batches does not depend on their length. */
    size_t mixed = 0, rising = 0;
    uint64_t before = 0;
    for (size_t k = 0; k < p.n_batches; k++) {
        uint64_t lo = UINT64_MAX, hi = 0;
        uint32_t t = p.turn[k];
        for (size_t i = p.cut[t]; i < p.cut[t + 1]; i++) {
            const struct tf_pair *x = &pairs[p.order[i]];
            uint64_t longer = (x->len[0] > x->len[1] ? x->len[0] : x->len[1]) + 1;
            lo = longer < lo ? longer : lo;
            hi = longer > hi ? longer : hi;
        }
        mixed += tf_bucket_end(lo) != tf_bucket_end(hi);
        rising += hi >= before;
        before = hi;
    }
    ok(mixed <= 6, "only batches at a bucket's end mix buckets: %zu", mixed);
    ok(rising > p.n_batches / 4 && rising < p.n_batches - 5, "batches are not sorted by length");
    free(pairs);
    tf_batch_plan_release(&p);
    tf_batch_plan_release(&q);
    return done();
}
