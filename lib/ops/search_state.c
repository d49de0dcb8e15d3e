/* search_state.c - the host's side of a beam search: its memory on a backend, the start of a group,
 * the way back from the last tokens to the results. */
#include "ops/search_state.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The arrays of struct tf_search, to be allocated, grown and freed alike. */
/* clang-format off */
enum {
    IDS, AT, SLOT, TABLE, N_PAST, FIRST, N_SRC, TABLE_NEXT, LOGP, LOGP_NEXT, ROW0, LIVE, LIMIT,
    SRC_FIRST, SRC_ROWS, PREFIX, PREFIX_OFF, KEY, COUNTS, PENALTY, HIST_ID, HIST_PARENT, HIST_LP,
    N_FIN, FIN_ROW, FIN_LEN, FIN_LOGP, FIN_SCORE, FIN_EOS, ARRAYS
};

enum { LAG_ROWS = 32 };

struct tf_search_host {
    size_t cap[ARRAYS];
    uint32_t *stage; /* host values on their way to the backend */
    size_t stage_n;
    double *penalty;
    size_t steps; /* steps that the group took */
    uint32_t *hist_id, *hist_parent, *n_fin, *fin_row, *fin_len;
    double *hist_lp, *fin_logp, *fin_score, *fin_eos;
};

static tf_mem **array(struct tf_search *s, int a)
{
    tf_mem **all[ARRAYS] = {
        &s->ids, &s->at, &s->slot, &s->table, &s->n_past, &s->first, &s->n_src, &s->table_next,
        &s->logp, &s->logp_next, &s->row0, &s->live, &s->limit, &s->src_first, &s->src_rows,
        &s->prefix, &s->prefix_off, &s->key, &s->counts, &s->penalty, &s->hist_id, &s->hist_parent,
        &s->hist_lp, &s->n_fin, &s->fin_row, &s->fin_len, &s->fin_logp, &s->fin_score, &s->fin_eos,
    };
    return all[a];
}

static enum tf_elem elem(int a)
{
    switch (a) {
    case LOGP: case LOGP_NEXT: case PENALTY: case HIST_LP:
    case FIN_LOGP: case FIN_SCORE: case FIN_EOS: return TF_ELEM_F64;
    default: return TF_ELEM_U32;
    }
}

/* Elements of an array for the group at hand. */
static size_t need(const struct tf_search *s, int a, size_t prefix)
{
    switch (a) {
    case TABLE: case TABLE_NEXT: return s->max_rows * s->ld;
    case LIVE: case ROW0: case LIMIT: case SRC_FIRST: case SRC_ROWS: case N_FIN: return s->S;
    case PREFIX: return prefix;
    case PREFIX_OFF: return s->S + 1;
    case KEY: return 2 * s->S;
    case COUNTS: return TF_SEARCH_COUNTS;
    case PENALTY: return s->max_steps + 1;
    case HIST_ID: case HIST_PARENT: case HIST_LP: return s->max_steps * s->max_rows;
    case FIN_ROW: case FIN_LEN:
    case FIN_LOGP: case FIN_SCORE: case FIN_EOS: return s->S * s->rule.N;
    default: return s->max_rows;
    }
}
/* clang-format on */

double tf_search_penalty(size_t len, double alpha)
{
    return pow((5 + (double)len) / 6, alpha);
}

void tf_search_init(struct tf_search *s, const struct tf_search_opts *rule,
                    const struct tf_backend *be, struct tf_ctx *ctx)
{
    TF_ASSERT(rule->K >= 1 && rule->K <= TF_SEARCH_MAX_BEAM && rule->N >= 1 && rule->N <= rule->K &&
              rule->alpha >= 0 && rule->n_ban <= TF_SEARCH_BANS);
    TF_ASSERT(!rule->sample || (rule->N == rule->K && rule->temperature > 0));
    *s = (struct tf_search){.rule = *rule,
                            .be = be,
                            .ctx = ctx,
                            .host = tf_xcalloc(1, sizeof *s->host)};
}

void tf_search_release(struct tf_search *s)
{
    struct tf_search_host *h = s->host;
    if (h == NULL)
        return;
    for (int a = 0; a < ARRAYS; a++)
        if (*array(s, a) != NULL)
            s->be->free(s->ctx, *array(s, a));
    void *all[] = {h->stage,   h->penalty, h->hist_id,  h->hist_parent, h->n_fin,   h->fin_row,
                   h->fin_len, h->hist_lp, h->fin_logp, h->fin_score,   h->fin_eos, h};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
    *s = (struct tf_search){0};
}

size_t tf_search_slots(const struct tf_search_opts *rule, uint32_t limit)
{
    return 1 + rule->K * (size_t)limit;
}

/* Room for every array. What grows gets an eighth more, so that groups of about equal size do not
 * allocate again and again. */
static int reserve(struct tf_search *s, size_t prefix, struct tf_err *err)
{
    /* TABLE and TABLE_NEXT, LOGP and LOGP_NEXT change places: both of a pair are asked for the same
     * room. */
    for (int a = 0; a < ARRAYS; a++) {
        size_t n = need(s, a, prefix);
        tf_mem **p = array(s, a);
        if (*p != NULL && n <= s->host->cap[a])
            continue;
        if (*p != NULL)
            s->be->free(s->ctx, *p);
        s->host->cap[a] = 0;
        *p = s->be->alloc(s->ctx, elem(a), n + n / 8 + 1, err);
        if (*p == NULL)
            return -1;
        s->host->cap[a] = n + n / 8 + 1;
    }
    return 0;
}

/* The next n values of the stage, filled in by the caller, then sent. */
static uint32_t *stage(struct tf_search *s, size_t n)
{
    uint32_t *p = s->host->stage + s->host->stage_n;
    s->host->stage_n += n;
    return p;
}

static void send_u32(struct tf_search *s, tf_mem *dst, const uint32_t *src, size_t n)
{
    if (n > 0)
        s->be->upload(s->ctx, dst, TF_ELEM_U32, src, n);
}

static void send_rows(struct tf_search *s, const struct tf_search_group *g)
{
    size_t n = g->n;
    uint32_t *ids = stage(s, n), *zero = stage(s, n), *one = stage(s, n), *count = stage(s, n),
             *len = stage(s, n), *key = stage(s, 2 * n), *table = stage(s, n * s->ld);
    memset(table, 0, n * s->ld * sizeof *table);
    for (size_t i = 0; i < n; i++) {
        ids[i] = s->rule.start;
        zero[i] = 0;
        one[i] = 1;
        count[i] = (uint32_t)i;
        len[i] = g->src_off[i + 1] - g->src_off[i];
        key[2 * i] = g->key != NULL ? (uint32_t)g->key[i] : 0;
        key[2 * i + 1] = g->key != NULL ? (uint32_t)(g->key[i] >> 32) : 0;
        table[i * s->ld] = (uint32_t)i;
    }
    send_u32(s, s->table, table, n * s->ld);
    send_u32(s, s->ids, ids, n);
    send_u32(s, s->at, zero, n);
    send_u32(s, s->slot, count, n);
    send_u32(s, s->n_past, one, n);
    send_u32(s, s->first, g->src_off, n);
    send_u32(s, s->n_src, len, n);
    send_u32(s, s->row0, count, n);
    send_u32(s, s->live, one, n);
    send_u32(s, s->limit, g->limit, n);
    send_u32(s, s->src_first, g->src_off, n);
    send_u32(s, s->src_rows, len, n);
    send_u32(s, s->n_fin, zero, n);
    send_u32(s, s->key, key, 2 * n);
    s->be->zero(s->ctx, s->logp, TF_ELEM_F64, n);
}

/* A little more, so that groups of about equal size need memory and are replayed alike. */
static size_t rounded(size_t n)
{
    size_t unit = 1;
    while (8 * unit < n)
        unit *= 2;
    return (n + unit - 1) / unit * unit;
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

int tf_search_start(struct tf_search *s, const struct tf_search_group *g, struct tf_err *err)
{
    struct tf_search_host *h = s->host;
    size_t n = g->n, prefix = g->prefix_off != NULL ? g->prefix_off[n] - g->prefix_off[0] : 0;
    size_t steps = 1, slots = 1, poll = (size_t)s->be->poll;
    for (size_t i = 0; i < n; i++) {
        steps = larger(steps, g->limit[i] + (size_t)1);
        slots += tf_search_slots(&s->rule, g->limit[i]);
    }
    /* The first one, and then as many as are made at once. */
    steps = (rounded(steps) + poll - 2) / poll * poll + 1;
    slots = rounded(slots);
    if (slots > UINT32_MAX)
        return tf_fail(err, "a group of %zu sentences needs too many cache slots", n);
    /* Among groups of as many sentences sizes only grow: then a device can replay the steps of one
     * for another. What ends a search is in its sentences. */
    s->max_steps = n == s->S ? larger(steps, s->max_steps) : steps;
    s->slots = n == s->S ? larger(slots, s->slots) : slots;
    s->S = n;
    s->max_rows = n * s->rule.K;
    s->ld = s->max_steps;
    s->rows = n;
    if (reserve(s, prefix, err) < 0)
        return -1;
    h->stage = tf_xarray(h->stage, (8 + s->ld) * n + 1 + TF_SEARCH_COUNTS, sizeof *h->stage);
    h->stage_n = 0;
    send_rows(s, g);
    uint32_t *off = stage(s, n + 1), *counts = stage(s, TF_SEARCH_COUNTS);
    for (size_t i = 0; i <= n; i++)
        off[i] = g->prefix_off != NULL ? g->prefix_off[i] - g->prefix_off[0] : 0;
    send_u32(s, s->prefix_off, off, n + 1);
    if (prefix > 0)
        send_u32(s, s->prefix, g->prefix + g->prefix_off[0], prefix);
    counts[TF_SEARCH_LIVE] = (uint32_t)n;
    counts[TF_SEARCH_STEP] = 0;
    counts[TF_SEARCH_SLOT] = (uint32_t)n;
    counts[TF_SEARCH_BOUND] = (uint32_t)s->max_rows;
    send_u32(s, s->counts, counts, TF_SEARCH_COUNTS);
    h->penalty = tf_xarray(h->penalty, s->max_steps + 1, sizeof *h->penalty);
    for (size_t len = 0; len <= s->max_steps; len++)
        h->penalty[len] = tf_search_penalty(len, s->rule.alpha);
    s->be->upload(s->ctx, s->penalty, TF_ELEM_F64, h->penalty, s->max_steps + 1);
    return s->be->sync(s->ctx, err); /* the host's arrays are its own again */
}

int tf_search_poll(struct tf_search *s, bool lag, struct tf_err *err)
{
    uint32_t counts[TF_SEARCH_COUNTS];
    if (s->be->download(s->ctx, counts, TF_ELEM_U32, s->counts, TF_SEARCH_COUNTS, err) < 0)
        return -1;
    s->rows = counts[TF_SEARCH_LIVE];
    if (lag) { /* in steps of a few, lest a device have too many sizes to replay */
        s->rows = (counts[TF_SEARCH_BOUND] + LAG_ROWS - 1) / LAG_ROWS * LAG_ROWS;
        s->rows = s->rows < s->max_rows ? s->rows : s->max_rows;
    }
    return 0;
}

static int fetch_u32(struct tf_search *s, uint32_t **dst, const tf_mem *src, size_t n,
                     struct tf_err *err)
{
    *dst = tf_xarray(*dst, n + 1, sizeof **dst);
    return s->be->download(s->ctx, *dst, TF_ELEM_U32, src, n, err);
}

static int fetch_f64(struct tf_search *s, double **dst, const tf_mem *src, size_t n,
                     struct tf_err *err)
{
    *dst = tf_xarray(*dst, n + 1, sizeof **dst);
    return s->be->download(s->ctx, *dst, TF_ELEM_F64, src, n, err);
}

int tf_search_fetch(struct tf_search *s, struct tf_err *err)
{
    struct tf_search_host *h = s->host;
    uint32_t counts[TF_SEARCH_COUNTS];
    if (s->be->download(s->ctx, counts, TF_ELEM_U32, s->counts, TF_SEARCH_COUNTS, err) < 0)
        return -1;
    size_t past = (h->steps = counts[TF_SEARCH_STEP]) * s->max_rows, fin = s->S * s->rule.N;
    if (fetch_u32(s, &h->hist_id, s->hist_id, past, err) < 0 ||
        fetch_u32(s, &h->hist_parent, s->hist_parent, past, err) < 0 ||
        fetch_f64(s, &h->hist_lp, s->hist_lp, past, err) < 0 ||
        fetch_u32(s, &h->n_fin, s->n_fin, s->S, err) < 0 ||
        fetch_u32(s, &h->fin_row, s->fin_row, fin, err) < 0 ||
        fetch_u32(s, &h->fin_len, s->fin_len, fin, err) < 0 ||
        fetch_f64(s, &h->fin_logp, s->fin_logp, fin, err) < 0 ||
        fetch_f64(s, &h->fin_score, s->fin_score, fin, err) < 0)
        return -1;
    return fetch_f64(s, &h->fin_eos, s->fin_eos, fin, err);
}

size_t tf_search_count(const struct tf_search *s, size_t i)
{
    return s->host->n_fin[i];
}

struct tf_search_hyp tf_search_result(const struct tf_search *s, size_t i, size_t rank)
{
    size_t at = i * s->rule.N + rank;
    return (struct tf_search_hyp){.n = s->host->fin_len[at],
                                  .logp = s->host->fin_logp[at],
                                  .score = s->host->fin_score[at]};
}

void tf_search_trace(const struct tf_search *s, size_t i, size_t rank, uint32_t *ids,
                     float *token_logp)
{
    const struct tf_search_host *h = s->host;
    size_t at = i * s->rule.N + rank, n = h->fin_len[at], row = h->fin_row[at];
    if (token_logp != NULL)
        token_logp[n] = (float)h->fin_eos[at];
    for (size_t t = n; t-- > 0;) {
        size_t past = t * s->max_rows + row;
        ids[t] = h->hist_id[past];
        if (token_logp != NULL)
            token_logp[t] = (float)h->hist_lp[past];
        row = h->hist_parent[past];
    }
}
