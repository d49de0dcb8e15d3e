/* search.c - one step of beam search in one pass over the log-probabilities: a sorted list of the
 * best candidates, and a bar that keeps nearly all ids from being looked at twice. Rule:
 * ops/search_state.h. */
#include "base/err.h"
#include "ops/cpu/cpu.h"
#include "ops/host_search.h"

#include <stdlib.h>

enum { BLOCK = 64 };

struct list {
    struct tf_grown *v;
    size_t n, cap;
};

/* Put (row, id) in its place. Rows come in ascending order and so do ids within one, so a newcomer
 * stands behind its equals. */
static void insert(struct list *l, double logp, double x, uint32_t row, uint32_t id)
{
    size_t at = l->n;
    while (at > 0 && (l->v[at - 1].logp < logp ||
                      (l->v[at - 1].logp == logp && l->v[at - 1].row == row && l->v[at - 1].x < x)))
        at--;
    if (at == l->cap)
        return;
    if (l->n < l->cap)
        l->n++;
    memmove(l->v + at + 1, l->v + at, (l->n - 1 - at) * sizeof *l->v);
    l->v[at] = (struct tf_grown){logp, x, row, id};
}

/* What x must reach, rounding allowed for, to enter the list from a row of that logp. */
static float bar(const struct list *l, double logp)
{
    if (l->n < l->cap)
        return -INFINITY;
    double x = l->v[l->cap - 1].logp - logp;
    return (float)(x - 1e-6 * (fabs(x) + 1e-30)) - 1e-6f * fabsf((float)x);
}

static bool any_above(const float *x, float low)
{
    int any = 0;
    for (int j = 0; j < BLOCK; j++)
        any |= x[j] >= low;
    return any;
}

static void look(const struct tf_search *s, struct list *l, double logp, uint32_t row,
                 const float *lp, size_t id, float *low)
{
    if (!(lp[id] >= *low) || !isfinite(lp[id]) || tf_search_banned(&s->rule, (uint32_t)id))
        return;
    double x = lp[id] > 0 ? 0 : (double)lp[id];
    if (!isfinite(logp + x))
        return;
    insert(l, logp + x, x, row, (uint32_t)id);
    *low = bar(l, logp);
}

static size_t best(const struct tf_search *s, const struct tf_search_view *v, const float *lp,
                   struct tf_grown *out)
{
    size_t V = s->rule.V;
    struct list l = {out, 0, s->rule.K == 1 ? 1 : 2 * s->rule.K};
    for (size_t row = 0; row < v->live; row++) {
        const float *p = lp + row * V;
        float low = bar(&l, v->logp[row]);
        size_t id = 0;
        for (; id + BLOCK <= V; id += BLOCK)
            if (any_above(p + id, low))
                for (size_t j = id; j < id + BLOCK; j++)
                    look(s, &l, v->logp[row], (uint32_t)row, p, j, &low);
        for (; id < V; id++)
            look(s, &l, v->logp[row], (uint32_t)row, p, id, &low);
    }
    return l.n;
}

static size_t forced(const struct tf_search *s, const struct tf_search_view *v, const float *lp,
                     struct tf_grown *out)
{
    struct list l = {out, 0, s->rule.K == 1 ? 1 : 2 * s->rule.K};
    for (size_t row = 0; row < v->live; row++) {
        float x = lp[row * s->rule.V + v->id];
        x = x > 0 ? 0 : x;
        if (isfinite(x) && isfinite(v->logp[row] + (double)x))
            insert(&l, v->logp[row] + (double)x, (double)x, (uint32_t)row, v->id);
    }
    return l.n;
}

/* What a row can draw: n candidates in order of ids, the likelier the larger their keys, which are
 * distinct; those below the bar are out. */
struct urn {
    uint64_t *key, bar;
    double *weight, total;
    size_t n;
};

/* Order of x <= 0, then of ids from the last to the first. */
static uint64_t key_of(float x, size_t id)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return (uint64_t)(x == 0 ? 0x80000000u : ~bits) << 32 | (UINT32_MAX - (uint32_t)id);
}

static double weight_from(const struct urn *u, uint64_t bar)
{
    double sum = 0;
    for (size_t i = 0; i < u->n; i++)
        sum += u->key[i] >= bar ? u->weight[i] : 0;
    return sum;
}

/* Raise the bar as far as what stays is at least `need`, in weights or in candidates: 8 bits of it
 * at a time, from the highest. */
static void raise_bar(struct urn *u, bool weights, double need)
{
    uint64_t bar = 0;
    double above = 0;
    for (int shift = 56; shift >= 0; shift -= 8) {
        double sum[256] = {0};
        for (size_t i = 0; i < u->n; i++)
            if ((u->key[i] ^ bar) >> shift < 256 && u->key[i] >= u->bar)
                sum[u->key[i] >> shift & 255] += weights ? u->weight[i] : 1;
        int digit = 255;
        for (; digit > 0 && above + sum[digit] < need; digit--)
            above += sum[digit];
        bar |= (uint64_t)digit << shift;
    }
    u->bar = bar > u->bar ? bar : u->bar;
}

static void fill(struct urn *u, const struct tf_search *s, const struct tf_search_view *v,
                 const float *lp, double logp)
{
    const struct tf_search_opts *rule = &s->rule;
    float top = -INFINITY;
    u->n = 0;
    u->bar = 0;
    for (size_t id = v->forced ? v->id : 0; id < (v->forced ? v->id + 1 : rule->V); id++) {
        float x = lp[id] > 0 ? 0 : lp[id];
        if (!isfinite(x) || !isfinite(logp + (double)x) ||
            (!v->forced && tf_search_banned(rule, (uint32_t)id)))
            continue;
        u->key[u->n] = key_of(x, id);
        u->weight[u->n++] = (double)x;
        top = x > top ? x : top;
    }
    for (size_t k = 0; k < u->n; k++)
        u->weight[k] = exp((u->weight[k] - (double)top) / rule->temperature);
    if (rule->top_k > 0 && rule->top_k < u->n)
        raise_bar(u, false, (double)rule->top_k);
    u->total = weight_from(u, u->bar);
    if (rule->top_p > 0 && rule->top_p < 1) {
        raise_bar(u, true, rule->top_p * u->total);
        u->total = weight_from(u, u->bar);
    }
}

static size_t draw(const struct tf_search *s, const struct tf_search_view *v, const float *lp,
                   size_t i, struct urn *u, struct tf_grown *out)
{
    size_t n = 0, row = 0;
    for (size_t d = 0; d < v->draws; d++) {
        if (d == 0 || v->draws == v->live) { /* a row of its own; else all draw from the first */
            row = v->draws == v->live ? d : 0;
            fill(u, s, v, lp + row * s->rule.V, v->logp[row]);
        }
        double at = tf_search_uniform(s, i, v->t, d) * u->total, run = 0;
        size_t drawn = u->n;
        for (size_t k = 0; k < u->n && run <= at; k++)
            if (u->key[k] >= u->bar) {
                run += u->weight[k];
                drawn = k;
            }
        if (drawn == u->n)
            continue;
        uint32_t id = UINT32_MAX - (uint32_t)u->key[drawn];
        float y = lp[row * s->rule.V + id];
        double x = y > 0 ? 0 : (double)y;
        out[n++] = (struct tf_grown){v->logp[row] + x, x, (uint32_t)row, id};
    }
    return n;
}

void TF_CPU(search_step)(struct tf_ctx *c, struct tf_search *s, const tf_mem_stat *lp)
{
    (void)c;
    struct tf_grown g[2 * TF_SEARCH_MAX_BEAM];
    struct tf_search_walk w = tf_search_walk_begin(s);
    struct urn u = {.n = 0};
    if (s->rule.sample) {
        u.key = tf_xarray(NULL, s->rule.V, sizeof *u.key);
        u.weight = tf_xarray(NULL, s->rule.V, sizeof *u.weight);
    }
    for (size_t i = 0; i < s->S; i++) {
        struct tf_search_view v = tf_search_look(s, &w, i);
        const float *mine = in(lp, v.row0 * s->rule.V);
        size_t n = s->rule.sample ? draw(s, &v, mine, i, &u, g)
                   : v.forced     ? forced(s, &v, mine, g)
                                  : best(s, &v, mine, g);
        for (size_t k = 0; k < n; k++)
            g[k].row += (uint32_t)v.row0;
        tf_search_take(s, &w, i, &v, g, n);
    }
    tf_search_walk_end(s, &w);
    free(u.key);
    free(u.weight);
}
