/* host_search.h - the half of search_step that is the same on every backend whose memory is host
 * memory: from the grown candidates of a sentence to finished hypotheses, histories and the rows of
 * the next step. Which candidates grow is the backend's own business. Rule: ops/search_state.h. */
#ifndef TF_OPS_HOST_SEARCH_H
#define TF_OPS_HOST_SEARCH_H

#include "base/rng.h"
#include "ops/search_state.h"
#include <math.h>
#include <string.h>

/* A candidate. x is the term of its last token. */
struct tf_grown {
    double logp, x;
    uint32_t row, id;
};

/* A sentence before the step: what selection needs. */
struct tf_search_view {
    size_t t, row0, live; /* its rows in lp */
    size_t draws;         /* sampling: draws of this step */
    const double *logp;   /* [live] */
    bool forced;          /* one id only */
    bool may_end;         /* EOS is a candidate */
    uint32_t id;          /* that id, when forced */
};

struct tf_search_walk {
    /* step, rows of the next step so far, first free slot, sentences that go on */
    size_t t, out, slot, alive;
};

static inline struct tf_search_walk tf_search_walk_begin(const struct tf_search *s)
{
    const uint32_t *counts = s->counts;
    return (struct tf_search_walk){.t = counts[TF_SEARCH_STEP], .slot = counts[TF_SEARCH_SLOT]};
}

static inline struct tf_search_view tf_search_look(const struct tf_search *s,
                                                   const struct tf_search_walk *w, size_t i)
{
    const uint32_t *row0 = s->row0, *live = s->live, *limit = s->limit, *off = s->prefix_off,
                   *prefix = s->prefix;
    struct tf_search_view v = {.t = w->t, .row0 = row0[i], .live = live[i]};
    size_t P = off[i + 1] - off[i];
    v.logp = (const double *)s->logp + v.row0;
    v.may_end = w->t >= P;
    v.forced = w->t < P || w->t >= limit[i];
    v.id = w->t < P ? prefix[off[i] + w->t] : s->rule.eos;
    v.draws = v.live == 0 ? 0 : w->t == P ? s->rule.K : v.live;
    return v;
}

static inline bool tf_search_banned(const struct tf_search_opts *r, uint32_t id)
{
    for (size_t i = 0; i < r->n_ban; i++)
        if (r->ban[i] == id)
            return true;
    return false;
}

/* The number in (0, 1) behind a draw of sentence i. */
static inline double tf_search_uniform(const struct tf_search *s, size_t i, size_t t, size_t draw)
{
    const uint32_t *key = s->key;
    uint32_t w[4], counter[4] = {key[2 * i], key[2 * i + 1], (uint32_t)t, (uint32_t)draw};
    tf_philox(w, counter, s->rule.seed);
    return ((double)w[0] * 0x1p32 + (double)w[1] + 0.5) * 0x1p-64;
}

static inline void tf_search_finish(struct tf_search *s, size_t i, size_t t,
                                    const struct tf_grown *g)
{
    uint32_t *n_fin = s->n_fin, *row = (uint32_t *)s->fin_row + i * s->rule.N,
             *len = (uint32_t *)s->fin_len + i * s->rule.N;
    double *logp = (double *)s->fin_logp + i * s->rule.N,
           *score = (double *)s->fin_score + i * s->rule.N,
           *eos = (double *)s->fin_eos + i * s->rule.N;
    double mine = g->logp / ((const double *)s->penalty)[t + 1];
    size_t at = n_fin[i];
    while (at > 0 && score[at - 1] < mine)
        at--;
    if (at == s->rule.N)
        return;
    if (n_fin[i] < s->rule.N)
        n_fin[i]++;
    for (size_t j = n_fin[i] - 1; j > at; j--) {
        row[j] = row[j - 1], len[j] = len[j - 1];
        logp[j] = logp[j - 1], score[j] = score[j - 1], eos[j] = eos[j - 1];
    }
    row[at] = g->row, len[at] = (uint32_t)t;
    logp[at] = g->logp, score[at] = mine, eos[at] = g->x;
}

static inline void tf_search_live(struct tf_search *s, struct tf_search_walk *w, size_t i,
                                  const struct tf_grown *g)
{
    size_t r = w->out++, t = w->t, past = t * s->max_rows + r;
    uint32_t *table = (uint32_t *)s->table_next + r * s->ld;
    ((uint32_t *)s->hist_id)[past] = g->id;
    ((uint32_t *)s->hist_parent)[past] = g->row;
    ((double *)s->hist_lp)[past] = g->x;
    ((double *)s->logp_next)[r] = g->logp;
    memcpy(table, (const uint32_t *)s->table + g->row * s->ld, (t + 1) * sizeof *table);
    table[t + 1] = (uint32_t)(w->slot + r);
    ((uint32_t *)s->ids)[r] = g->id;
    ((uint32_t *)s->at)[r] = (uint32_t)(t + 1);
    ((uint32_t *)s->n_past)[r] = (uint32_t)(t + 2);
    ((uint32_t *)s->slot)[r] = (uint32_t)(w->slot + r);
    ((uint32_t *)s->first)[r] = ((const uint32_t *)s->src_first)[i];
    ((uint32_t *)s->n_src)[r] = ((const uint32_t *)s->src_rows)[i];
}

/* Points 4 and 5 of the rule for sentence i with its n grown candidates, in order. */
static inline void tf_search_take(struct tf_search *s, struct tf_search_walk *w, size_t i,
                                  const struct tf_search_view *v, const struct tf_grown *g,
                                  size_t n)
{
    const struct tf_search_opts *rule = &s->rule;
    const uint32_t *n_fin = s->n_fin, *limit = s->limit;
    double most = ((const double *)s->penalty)[limit[i] + 1];
    size_t from = w->out;
    for (size_t c = 0; c < n; c++)
        if (v->may_end && g[c].id == rule->eos)
            tf_search_finish(s, i, w->t, &g[c]);
    for (size_t c = 0; c < n && w->out - from < rule->K; c++) {
        if (v->may_end && g[c].id == rule->eos)
            continue;
        if (n_fin[i] == rule->N &&
            !(g[c].logp / most > ((const double *)s->fin_score)[(i + 1) * rule->N - 1]))
            continue;
        tf_search_live(s, w, i, &g[c]);
    }
    ((uint32_t *)s->row0)[i] = (uint32_t)from;
    ((uint32_t *)s->live)[i] = (uint32_t)(w->out - from);
    w->alive += w->out > from;
}

static inline void tf_search_walk_end(struct tf_search *s, const struct tf_search_walk *w)
{
    tf_mem *table = s->table, *logp = s->logp;
    uint32_t *counts = s->counts;
    s->table = s->table_next, s->table_next = table;
    s->logp = s->logp_next, s->logp_next = logp;
    counts[TF_SEARCH_LIVE] = (uint32_t)w->out;
    counts[TF_SEARCH_STEP] = (uint32_t)(w->t + 1);
    counts[TF_SEARCH_SLOT] = (uint32_t)(w->slot + w->out);
    counts[TF_SEARCH_BOUND] = (uint32_t)(w->alive * s->rule.K);
    for (size_t r = w->out; r < s->rows; r++) {
        uint32_t none = (uint32_t)(s->slots - 1);
        ((uint32_t *)s->ids)[r] = 0, ((uint32_t *)s->at)[r] = 0, ((uint32_t *)s->n_past)[r] = 1,
                   ((uint32_t *)s->slot)[r] = none;
        ((uint32_t *)s->first)[r] = 0, ((uint32_t *)s->n_src)[r] = 1,
                   ((uint32_t *)s->table)[r * s->ld] = none;
    }
}

#endif
