/* diverse.c - see diverse_private.h. */
#include "infer/diverse_private.h"
#include "base/memory.h"
#include "ops/host_search.h"

#include <stdlib.h>
#include <string.h>

/* What a group selects from, and the best so far, in order. */
struct selection {
    const struct tf_search *q;
    struct tf_search_view view;
    const tf_mem *lp;
    const uint32_t *chosen; /* by earlier groups in this step */
    size_t n_chosen;
    double strength;
    struct tf_candidate *v;
    size_t n, cap;
};

static double x_of(const struct selection *s, size_t row, size_t column)
{
    return tf_search_log_p(s->q, &s->view, s->lp, row, column);
}

static double penalty(const struct selection *s, uint32_t id)
{
    size_t n = 0;
    for (size_t i = 0; i < s->n_chosen && !s->view.forced; i++)
        n += s->chosen[i] == id;
    return s->strength * (double)n;
}

static void consider(struct selection *s, size_t row, uint32_t id, double x)
{
    const struct tf_candidate g = {s->view.logp[row] + x - penalty(s, id), x, (uint32_t)row, id};
    size_t at = s->n;
    if (!isfinite(x) || !isfinite(g.logp))
        return;
    while (at > 0 && tf_candidate_compare(&g, &s->v[at - 1]) < 0)
        at--;
    if (at == s->cap)
        return;
    s->n += s->n < s->cap;
    memmove(s->v + at + 1, s->v + at, (s->n - 1 - at) * sizeof *s->v);
    s->v[at] = g;
}

/* The x below which no candidate of a row is selected; rounding can only make it smaller. */
static double lowest(const struct selection *s, size_t row)
{
    if (s->n < s->cap)
        return -INFINITY;
    const double logp = s->view.logp[row], x = s->v[s->cap - 1].logp - logp;
    return x - 1e-9 * (fabs(x) + fabs(logp));
}

static void select_best(struct selection *s)
{
    for (size_t row = 0; row < s->view.live; row++) {
        if (s->view.forced) {
            consider(s, row, s->view.id, x_of(s, row, tf_search_column(&s->view, s->view.id)));
            continue;
        }
        double low = lowest(s, row);
        for (size_t column = 0; column < s->view.columns; column++) {
            const double x = x_of(s, row, column);
            const uint32_t id = tf_search_id(&s->view, column);
            if (!(x >= low) || tf_search_banned(&s->q->opts, id))
                continue;
            consider(s, row, id, x);
            low = lowest(s, row);
        }
    }
}

void tf_diverse_step(const struct tf_diverse *d, struct tf_search *q, tf_mem *lp)
{
    struct tf_search_pass w = tf_search_begin_pass(q);
    const size_t K = q->opts.K;
    uint32_t *chosen = tf_xarray(NULL, d->groups * K, sizeof *chosen);
    struct selection s = {.q = q,
                          .lp = lp,
                          .chosen = chosen,
                          .strength = d->strength,
                          .cap = K == 1 ? 1 : 2 * K};
    s.v = tf_xarray(NULL, s.cap + 1, sizeof *s.v);
    tf_search_rules(q, lp);
    for (size_t i = 0; i < q->S; i++) {
        const size_t from = w.out;
        if (i % d->groups == 0)
            s.n_chosen = 0;
        s.n = 0;
        s.view = tf_search_view_of(q, i);
        select_best(&s);
        for (size_t k = 0; k < s.n; k++)
            s.v[k].row += (uint32_t)s.view.row0;
        tf_search_advance(q, &w, i, &s.view, s.v, s.n);
        for (size_t r = from; r < w.out; r++)
            chosen[s.n_chosen++] = q->ids[r];
    }
    tf_search_end_pass(q, &w);
    free(s.v);
    free(chosen);
}

static bool same_ids(const struct tf_hyp *a, const struct tf_hyp *b)
{
    return a->n == b->n && (a->n == 0 || memcmp(a->ids, b->ids, a->n * sizeof *a->ids) == 0);
}

size_t tf_diverse_rank(struct tf_hyp *hyps, size_t n, const struct tf_search_opts *o,
                       size_t n_prefix, size_t limit)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        struct tf_hyp h = hyps[i];
        const bool cut = h.n > 0 && h.n >= limit && tf_search_cuts_off(o);
        double logp = 0, counted = 0;
        for (size_t t = 0; t <= h.n; t++) {
            logp += (double)h.token_logp[t];
            if (!(o->free_prefix && t < n_prefix) && !(cut && t == h.n))
                counted += (double)h.token_logp[t];
        }
        h.logp = (float)logp;
        h.score = (float)(counted / tf_search_penalty(h.n + !cut, o->alpha, o->normalize));
        size_t at = kept;
        bool equal = false;
        for (size_t k = 0; k < kept && !equal; k++)
            equal = same_ids(&hyps[k], &h);
        if (equal)
            continue;
        for (; at > 0 && hyps[at - 1].score < h.score; at--)
            hyps[at] = hyps[at - 1];
        hyps[at] = h;
        kept++;
    }
    return kept;
}
