/* search_state.c - the host side of a beam search: its memory on a backend, the start of a
 * group, and the results, traced from their last tokens. */
#include "ops/search_state.h"
#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LAG_ROWS = 32 };

struct tf_search_host {
    struct {
#define CAPACITY(type, name, n) size_t name;
        TF_SEARCH_ARRAYS(CAPACITY)
    } cap;
    struct {
#define RESULT(type, name, n) type *name;
        TF_SEARCH_HISTORY(RESULT)
        TF_SEARCH_FINISHED(RESULT)
    } result; /* after tf_search_fetch: copies on the host, or there the arrays themselves */
    size_t prefix_ids; /* ids of all prefixes of the group */
    size_t lists, list_ids; /* copied to a device, and their ids */
    uint32_t *stage;   /* host values on their way to the backend */
    size_t stage_n;
    double *penalty;
    size_t steps; /* steps that the group took */
    uint32_t *prefix_len; /* of each sentence */
};

#define ELEM_OF(p) _Generic((p), uint32_t * : TF_ELEM_U32, double * : TF_ELEM_F64)

double tf_search_penalty(size_t len, double alpha, double normalize)
{
    return pow((5 + (double)len) / 6, alpha) * pow((double)len, normalize);
}

void tf_search_init(struct tf_search *s, const struct tf_search_opts *opts,
                    const struct tf_backend *be, struct tf_ctx *ctx)
{
    TF_ASSERT(opts->K >= 1 && opts->K <= TF_SEARCH_MAX_BEAM && opts->N >= 1 && opts->N <= opts->K &&
              opts->alpha >= 0 && opts->normalize >= 0 && opts->n_ban <= TF_SEARCH_BANS);
    TF_ASSERT(!opts->sample ||
              (opts->N == opts->K && opts->temperature > 0 && opts->rule == TF_SEARCH_PAPER));
    TF_ASSERT(opts->rule != TF_SEARCH_TRANSFORMERS || opts->N == opts->K);
    *s = (struct tf_search){.opts = *opts,
                            .be = be,
                            .ctx = ctx,
                            .host = tf_xcalloc(1, sizeof *s->host)};
}

void tf_search_release(struct tf_search *s)
{
    struct tf_search_host *h = s->host;
    if (h == NULL)
        return;
#define FREE_ARRAY(type, name, n) \
    if (s->name != NULL)          \
        s->be->free(s->ctx, s->name);
    TF_SEARCH_ARRAYS(FREE_ARRAY)
#define FREE_RESULT(type, name, n) \
    if (!s->be->host)              \
        free(h->result.name);
    TF_SEARCH_HISTORY(FREE_RESULT)
    TF_SEARCH_FINISHED(FREE_RESULT)
    free(h->stage);
    free(h->penalty);
    free(h->prefix_len);
    free(h);
    *s = (struct tf_search){0};
}

size_t tf_search_slots(const struct tf_search_opts *opts, uint32_t limit)
{
    return 1 + opts->K * (size_t)limit;
}

/* p with room for n elements, in place of one with room for *cap. An array that grows gets an
 * eighth more, so that groups of about equal size rarely allocate. */
static tf_mem *grown(struct tf_search *s, tf_mem *p, enum tf_elem e, size_t *cap, size_t n,
                     struct tf_err *err)
{
    if (p != NULL && n <= *cap)
        return p;
    if (p != NULL)
        s->be->free(s->ctx, p);
    p = s->be->alloc(s->ctx, e, n + n / 8 + 1, err);
    *cap = p != NULL ? n + n / 8 + 1 : 0;
    return p;
}

/* Room for the group in every array. The arrays that search_step swaps have the same size. */
static int reserve_arrays(struct tf_search *s, struct tf_err *err)
{
#define GROW(type, name, n)                                                      \
    s->name = grown(s, s->name, ELEM_OF(s->name), &s->host->cap.name, (n), err); \
    if (s->name == NULL)                                                         \
        return -1;
    TF_SEARCH_ARRAYS(GROW)
    return 0;
}

/* The next n values of the stage, for the caller to fill in and send. */
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
    const size_t n = g->n, copies = g->copies > 0 ? g->copies : 1;
    uint32_t *ids = stage(s, n), *zero = stage(s, n), *one = stage(s, n), *count = stage(s, n),
             *src = stage(s, n), *len = stage(s, n), *key = stage(s, 2 * n),
             *table = stage(s, n * s->ld);
    memset(table, 0, n * s->ld * sizeof *table);
    for (size_t i = 0; i < n; i++) {
        ids[i] = s->opts.start;
        zero[i] = 0;
        one[i] = 1;
        count[i] = (uint32_t)i;
        src[i] = g->src_off[i / copies];
        len[i] = g->src_off[i / copies + 1] - src[i];
        key[2 * i] = g->key != NULL ? (uint32_t)g->key[i] : 0;
        key[2 * i + 1] = g->key != NULL ? (uint32_t)(g->key[i] >> 32) : 0;
        table[i * s->ld] = (uint32_t)i;
    }
    send_u32(s, s->table, table, n * s->ld);
    send_u32(s, s->ids, ids, n);
    send_u32(s, s->at, zero, n);
    send_u32(s, s->slot, count, n);
    send_u32(s, s->n_past, one, n);
    send_u32(s, s->first, src, n);
    send_u32(s, s->n_src, len, n);
    send_u32(s, s->row0, count, n);
    send_u32(s, s->live, one, n);
    send_u32(s, s->ended, zero, n);
    send_u32(s, s->limit, g->limit, n);
    send_u32(s, s->src_first, src, n);
    send_u32(s, s->src_rows, len, n);
    send_u32(s, s->n_fin, zero, n);
    send_u32(s, s->key, key, 2 * n);
    s->be->zero(s->ctx, s->logp, TF_ELEM_F64, n);
}

static void send_lists(struct tf_search *s, const struct tf_search_group *g)
{
    const size_t n = s->host->lists;
    uint32_t *ids = stage(s, s->host->list_ids), *off = stage(s, n + 1);
    off[0] = 0;
    for (size_t i = 0; i < n; i++) {
        memcpy(ids + off[i], g->allowed[i].ids, g->allowed[i].n * sizeof *ids);
        off[i + 1] = off[i] + (uint32_t)g->allowed[i].n;
    }
    send_u32(s, s->list, ids, s->host->list_ids);
    send_u32(s, s->list_off, off, n + 1);
}

/* Rounded up, so that groups of about equal size allocate and replay the same. */
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
    h->prefix_ids = prefix;
    size_t steps = 1, slots = 1, poll = (size_t)s->be->poll;
    for (size_t i = 0; i < n; i++) {
        steps = larger(steps, g->limit[i] + (size_t)1);
        slots += tf_search_slots(&s->opts, g->limit[i]);
    }
    h->lists = h->list_ids = 0;
    if (g->allowed != NULL && !s->be->host)
        for (; h->lists < n; h->lists++)
            h->list_ids += g->allowed[h->lists].n;
    if (h->list_ids > UINT32_MAX)
        return tf_fail(err, "shortlists of %zu sentences: too many ids", n);
    /* One step, and then `poll` steps at a time. */
    steps = (rounded(steps) + poll - 2) / poll * poll + 1;
    slots = rounded(slots);
    if (slots > UINT32_MAX)
        return tf_fail(err, "a group of %zu sentences needs too many cache slots", n);
    /* For the same number of sentences, sizes only grow, so that a device can replay the steps of
     * one group for another. The end of a search depends on its sentences alone. */
    s->max_steps = n == s->S ? larger(steps, s->max_steps) : steps;
    s->slots = n == s->S ? larger(slots, s->slots) : slots;
    if (g->allowed == NULL)
        s->lp_ld = s->opts.V;
    else if (s->be->host)
        s->lp_ld = g->lp_ld;
    else
        s->lp_ld = n == s->S ? larger(rounded(g->lp_ld), s->lp_ld) : rounded(g->lp_ld);
    s->S = n;
    s->max_rows = n * s->opts.K;
    s->ld = s->max_steps;
    s->rows = n;
    s->allowed = g->allowed;
    if (reserve_arrays(s, err) != 0)
        return -1;
    h->stage = tf_xarray(
        h->stage, (9 + s->ld) * n + 1 + TF_SEARCH_COUNTS + h->list_ids + h->lists + 1,
        sizeof *h->stage);
    h->stage_n = 0;
    send_rows(s, g);
    send_lists(s, g);
    h->prefix_len = tf_xarray(h->prefix_len, n, sizeof *h->prefix_len);
    uint32_t *off = stage(s, n + 1), *counts = stage(s, TF_SEARCH_COUNTS);
    for (size_t i = 0; i <= n; i++)
        off[i] = g->prefix_off != NULL ? g->prefix_off[i] - g->prefix_off[0] : 0;
    for (size_t i = 0; i < n; i++)
        h->prefix_len[i] = off[i + 1] - off[i];
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
        h->penalty[len] = tf_search_penalty(len, s->opts.alpha, s->opts.normalize);
    s->be->upload(s->ctx, s->penalty, TF_ELEM_F64, h->penalty, s->max_steps + 1);
    return s->be->sync(s->ctx, err); /* the host may change its arrays again */
}

int tf_search_poll(struct tf_search *s, bool lag, struct tf_err *err)
{
    uint32_t counts[TF_SEARCH_COUNTS];
    if (s->be->download(s->ctx, counts, TF_ELEM_U32, s->counts, TF_SEARCH_COUNTS, err) < 0)
        return -1;
    s->rows = counts[TF_SEARCH_LIVE];
    if (lag) { /* in steps, so that a device has few sizes to replay */
        s->rows = (counts[TF_SEARCH_BOUND] + LAG_ROWS - 1) / LAG_ROWS * LAG_ROWS;
        s->rows = s->rows < s->max_rows ? s->rows : s->max_rows;
    }
    return 0;
}

int tf_search_fetch(struct tf_search *s, struct tf_err *err)
{
    struct tf_search_host *h = s->host;
    uint32_t counts[TF_SEARCH_COUNTS];
    if (s->be->download(s->ctx, counts, TF_ELEM_U32, s->counts, TF_SEARCH_COUNTS, err) < 0)
        return -1;
    h->steps = counts[TF_SEARCH_STEP];
#define DOWNLOAD(name, n)                                                                     \
    if (s->be->host) {                                                                        \
        h->result.name = s->name;                                                             \
    } else {                                                                                  \
        h->result.name = tf_xarray(h->result.name, (n) + 1, sizeof *h->result.name);          \
        if (s->be->download(s->ctx, h->result.name, ELEM_OF(s->name), s->name, (n), err) < 0)\
            return -1;                                                                        \
    }
#define HISTORY(type, name, n) DOWNLOAD(name, h->steps * s->max_rows)
#define FINISHED(type, name, n) DOWNLOAD(name, n)
    TF_SEARCH_HISTORY(HISTORY)
    TF_SEARCH_FINISHED(FINISHED)
    return 0;
}

size_t tf_search_count(const struct tf_search *s, size_t i)
{
    return s->host->result.n_fin[i];
}

/* log P of the forced prefix of a hypothesis of sentence i, whose n-th token is in this row. */
static double prefix_logp(const struct tf_search *s, size_t i, size_t n, size_t row)
{
    const struct tf_search_host *h = s->host;
    double logp = 0;
    for (size_t t = n; t-- > 0; row = h->result.hist_parent[t * s->max_rows + row])
        if (t < h->prefix_len[i])
            logp += h->result.hist_lp[t * s->max_rows + row];
    return logp;
}

struct tf_search_hyp tf_search_result(const struct tf_search *s, size_t i, size_t rank)
{
    const struct tf_search_host *h = s->host;
    const size_t at = i * s->opts.N + rank, n = h->result.fin_len[at];
    const double prefix =
        s->opts.free_prefix ? prefix_logp(s, i, n, h->result.fin_row[at]) : 0;
    return (struct tf_search_hyp){.n = n,
                                  .logp = h->result.fin_logp[at] + prefix,
                                  .score = h->result.fin_score[at]};
}

void tf_search_trace(const struct tf_search *s, size_t i, size_t rank, uint32_t *ids,
                     float *token_logp)
{
    const struct tf_search_host *h = s->host;
    size_t at = i * s->opts.N + rank, n = h->result.fin_len[at], row = h->result.fin_row[at];
    if (token_logp != NULL)
        token_logp[n] = (float)h->result.fin_eos[at];
    for (size_t t = n; t-- > 0;) {
        size_t past = t * s->max_rows + row;
        ids[t] = h->result.hist_id[past];
        if (token_logp != NULL)
            token_logp[t] = (float)h->result.hist_lp[past];
        row = h->result.hist_parent[past];
    }
}
