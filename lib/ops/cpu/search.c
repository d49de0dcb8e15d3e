/* search.c - one step of beam search in one pass over the log-probabilities: a sorted list of the
 * best candidates, and a bar that keeps nearly all ids from being looked at twice. Rule:
 * ops/search.h. */
#include "ops/search_host.h"

void tf_cpu_search_step(struct tf_ctx *c, struct tf_search *s, const tf_mem *lp);

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

static bool can_draw(const struct tf_search *s, const struct tf_search_view *v, float x, size_t id)
{
    return isfinite(x) && (v->forced ? id == v->id : !tf_search_banned(&s->rule, (uint32_t)id));
}

static size_t draw(const struct tf_search *s, const struct tf_search_view *v, const float *lp,
                   size_t i, struct tf_grown *out)
{
    size_t n = 0, V = s->rule.V, row = 0;
    double max = 0, total = 0;
    for (size_t d = 0; d < v->draws; d++) {
        if (d == 0 || v->draws == v->live) { /* a row of its own; else all draw from the first */
            row = v->draws == v->live ? d : 0;
            const float *p = lp + row * V;
            float top = -INFINITY;
            for (size_t id = 0; id < V; id++)
                if (p[id] > top && can_draw(s, v, p[id], id))
                    top = p[id];
            max = top > 0 ? 0 : (double)top;
            total = 0;
            for (size_t id = 0; id < V; id++)
                if (can_draw(s, v, p[id], id))
                    total += exp(((p[id] > 0 ? 0 : (double)p[id]) - max) / s->rule.temperature);
        }
        const float *p = lp + row * V;
        double u = tf_search_uniform(s, i, v->t, d) * total, run = 0;
        bool found = false;
        for (size_t id = 0; id < V && run <= u; id++) {
            if (!can_draw(s, v, p[id], id))
                continue;
            double x = p[id] > 0 ? 0 : (double)p[id];
            if (!isfinite(v->logp[row] + x))
                continue;
            run += exp((x - max) / s->rule.temperature);
            out[n] = (struct tf_grown){v->logp[row] + x, x, (uint32_t)row, (uint32_t)id};
            found = true;
        }
        n += found;
    }
    return n;
}

void tf_cpu_search_step(struct tf_ctx *c, struct tf_search *s, const tf_mem *lp)
{
    (void)c;
    struct tf_grown g[2 * TF_SEARCH_MAX_BEAM];
    struct tf_search_walk w = tf_search_walk_begin(s);
    for (size_t i = 0; i < s->S; i++) {
        struct tf_search_view v = tf_search_look(s, &w, i);
        const float *mine = (const float *)lp + v.row0 * s->rule.V;
        size_t n = s->rule.sample ? draw(s, &v, mine, i, g)
                   : v.forced     ? forced(s, &v, mine, g)
                                  : best(s, &v, mine, g);
        for (size_t k = 0; k < n; k++)
            g[k].row += (uint32_t)v.row0;
        tf_search_take(s, &w, i, &v, g, n);
    }
    tf_search_walk_end(s, &w);
}
