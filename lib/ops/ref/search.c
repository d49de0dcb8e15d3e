/* search.c - one step of beam search, literally as described in ops/search_state.h: every candidate
 * is compared with the best so far. */
#include "ops/ref/ref_private.h"
#include "ops/host_search.h"

/* The candidate of a column, or false when there is none. row counts within the sentence. */
static bool candidate(const struct tf_search *s, const struct tf_search_view *v, const tf_real *lp,
                      size_t row, size_t column, struct tf_candidate *g)
{
    const uint32_t id = tf_search_id(v, column);
    if (v->forced ? id != v->id : tf_search_banned(&s->opts, id))
        return false;
    double x = (double)lp[row * s->lp_ld + column];
    if (!isfinite(x))
        return false;
    x = x > 0 ? 0 : x;
    *g = (struct tf_candidate){v->logp[row] + x, x, (uint32_t)row, id};
    return isfinite(g->logp);
}

/* a comes before b. */
static bool before(const struct tf_candidate *a, const struct tf_candidate *b)
{
    if (a->logp != b->logp)
        return a->logp > b->logp;
    if (a->row != b->row)
        return a->row < b->row;
    return a->x != b->x ? a->x > b->x : a->id < b->id;
}

/* Put the best 2 K candidates (K = 1: the best) into out, in order; returns how many there are. */
static size_t best_candidates(const struct tf_search *s, const struct tf_search_view *v,
                              const tf_real *lp, struct tf_candidate *out)
{
    const size_t want = s->opts.K == 1 ? 1 : 2 * s->opts.K;
    struct tf_candidate g;
    size_t n = 0;
    for (size_t row = 0; row < v->live; row++)
        for (size_t j = 0; j < v->columns; j++) {
            if (!candidate(s, v, lp, row, j, &g) || (n == want && !before(&g, &out[n - 1])))
                continue;
            size_t at = n < want ? n++ : n - 1;
            for (; at > 0 && before(&g, &out[at - 1]); at--)
                out[at] = out[at - 1];
            out[at] = g;
        }
    return n;
}

/* Walk the candidates of a row, likeliest first, until there are `most` or the sum of their weights
 * reaches `need`; that sum goes to *sum. Returns the last. */
static struct tf_candidate descend(const struct tf_search *s, const struct tf_search_view *v,
                                   const tf_real *lp, size_t row, double max, size_t most,
                                   double need, double *sum)
{
    struct tf_candidate last = {.x = INFINITY}, next = last, g;
    *sum = 0;
    for (size_t n = 0; n < most && *sum < need; n++, last = next) {
        bool found = false;
        for (size_t j = 0; j < v->columns; j++) {
            if (!candidate(s, v, lp, row, j, &g))
                continue;
            bool below = g.x < last.x || (g.x == last.x && g.id > last.id);
            if (below && (!found || g.x > next.x))
                next = g, found = true;
        }
        if (!found)
            break;
        *sum += exp((next.x - max) / s->opts.temperature);
    }
    return last;
}

/* Is the candidate of a column not below `last`? */
static bool drawable(const struct tf_search *s, const struct tf_search_view *v, const tf_real *lp,
                     size_t row, size_t column, const struct tf_candidate *last,
                     struct tf_candidate *g)
{
    return candidate(s, v, lp, row, column, g) &&
           (g->x > last->x || (g->x == last->x && g->id <= last->id));
}

static size_t draw_candidate(const struct tf_search *s, const struct tf_search_view *v,
                             const tf_real *lp, size_t i, struct tf_candidate *out)
{
    bool top_p = s->opts.top_p > 0 && s->opts.top_p < 1;
    size_t n = 0;
    for (size_t d = 0; d < v->draws; d++) {
        size_t row = v->draws == v->live ? d : 0;
        double max = -INFINITY, total = 0, run = 0;
        struct tf_candidate g;
        for (size_t j = 0; j < v->columns; j++)
            if (candidate(s, v, lp, row, j, &g) && g.x > max)
                max = g.x;
        size_t most = s->opts.top_k > 0 ? (size_t)s->opts.top_k : v->columns;
        struct tf_candidate last = {.x = -INFINITY};
        if (top_p || s->opts.top_k > 0)
            last = descend(s, v, lp, row, max, most, INFINITY, &total);
        if (top_p)
            last = descend(s, v, lp, row, max, most, s->opts.top_p * total, &total);
        total = 0;
        for (size_t j = 0; j < v->columns; j++)
            if (drawable(s, v, lp, row, j, &last, &g))
                total += exp((g.x - max) / s->opts.temperature);
        double u = tf_search_uniform(s, i, v->t, d) * total;
        bool found = false;
        for (size_t j = 0; j < v->columns && run <= u; j++)
            if (drawable(s, v, lp, row, j, &last, &g)) {
                run += exp((g.x - max) / s->opts.temperature);
                out[n] = g;
                found = true;
            }
        n += found;
    }
    return n;
}

void TF_REF(search_step)(struct tf_ctx *c, struct tf_search *s, tf_mem_stat *lp)
{
    (void)c;
    tf_search_rules(s, lp);
    struct tf_candidate g[2 * TF_SEARCH_MAX_BEAM];
    struct tf_search_pass w = tf_search_begin_pass(s);
    for (size_t i = 0; i < s->S; i++) {
        struct tf_search_view v = tf_search_view_of(s, i);
        const tf_real *mine = in(lp, v.row0 * s->lp_ld);
        size_t n =
            s->opts.sample ? draw_candidate(s, &v, mine, i, g) : best_candidates(s, &v, mine, g);
        for (size_t k = 0; k < n; k++)
            g[k].row += (uint32_t)v.row0;
        tf_search_advance(s, &w, i, &v, g, n);
    }
    tf_search_end_pass(s, &w);
}
