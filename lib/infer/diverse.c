/* diverse.c - see diverse_private.h. */
#include "infer/diverse_private.h"
#include "base/memory.h"
#include "ops/host_search.h"

#include <stdlib.h>
#include <string.h>

/* What a group selects from, and the best so far. */
struct selection {
    const struct tf_search *q;
    struct tf_search_view view;
    const tf_mem *lp;
    const uint32_t *chosen; /* by earlier groups in this step */
    size_t n_chosen;
    double strength;
    struct tf_best best;
};

static void consider(struct selection *s, size_t row, size_t column)
{
    struct tf_candidate g;
    size_t n = 0;
    if (!tf_search_candidate(s->q, &s->view, s->lp, row, column, &g))
        return;
    for (size_t i = 0; i < s->n_chosen; i++)
        n += s->chosen[i] == g.id;
    g.logp = s->view.logp[row] + g.x - s->strength * (double)n;
    if (isfinite(g.logp))
        tf_best_add(&s->best, &g);
}

static void select_best(struct selection *s)
{
    if (s->view.forced)
        tf_best_forced(&s->best, s->q, &s->view, s->lp);
    for (size_t row = 0; row < s->view.live && !s->view.forced; row++) {
        double low = tf_best_bound(&s->best, s->view.logp[row]);
        for (size_t column = 0; column < s->view.columns; column++) {
            if (!(tf_search_log_p(s->q, &s->view, s->lp, row, column) >= low) ||
                tf_search_banned(&s->q->opts, tf_search_id(&s->view, column)))
                continue;
            consider(s, row, column);
            low = tf_best_bound(&s->best, s->view.logp[row]);
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
                          .strength = d->strength};
    s.best = tf_best_of(&q->opts, tf_xarray(NULL, 2 * K, sizeof *s.best.v));
    tf_search_rules(q, lp);
    for (size_t i = 0; i < q->S; i++) {
        const size_t from = w.out;
        if (i % d->groups == 0)
            s.n_chosen = 0;
        s.best.n = 0;
        s.view = tf_search_view_of(q, i);
        select_best(&s);
        for (size_t k = 0; k < s.best.n; k++)
            s.best.v[k].row += (uint32_t)s.view.row0;
        tf_search_advance(q, &w, i, &s.view, s.best.v, s.best.n);
        for (size_t r = from; r < w.out; r++)
            chosen[s.n_chosen++] = q->ids[r];
    }
    tf_search_end_pass(q, &w);
    free(s.best.v);
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
