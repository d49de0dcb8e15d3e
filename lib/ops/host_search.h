/* host_search.h - the half of search_step that all backends on host memory share: from the selected
 * candidates of a sentence to finished hypotheses, histories and the rows of the next step. Each
 * backend selects the candidates itself. Algorithm: ops/search_state.h. */
#ifndef TF_OPS_HOST_SEARCH_H
#define TF_OPS_HOST_SEARCH_H

#include "base/order.h"
#include "base/rng.h"
#include "ops/search_state.h"
#include <math.h>
#include <string.h>

/* A selected candidate; x is the log-probability of its last token. */
struct tf_candidate {
    double logp, x;
    uint32_t row, id;
};

/* For qsort: the order of point 3. */
static inline int tf_candidate_compare(const void *x, const void *y)
{
    const struct tf_candidate *a = (const struct tf_candidate *)x,
                              *b = (const struct tf_candidate *)y;
    if (a->logp != b->logp)
        return a->logp > b->logp ? -1 : 1;
    if (a->row != b->row)
        return a->row < b->row ? -1 : 1;
    if (a->x != b->x)
        return a->x > b->x ? -1 : 1;
    return (a->id > b->id) - (a->id < b->id);
}

/* A sentence before the step, as selection needs it. */
struct tf_search_view {
    size_t t, row0, live; /* its rows in lp */
    size_t columns;       /* of these */
    const uint32_t *ids;  /* of the columns, or NULL: 0, 1, ... */
    size_t draws;         /* sampling: draws of this step */
    const double *logp;   /* [live] */
    bool forced;          /* one id only */
    bool may_end;         /* EOS is a candidate */
    bool first_free;      /* the first step after a prefix */
    uint32_t id;          /* that id, when forced */
};

struct tf_search_pass {
    /* rows of the next step so far, first free slot, sentences that continue */
    size_t out, slot, alive;
};

static inline struct tf_search_pass tf_search_begin_pass(const struct tf_search *s)
{
    const uint32_t *counts = s->counts;
    return (struct tf_search_pass){.slot = counts[TF_SEARCH_SLOT]};
}

static inline struct tf_search_view tf_search_view_of(const struct tf_search *s, size_t i)
{
    const uint32_t *row0 = s->row0, *live = s->live, *limit = s->limit, *off = s->prefix_off,
                   *prefix = s->prefix;
    const size_t t = s->step[i];
    struct tf_search_view v = {.t = t, .row0 = row0[i], .live = live[i], .columns = s->opts.V};
    if (s->allowed != NULL) {
        v.ids = s->allowed[i].ids;
        v.columns = s->allowed[i].n;
    }
    size_t P = off[i + 1] - off[i];
    v.logp = s->logp + v.row0;
    v.may_end = t >= P;
    v.first_free = P > 0 && t == P;
    v.forced = t < P || t >= limit[i];
    v.id = t < P ? prefix[off[i] + t] : s->opts.eos;
    v.draws = v.live == 0 ? 0 : t == P ? s->opts.K : v.live;
    return v;
}

/* Token j < t of live row r, of those of all sentences, before step t. */
static inline uint32_t tf_search_token(const struct tf_search *s, size_t r, size_t j)
{
    return s->hist_id[s->table[r * s->ld + j + 1]];
}

static inline uint32_t tf_search_id(const struct tf_search_view *v, size_t column)
{
    return v->ids != NULL ? v->ids[column] : (uint32_t)column;
}

/* The column of an id, or SIZE_MAX. */
static inline size_t tf_search_column(const struct tf_search_view *v, uint32_t id)
{
    if (v->ids == NULL)
        return id < v->columns ? id : SIZE_MAX;
    size_t i;
    TF_FIRST(i, 0, v->columns, v->ids[i] >= id);
    return i < v->columns && v->ids[i] == id ? i : SIZE_MAX;
}

/* lp of a column, at most 0 where it is finite, as that of a candidate is. SIZE_MAX has none. */
static inline double tf_search_log_p(const struct tf_search *s, const struct tf_search_view *v,
                                     const tf_mem *lp, size_t row, size_t column)
{
    if (column == SIZE_MAX)
        return -INFINITY;
    const size_t at = (v->row0 + row) * s->lp_ld + column;
    const double x = s->be->elem_size[TF_ELEM_STAT] == sizeof(float)
                         ? (double)((const float *)lp)[at]
                         : ((const double *)lp)[at];
    return x > 0 && isfinite(x) ? 0 : x;
}

/* The candidate of a column, or false: there is none. row counts within the sentence. */
static inline bool tf_search_candidate(const struct tf_search *s, const struct tf_search_view *v,
                                       const tf_mem *lp, size_t row, size_t column,
                                       struct tf_candidate *g)
{
    const double x = tf_search_log_p(s, v, lp, row, column);
    if (!isfinite(x))
        return false;
    *g = (struct tf_candidate){v->logp[row] + x, x, (uint32_t)row, tf_search_id(v, column)};
    return isfinite(g->logp);
}

/* The best candidates so far, in order; `cap` are selected. */
struct tf_best {
    struct tf_candidate *v;
    size_t n, cap;
};

static inline struct tf_best tf_best_of(const struct tf_search_opts *o, struct tf_candidate *v)
{
    return (struct tf_best){v, 0, o->K == 1 ? 1 : 2 * o->K};
}

static inline void tf_best_add(struct tf_best *b, const struct tf_candidate *g)
{
    size_t at = b->n;
    while (at > 0 && tf_candidate_compare(g, &b->v[at - 1]) < 0)
        at--;
    if (at == b->cap)
        return;
    b->n += b->n < b->cap;
    memmove(b->v + at + 1, b->v + at, (b->n - 1 - at) * sizeof *b->v);
    b->v[at] = *g;
}

/* An x below which none of a row of that logp has the sum logp + x; rounding can only make it
 * smaller. */
static inline double tf_search_below(double x, double logp)
{
    return x - 1e-6 * (fabs(x) + fabs(logp));
}

/* An x below which no candidate of such a row is added. */
static inline double tf_best_bound(const struct tf_best *b, double logp)
{
    return b->n < b->cap ? -(double)INFINITY
                         : tf_search_below(b->v[b->cap - 1].logp - logp, logp);
}

/* Add those of a step with one id only. */
static inline void tf_best_forced(struct tf_best *b, const struct tf_search *s,
                                  const struct tf_search_view *v, const tf_mem *lp)
{
    const size_t at = tf_search_column(v, v->id);
    struct tf_candidate g;
    for (size_t row = 0; row < v->live; row++)
        if (tf_search_candidate(s, v, lp, row, at, &g))
            tf_best_add(b, &g);
}

/* Make an element of lp no candidate. */
static inline void tf_search_exclude(const struct tf_search *s, tf_mem *lp, size_t at)
{
    if (s->be->elem_size[TF_ELEM_STAT] == sizeof(float))
        ((float *)lp)[at] = -INFINITY;
    else
        ((double *)lp)[at] = -(double)INFINITY;
}

static inline bool tf_search_banned(const struct tf_search_opts *r, uint32_t id)
{
    for (size_t i = 0; i < r->n_ban; i++)
        if (r->ban[i] == id)
            return true;
    return r->ids > 0 && id >= r->ids;
}

/* Do the n - 1 ids before ids[j] equal the last n - 1 of ids [t], j < t, so that ids[j] after them
 * would repeat n tokens? n 0: no. */
static inline bool tf_search_repeats(const uint32_t *ids, size_t t, size_t n, size_t j)
{
    return n > 0 && j + 1 >= n &&
           memcmp(ids + j + 1 - n, ids + t + 1 - n, (n - 1) * sizeof *ids) == 0;
}
/* The rules of opts in lp [rows, V]. */
void tf_search_rules(const struct tf_search *s, tf_mem *lp);

/* The uniform number in (0, 1) for a draw of sentence i. */
static inline double tf_search_uniform(const struct tf_search *s, size_t i, size_t t, size_t draw)
{
    const uint32_t *key = s->key;
    uint32_t w[4], counter[4] = {key[2 * i], key[2 * i + 1], (uint32_t)t, (uint32_t)draw};
    tf_philox(w, counter, s->opts.seed);
    return ((double)w[0] * 0x1p32 + (double)w[1] + 0.5) * 0x1p-64;
}

static inline void tf_search_add_finished(struct tf_search *s, size_t i, size_t t,
                                          const struct tf_candidate *g)
{
    uint32_t *n_fin = s->n_fin, *slot = s->fin_slot + i * s->opts.N,
             *len = s->fin_len + i * s->opts.N;
    double *logp = s->fin_logp + i * s->opts.N, *score = s->fin_score + i * s->opts.N,
           *eos = s->fin_eos + i * s->opts.N;
    const uint32_t *limit = s->limit;
    const bool cut = t > 0 && t >= limit[i] && tf_search_cuts_off(&s->opts);
    const double *so_far = s->logp;
    double mine = cut ? so_far[g->row] / s->penalty[t] : g->logp / s->penalty[t + 1];
    size_t at = n_fin[i];
    while (at > 0 && score[at - 1] < mine)
        at--;
    if (at == s->opts.N)
        return;
    if (n_fin[i] < s->opts.N)
        n_fin[i]++;
    for (size_t j = n_fin[i] - 1; j > at; j--) {
        slot[j] = slot[j - 1], len[j] = len[j - 1];
        logp[j] = logp[j - 1], score[j] = score[j - 1], eos[j] = eos[j - 1];
    }
    slot[at] = s->table[g->row * s->ld + t], len[at] = (uint32_t)t;
    logp[at] = g->logp, score[at] = mine, eos[at] = g->x;
}

/* k: how many of the sentence there are so far. */
static inline void tf_search_add_live(struct tf_search *s, struct tf_search_pass *w, size_t i,
                                      size_t k, const struct tf_candidate *g)
{
    const size_t r = w->out++, t = s->step[i],
                 slot = s->places ? s->slot0[i] + 1 + t * s->opts.K + k : w->slot + r;
    uint32_t *table = s->table_next + r * s->ld;
    memcpy(table, s->table + g->row * s->ld, (t + 1) * sizeof *table);
    table[t + 1] = (uint32_t)slot;
    s->hist_id[slot] = g->id;
    s->hist_parent[slot] = table[t];
    s->hist_lp[slot] = g->x;
    s->logp_next[r] = g->logp;
    s->ids[r] = g->id;
    s->at[r] = (uint32_t)(t + 1);
    s->n_past[r] = (uint32_t)(t + 2);
    s->slot[r] = (uint32_t)slot;
    s->first[r] = s->src_first[i];
    s->n_src[r] = s->src_rows[i];
}

/* Points 4 and 5 for sentence i with its n selected candidates, in order. */
static inline void tf_search_advance(struct tf_search *s, struct tf_search_pass *w, size_t i,
                                     const struct tf_search_view *v, struct tf_candidate *g,
                                     size_t n)
{
    const struct tf_search_opts *opts = &s->opts;
    const enum tf_search_rule rule = opts->rule;
    const uint32_t *n_fin = s->n_fin, *limit = s->limit;
    uint32_t *ended = s->ended;
    const double most = s->penalty[rule == TF_SEARCH_TRANSFORMERS ? v->t + 1 : limit[i] + 1];
    const size_t from = w->out;
    size_t room = opts->K;
    if (rule == TF_SEARCH_MARIAN && n > opts->K - ended[i])
        n = opts->K - ended[i];
    for (size_t c = 0; c < n && (rule == TF_SEARCH_PAPER || c < opts->K); c++) {
        if (!v->may_end || g[c].id != opts->eos)
            continue;
        if (rule == TF_SEARCH_CTRANSLATE2 && v->first_free && c > 0) {
            room--;
            continue;
        }
        tf_search_add_finished(s, i, v->t, &g[c]);
        ended[i]++;
    }
    const bool done = ended[i] >= opts->K && tf_search_counts_ends(opts);
    for (size_t c = 0; c < n && w->out - from < room && !done; c++) {
        const bool some = rule != TF_SEARCH_PAPER && w->out > from; /* then all others stay */
        if (v->may_end && g[c].id == opts->eos)
            continue;
        if (opts->free_prefix && !v->may_end)
            g[c].logp = 0;
        if (!some && n_fin[i] == opts->N &&
            !(g[c].logp / most > s->fin_score[(i + 1) * opts->N - 1]))
            continue;
        tf_search_add_live(s, w, i, w->out - from, &g[c]);
    }
    s->step[i] += v->live > 0;
    s->row0[i] = (uint32_t)from;
    s->live[i] = (uint32_t)(w->out - from);
    w->alive += w->out > from;
}

static inline void tf_search_end_pass(struct tf_search *s, const struct tf_search_pass *w)
{
    tf_mem *table = s->table, *logp = s->logp;
    uint32_t *counts = s->counts;
    s->table = s->table_next, s->table_next = table;
    s->logp = s->logp_next, s->logp_next = logp;
    counts[TF_SEARCH_LIVE] = (uint32_t)w->out;
    counts[TF_SEARCH_SLOT] = (uint32_t)(w->slot + w->out);
    counts[TF_SEARCH_BOUND] = (uint32_t)(w->alive * s->opts.K);
    for (size_t r = w->out; r < s->rows; r++) {
        uint32_t none = (uint32_t)(s->slots - 1);
        s->ids[r] = 0, s->at[r] = 0, s->n_past[r] = 1, s->slot[r] = none;
        s->first[r] = 0, s->n_src[r] = 1, s->table[r * s->ld] = none;
    }
}

#endif
