/* search.c - one step of beam search in one pass over the log-probabilities, with a sorted list of
 * the best candidates and the bound that a candidate has to reach to enter it, which nearly all ids
 * fail. Algorithm: ops/search_state.h. */
#include "base/memory.h"
#include "ops/cpu/kernels_private.h"
#include "ops/host_search.h"

#include <stdlib.h>

enum { BLOCK = 64 };

static bool any_above(const float *x, float low)
{
    int any = 0;
    for (int j = 0; j < BLOCK; j++)
        any |= x[j] >= low;
    return any;
}

/* x: of the row, whose candidates need at least *low. */
static void consider(const struct tf_search *s, const struct tf_search_view *v,
                     const tf_mem_stat *lp, struct tf_best *best, size_t row, const float *x,
                     size_t j, float *low)
{
    struct tf_candidate g;
    if (!(x[j] >= *low) || tf_search_banned(&s->opts, tf_search_id(v, j)) ||
        !tf_search_candidate(s, v, lp, row, j, &g))
        return;
    tf_best_add(best, &g);
    *low = (float)tf_best_bound(best, v->logp[row]);
}

static size_t best_candidates(const struct tf_search *s, const struct tf_search_view *v,
                              const tf_mem_stat *lp, struct tf_candidate *out)
{
    const size_t n = v->columns;
    struct tf_best best = tf_best_of(&s->opts, out);
    if (v->forced)
        tf_best_forced(&best, s, v, lp);
    for (size_t row = 0; row < v->live && !v->forced; row++) {
        const float *p = in(lp, (v->row0 + row) * s->lp_ld);
        float low = (float)tf_best_bound(&best, v->logp[row]);
        size_t j = 0;
        for (; j + BLOCK <= n; j += BLOCK)
            if (any_above(p + j, low))
                for (size_t k = j; k < j + BLOCK; k++)
                    consider(s, v, lp, &best, row, p, k, &low);
        for (; j < n; j++)
            consider(s, v, lp, &best, row, p, j, &low);
    }
    return best.n;
}

/* What a row can draw: n candidates in order of columns. Keys are distinct and larger for likelier
 * candidates; those with keys below min_key are excluded. */
struct drawable {
    uint64_t *key, min_key;
    double *weight, total;
    size_t n;
};

/* Ordered by x <= 0, then by column, descending. */
static uint64_t key_of(float x, size_t column)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return (uint64_t)(x == 0 ? 0x80000000u : ~bits) << 32 | (UINT32_MAX - (uint32_t)column);
}

static double weight_from(const struct drawable *u, uint64_t min_key)
{
    double sum = 0;
    for (size_t i = 0; i < u->n; i++)
        sum += u->key[i] >= min_key ? u->weight[i] : 0;
    return sum;
}

/* Raise min_key as far as the candidates left amount to at least `need`, in weight or in number: a
 * radix search, 8 bits at a time from the highest. */
static void raise_min_key(struct drawable *u, bool weights, double need)
{
    uint64_t min_key = 0;
    double above = 0;
    for (int shift = 56; shift >= 0; shift -= 8) {
        double sum[256] = {0};
        for (size_t i = 0; i < u->n; i++)
            if ((u->key[i] ^ min_key) >> shift < 256 && u->key[i] >= u->min_key)
                sum[u->key[i] >> shift & 255] += weights ? u->weight[i] : 1;
        int digit = 255;
        for (; digit > 0 && above + sum[digit] < need; digit--)
            above += sum[digit];
        min_key |= (uint64_t)digit << shift;
    }
    u->min_key = min_key > u->min_key ? min_key : u->min_key;
}

static void fill_drawable(struct drawable *u, const struct tf_search *s,
                          const struct tf_search_view *v, const float *lp, double logp)
{
    const struct tf_search_opts *opts = &s->opts;
    float top = -INFINITY;
    u->n = 0;
    u->min_key = 0;
    const size_t first = v->forced ? tf_search_column(v, v->id) : 0;
    for (size_t j = first; j < v->columns && (!v->forced || j == first); j++) {
        const float x = lp[j] > 0 && isfinite(lp[j]) ? 0 : lp[j];
        if (!isfinite(x) || !isfinite(logp + (double)x) ||
            (!v->forced && tf_search_banned(opts, tf_search_id(v, j))))
            continue;
        u->key[u->n] = key_of(x, j);
        u->weight[u->n++] = (double)x;
        top = x > top ? x : top;
    }
    for (size_t k = 0; k < u->n; k++)
        u->weight[k] = exp((u->weight[k] - (double)top) / opts->temperature);
    if (opts->top_k > 0 && (size_t)opts->top_k < u->n)
        raise_min_key(u, false, (double)opts->top_k);
    u->total = weight_from(u, u->min_key);
    if (opts->top_p > 0 && opts->top_p < 1) {
        raise_min_key(u, true, opts->top_p * u->total);
        u->total = weight_from(u, u->min_key);
    }
}

static size_t draw_candidate(const struct tf_search *s, const struct tf_search_view *v,
                             const float *lp, size_t i, struct drawable *u,
                             struct tf_candidate *out)
{
    size_t n = 0, row = 0;
    for (size_t d = 0; d < v->draws; d++) {
        if (d == 0 || v->draws == v->live) { /* each draw has its row, or all draw from the first */
            row = v->draws == v->live ? d : 0;
            fill_drawable(u, s, v, lp + row * s->lp_ld, v->logp[row]);
        }
        double at = tf_search_uniform(s, i, v->t, d) * u->total, run = 0;
        size_t drawn = u->n;
        for (size_t k = 0; k < u->n && run <= at; k++)
            if (u->key[k] >= u->min_key) {
                run += u->weight[k];
                drawn = k;
            }
        if (drawn == u->n)
            continue;
        const size_t j = UINT32_MAX - (uint32_t)u->key[drawn];
        float y = lp[row * s->lp_ld + j];
        double x = y > 0 ? 0 : (double)y;
        out[n++] = (struct tf_candidate){v->logp[row] + x, x, (uint32_t)row, tf_search_id(v, j)};
    }
    return n;
}

void TF_CPU(search_step)(struct tf_ctx *c, struct tf_search *s, tf_mem_stat *lp)
{
    (void)c;
    tf_search_rules(s, lp);
    struct tf_candidate g[2 * TF_SEARCH_MAX_BEAM];
    struct tf_search_pass w = tf_search_begin_pass(s);
    struct drawable u = {.n = 0};
    if (s->opts.sample) {
        u.key = tf_xarray(NULL, s->opts.V, sizeof *u.key);
        u.weight = tf_xarray(NULL, s->opts.V, sizeof *u.weight);
    }
    for (size_t i = 0; i < s->S; i++) {
        struct tf_search_view v = tf_search_view_of(s, i);
        const float *mine = in(lp, v.row0 * s->lp_ld);
        size_t n = s->opts.sample ? draw_candidate(s, &v, mine, i, &u, g)
                                  : best_candidates(s, &v, lp, g);
        for (size_t k = 0; k < n; k++)
            g[k].row += (uint32_t)v.row0;
        tf_search_advance(s, &w, i, &v, g, n);
    }
    tf_search_end_pass(s, &w);
    free(u.key);
    free(u.weight);
}
