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
    uint32_t counts[TF_SEARCH_COUNTS]; /* when they were last looked at */
    size_t slots;                      /* of the group */
    uint32_t *slot0, *room;            /* of each place: its first slot, and the limit it is for */
    uint32_t *prefix_len;              /* of each sentence */
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
#define FREE_ARRAY(type, name, n) s->be->free(s->ctx, s->name);
    TF_SEARCH_ARRAYS(FREE_ARRAY)
#define FREE_RESULT(type, name, n) \
    if (!s->be->host)              \
        free(h->result.name);
    TF_SEARCH_HISTORY(FREE_RESULT)
    TF_SEARCH_FINISHED(FREE_RESULT)
    free(h->stage);
    free(h->penalty);
    free(h->prefix_len);
    free(h->slot0);
    free(h->room);
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

static size_t place_of(const size_t *place, size_t j)
{
    return place != NULL ? place[j] : j;
}

static uint32_t first_source_row(const struct tf_search_group *g, size_t i)
{
    return g->src_off[i / (g->copies > 0 ? g->copies : 1)];
}

static uint32_t source_rows(const struct tf_search_group *g, size_t i)
{
    const size_t source = i / (g->copies > 0 ? g->copies : 1);
    return g->src_rows != NULL ? g->src_rows[i] : g->src_off[source + 1] - g->src_off[source];
}

/* Rows from .. from + n - 1: the first ones of the n sentences at `place`, NULL: at 0, 1, ... */
static void send_rows(struct tf_search *s, const struct tf_search_group *g, const size_t *place,
                      size_t n, size_t from)
{
    uint32_t *ids = stage(s, n), *zero = stage(s, n), *one = stage(s, n), *slot = stage(s, n),
             *src = stage(s, n), *len = stage(s, n), *table = stage(s, n * s->ld);
    memset(table, 0, n * s->ld * sizeof *table);
    for (size_t j = 0; j < n; j++) {
        const size_t i = place_of(place, j);
        ids[j] = s->opts.start;
        zero[j] = 0;
        one[j] = 1;
        slot[j] = s->places ? s->host->slot0[i] : (uint32_t)i;
        src[j] = first_source_row(g, i);
        len[j] = source_rows(g, i);
        table[j * s->ld] = slot[j];
    }
    send_u32(s, s->table + from * s->ld, table, n * s->ld);
    send_u32(s, s->ids + from, ids, n);
    send_u32(s, s->at + from, zero, n);
    send_u32(s, s->slot + from, slot, n);
    send_u32(s, s->n_past + from, one, n);
    send_u32(s, s->first + from, src, n);
    send_u32(s, s->n_src + from, len, n);
    s->be->zero(s->ctx, s->logp + from, TF_ELEM_F64, n);
}

/* What search_step changes of a sentence: of the n that are new, all others are as they are. */
static int send_progress(struct tf_search *s, const size_t *place, size_t n, size_t from,
                         struct tf_err *err)
{
    enum { ROW0, LIVE, STEP, ENDED, FINISHED, ALL };
    tf_mem *const mem[ALL] = {s->row0, s->live, s->step, s->ended, s->n_fin};
    uint32_t *v = stage(s, ALL * s->S);
    for (int k = 0; k < ALL && place != NULL; k++)
        if (s->be->download(s->ctx, v + (size_t)k * s->S, TF_ELEM_U32, mem[k], s->S, err) < 0)
            return -1;
    for (size_t j = 0; j < n; j++) {
        uint32_t *mine = v + place_of(place, j);
        TF_ASSERT(place == NULL || mine[LIVE * s->S] == 0);
        mine[ROW0 * s->S] = (uint32_t)(from + j);
        mine[LIVE * s->S] = 1;
        mine[STEP * s->S] = mine[ENDED * s->S] = mine[FINISHED * s->S] = 0;
    }
    for (int k = 0; k < ALL; k++)
        send_u32(s, mem[k], v + (size_t)k * s->S, s->S);
    return 0;
}

/* What is constant of the group's sentences. */
static void send_sentences(struct tf_search *s, const struct tf_search_group *g)
{
    const size_t n = g->n;
    uint32_t *src = stage(s, n), *len = stage(s, n), *key = stage(s, 2 * n),
             *off = stage(s, n + 1);
    off[0] = 0;
    for (size_t i = 0; i < n; i++) {
        src[i] = first_source_row(g, i);
        len[i] = source_rows(g, i);
        key[2 * i] = g->key != NULL ? (uint32_t)g->key[i] : 0;
        key[2 * i + 1] = g->key != NULL ? (uint32_t)(g->key[i] >> 32) : 0;
        s->host->prefix_len[i] =
            g->prefix_off != NULL ? g->prefix_off[i + 1] - g->prefix_off[i] : 0;
        TF_ASSERT(s->host->prefix_len[i] <= g->limit[i]);
        off[i + 1] = off[i] + s->host->prefix_len[i];
    }
    send_u32(s, s->slot0, s->host->slot0, n);
    send_u32(s, s->limit, g->limit, n);
    send_u32(s, s->src_first, src, n);
    send_u32(s, s->src_rows, len, n);
    send_u32(s, s->key, key, 2 * n);
    send_u32(s, s->prefix_off, off, n + 1);
    if (off[n] > 0)
        send_u32(s, s->prefix, g->prefix + g->prefix_off[0], off[n]);
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

/* Find the sizes of prefixes and lists of the group, make room, and send it: the sentences at
 * `place` are new, whose rows come after the live ones. */
static int send_group(struct tf_search *s, const struct tf_search_group *g, const size_t *place,
                      size_t n, struct tf_err *err)
{
    struct tf_search_host *h = s->host;
    const size_t from = h->counts[TF_SEARCH_LIVE];
    h->prefix_ids = g->prefix_off != NULL ? g->prefix_off[g->n] - g->prefix_off[0] : 0;
    h->lists = h->list_ids = 0;
    if (g->allowed != NULL && !s->be->host)
        for (; h->lists < g->n; h->lists++)
            h->list_ids += g->allowed[h->lists].n;
    if (h->list_ids > UINT32_MAX)
        return tf_fail(err, "shortlists of %zu sentences: too many ids", g->n);
    if (reserve_arrays(s, err) != 0)
        return -1;
    s->allowed = g->allowed;
    h->stage = tf_xarray(h->stage, (17 + s->ld) * g->n + h->list_ids + 2, sizeof *h->stage);
    h->stage_n = 0;
    send_rows(s, g, place, n, from);
    if (send_progress(s, place, n, from, err) != 0)
        return -1;
    send_sentences(s, g);
    send_lists(s, g);
    s->rows = from + n;
    h->counts[TF_SEARCH_LIVE] = (uint32_t)s->rows;
    h->counts[TF_SEARCH_BOUND] += (uint32_t)(n * s->opts.K);
    send_u32(s, s->counts, h->counts, TF_SEARCH_COUNTS);
    return s->be->sync(s->ctx, err); /* the host may change its arrays again */
}

int tf_search_start(struct tf_search *s, const struct tf_search_group *g, struct tf_err *err)
{
    struct tf_search_host *h = s->host;
    const size_t n = g->n;
    size_t steps = 1, slots = 0;
    h->slot0 = tf_xarray(h->slot0, n, sizeof *h->slot0);
    h->room = tf_xarray(h->room, n, sizeof *h->room);
    h->prefix_len = tf_xarray(h->prefix_len, n, sizeof *h->prefix_len);
    for (size_t i = 0; i < n; i++) {
        steps = larger(steps, g->limit[i] + (size_t)1);
        h->slot0[i] = (uint32_t)slots;
        h->room[i] = g->limit[i];
        slots += tf_search_slots(&s->opts, g->limit[i]);
    }
    h->slots = slots;
    steps = rounded(steps);
    slots = rounded(slots + 1);
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
    s->places = g->enters || !s->be->host;
    h->counts[TF_SEARCH_LIVE] = h->counts[TF_SEARCH_BOUND] = 0;
    h->counts[TF_SEARCH_SLOT] = (uint32_t)n;
    if (send_group(s, g, NULL, n, err) != 0)
        return -1;
    h->penalty = tf_xarray(h->penalty, s->max_steps + 2, sizeof *h->penalty);
    for (size_t len = 0; len <= s->max_steps + 1; len++)
        h->penalty[len] = tf_search_penalty(len, s->opts.alpha, s->opts.normalize);
    s->be->upload(s->ctx, s->penalty, TF_ELEM_F64, h->penalty, s->max_steps + 2);
    return s->be->sync(s->ctx, err);
}

int tf_search_enter(struct tf_search *s, const struct tf_search_group *g, const size_t *place,
                    size_t n, struct tf_err *err)
{
    TF_ASSERT(g->n == s->S && s->places);
    for (size_t j = 0; j < n; j++)
        TF_ASSERT(g->limit[place[j]] <= s->host->room[place[j]]);
    if (g->allowed != NULL && g->lp_ld > s->lp_ld)
        s->lp_ld = s->be->host ? g->lp_ld : rounded(g->lp_ld);
    return send_group(s, g, place, n, err);
}

uint32_t tf_search_room(const struct tf_search *s, size_t i)
{
    return s->host->room[i];
}

size_t tf_search_most_rows(const struct tf_search *s)
{
    /* in steps, so that a device has few sizes to replay */
    const size_t most = s->host->counts[TF_SEARCH_BOUND],
                 rows = (most + LAG_ROWS - 1) / LAG_ROWS * LAG_ROWS;
    return rows < s->max_rows ? rows : s->max_rows;
}

size_t tf_search_done(const struct tf_search *s)
{
    return s->S - s->host->counts[TF_SEARCH_BOUND] / s->opts.K;
}

int tf_search_poll(struct tf_search *s, bool lag, struct tf_err *err)
{
    uint32_t *counts = s->host->counts;
    if (s->be->download(s->ctx, counts, TF_ELEM_U32, s->counts, TF_SEARCH_COUNTS, err) < 0)
        return -1;
    s->rows = lag ? tf_search_most_rows(s) : counts[TF_SEARCH_LIVE];
    return 0;
}

int tf_search_fetch(struct tf_search *s, struct tf_err *err)
{
    struct tf_search_host *h = s->host;
#define DOWNLOAD(name, n)                                                                     \
    if (s->be->host) {                                                                        \
        h->result.name = s->name;                                                             \
    } else {                                                                                  \
        h->result.name = tf_xarray(h->result.name, (n) + 1, sizeof *h->result.name);          \
        if (s->be->download(s->ctx, h->result.name, ELEM_OF(s->name), s->name, (n), err) < 0) \
            return -1;                                                                        \
    }
#define HISTORY(type, name, n) DOWNLOAD(name, h->slots)
#define FINISHED(type, name, n) DOWNLOAD(name, n)
    TF_SEARCH_HISTORY(HISTORY)
    TF_SEARCH_FINISHED(FINISHED)
    return 0;
}

bool tf_search_is_done(const struct tf_search *s, size_t i)
{
    return s->host->result.live[i] == 0;
}

size_t tf_search_count(const struct tf_search *s, size_t i)
{
    return s->host->result.n_fin[i];
}

/* log P of the forced prefix of a hypothesis of sentence i, whose n-th token has this slot. */
static double prefix_logp(const struct tf_search *s, size_t i, size_t n, size_t slot)
{
    const struct tf_search_host *h = s->host;
    double logp = 0;
    for (size_t t = n; t-- > 0; slot = h->result.hist_parent[slot])
        if (t < h->prefix_len[i])
            logp += h->result.hist_lp[slot];
    return logp;
}

struct tf_search_hyp tf_search_result(const struct tf_search *s, size_t i, size_t rank)
{
    const struct tf_search_host *h = s->host;
    const size_t at = i * s->opts.N + rank, n = h->result.fin_len[at];
    const double prefix =
        s->opts.free_prefix ? prefix_logp(s, i, n, h->result.fin_slot[at]) : 0;
    return (struct tf_search_hyp){.n = n,
                                  .logp = h->result.fin_logp[at] + prefix,
                                  .score = h->result.fin_score[at]};
}

void tf_search_trace(const struct tf_search *s, size_t i, size_t rank, uint32_t *ids,
                     float *token_logp)
{
    const struct tf_search_host *h = s->host;
    size_t at = i * s->opts.N + rank, n = h->result.fin_len[at], slot = h->result.fin_slot[at];
    if (token_logp != NULL)
        token_logp[n] = (float)h->result.fin_eos[at];
    for (size_t t = n; t-- > 0;) {
        ids[t] = h->result.hist_id[slot];
        if (token_logp != NULL)
            token_logp[t] = (float)h->result.hist_lp[slot];
        slot = h->result.hist_parent[slot];
    }
}
