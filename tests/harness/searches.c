/* searches.c - see searches.h. */
#include "searches.h"

#include "base/err.h"

#include <stdlib.h>
#include <string.h>

/* n ids from the backend; the caller frees. */
static uint32_t *get(const struct tf_search *s, const tf_mem *p, size_t n)
{
    struct tf_err err = {0};
    uint32_t *v = calloc(n + 1, sizeof *v);
    if (s->be->download(s->ctx, v, TF_ELEM_U32, p, n, &err) < 0)
        TF_BUG("%s", err.msg);
    return v;
}

struct reads look(const struct tf_search *s)
{
    struct reads r = {.ids = get(s, s->ids, s->rows),
                      .slot = get(s, s->slot, s->rows),
                      .at = get(s, s->at, s->rows),
                      .n_past = get(s, s->n_past, s->rows),
                      .first = get(s, s->first, s->rows),
                      .n_src = get(s, s->n_src, s->rows),
                      .table = get(s, s->table, s->rows * s->ld),
                      .counts = get(s, s->counts, TF_SEARCH_COUNTS),
                      .ld = s->ld};
    r.live = r.counts[TF_SEARCH_LIVE];
    return r;
}

void forget(struct reads *r)
{
    uint32_t *all[] = {r->ids, r->slot, r->at, r->n_past, r->first, r->n_src, r->table, r->counts};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
}

void step(struct tf_search *s, const float *lp, size_t n)
{
    struct tf_err err = {0};
    bool wide = s->be->elem_size[LP] == sizeof(double);
    double *v = calloc(n + 1, sizeof *v);
    for (size_t i = 0; i < n && wide; i++)
        v[i] = (double)lp[i];
    tf_mem *p = s->be->alloc(s->ctx, LP, n + 1, &err);
    if (p == NULL)
        TF_BUG("%s", err.msg);
    s->be->upload(s->ctx, p, LP, wide ? (const void *)v : lp, n);
    s->be->search_step(s->ctx, s, p);
    if (s->be->sync(s->ctx, &err) < 0)
        TF_BUG("%s", err.msg);
    s->be->free(s->ctx, p);
    free(v);
}

/* The sentences of a group that are at the places of a search, as it takes them. */
struct places {
    size_t n, who[MAX_S], begun[MAX_S], next, order[MAX_S];
    uint32_t limit[MAX_S], src_off[MAX_S + 1], src_rows[MAX_S], prefix[MAX_S * MAX_LEN],
        prefix_off[MAX_S + 1];
    uint64_t key[MAX_S];
    struct tf_allowed allowed[MAX_S];
};

static struct tf_search_group at_places(struct places *p, const struct group *g)
{
    for (size_t i = 0; i < p->n; i++) {
        const size_t who = p->who[i];
        const uint32_t from = g->prefix_off[who], len = g->prefix_off[who + 1] - from;
        p->limit[i] = g->limit[who];
        p->src_rows[i] = g->src_off[who + 1] - g->src_off[who];
        p->key[i] = g->key[who];
        p->allowed[i] = g->allowed[who];
        p->prefix_off[i + 1] = p->prefix_off[i] + len;
        memcpy(p->prefix + p->prefix_off[i], g->prefix + from, len * sizeof *p->prefix);
    }
    return (struct tf_search_group){.n = p->n,
                                    .src_off = p->src_off,
                                    .src_rows = p->src_rows,
                                    .limit = p->limit,
                                    .prefix = p->prefix,
                                    .prefix_off = p->prefix_off,
                                    .key = p->key,
                                    .allowed = g->listed ? p->allowed : NULL,
                                    .lp_ld = g->longest + 3,
                                    .enters = p->n < g->n};
}

/* The first ones of a group, longest limit first: the others have room where these were. */
static struct places first_places(const struct group *g, size_t n)
{
    struct places p = {.n = n, .next = n};
    for (size_t i = 0; i < g->n; i++) {
        size_t at = n < g->n ? i : 0;
        for (; at > 0 && g->limit[p.order[at - 1]] < g->limit[i]; at--)
            p.order[at] = p.order[at - 1];
        p.order[n < g->n ? at : i] = i;
    }
    for (size_t i = 0; i < n; i++) {
        p.who[i] = p.order[i];
        p.src_off[i + 1] = p.src_off[i] + 6; /* no source has more rows */
    }
    return p;
}

static void collect(struct results *out, struct tf_search *s, const struct places *p)
{
    struct tf_err err = {0};
    if (tf_search_fetch(s, &err) < 0)
        TF_BUG("%s", err.msg);
    for (size_t i = 0; i < p->n; i++) {
        const size_t who = p->who[i];
        out->n[who] = tf_search_is_done(s, i) ? tf_search_count(s, i) : 0;
        for (size_t k = 0; k < out->n[who]; k++) {
            struct tf_search_hyp h = tf_search_result(s, i, k);
            struct hyp *o = &out->v[who][k];
            float terms[MAX_LEN + 2];
            o->n = h.n, o->logp = h.logp, o->score = h.score;
            tf_search_trace(s, i, k, o->ids, terms);
            for (size_t j = 0; j <= h.n; j++)
                o->lp[j] = (double)terms[j];
        }
    }
}

/* Those that wait enter the places of those that are done. */
static void enter(struct tf_search *s, struct places *p, const struct group *g, size_t calls)
{
    struct tf_err err = {0};
    size_t place[MAX_S], n = 0;
    for (size_t i = 0; i < p->n && p->next < g->n; i++)
        if (tf_search_is_done(s, i)) {
            p->who[i] = p->order[p->next++];
            p->begun[i] = calls;
            place[n++] = i;
        }
    const struct tf_search_group sg = at_places(p, g);
    if (n > 0 && tf_search_enter(s, &sg, place, n, &err) < 0)
        TF_BUG("%s", err.msg);
}

void run_at(struct results *out, struct tf_search *s, const struct fake *f,
                   const struct group *g, size_t places, bool lag, bool *tables_ok)
{
    struct tf_err err = {0};
    struct places p = first_places(g, places);
    const struct tf_search_group sg = at_places(&p, g);
    bool grows = lag; /* to all that a group may have */
    memset(out, 0, sizeof *out);
    if (tf_search_start(s, &sg, &err) < 0)
        TF_BUG("%s", err.msg);
    uint32_t *cache = calloc(s->slots, sizeof *cache);
    const size_t ld = s->lp_ld;
    float *lp = malloc((s->max_rows * ld + f->V) * sizeof *lp + 1), *all = lp + s->max_rows * ld;
    for (size_t calls = 0; s->rows > 0 && calls < (s->max_steps + 3) * (g->n + 1); calls++) {
        struct reads d = look(s);
        for (size_t i = 0; i < s->max_rows * ld; i++)
            lp[i] = 1e38F;
        if (d.live > s->rows)
            *tables_ok = false;
        for (size_t r = 0; r < s->rows; r++)
            cache[d.slot[r]] = d.ids[r];
        for (size_t r = 0; r < d.live; r++) {
            uint32_t hist[MAX_LEN + 1], *table = d.table + r * d.ld;
            const size_t i = d.first[r] / 6, who = p.who[i];
            if (d.n_past[r] != d.at[r] + 1 || d.at[r] != calls - p.begun[i] ||
                table[d.at[r]] != d.slot[r] || d.slot[r] >= s->slots ||
                d.first[r] != p.src_off[i] || d.n_src[r] != p.src_rows[i])
                *tables_ok = false;
            for (size_t j = 1; j < d.n_past[r]; j++)
                hist[j - 1] = cache[table[j]];
            if (cache[table[0]] != s->opts.start)
                *tables_ok = false;
            distribution(all, f, g->key[who], hist, d.at[r]);
            for (size_t j = 0; j < (g->listed ? g->allowed[who].n : f->V); j++)
                lp[r * ld + j] = all[g->listed ? g->allowed[who].ids[j] : j];
        }
        for (size_t r = d.live; r < s->rows; r++) /* dead rows touch nothing that is alive */
            if (d.slot[r] != s->slots - 1 || d.n_past[r] != 1 || d.at[r] != 0 ||
                d.table[r * d.ld] != s->slots - 1)
                *tables_ok = false;
        if (grows)
            s->rows = tf_search_most_rows(s);
        grows = false;
        step(s, lp, s->rows * ld);
        forget(&d);
        if (lag && calls % 3 != 2)
            continue;
        if (tf_search_poll(s, lag, &err) < 0)
            TF_BUG("%s", err.msg);
        if (p.next < g->n && tf_search_done(s) > 0) {
            collect(out, s, &p);
            enter(s, &p, g, calls + 1);
            grows = lag;
        }
    }
    collect(out, s, &p);
    free(cache);
    free(lp);
}

void run(struct results *out, struct tf_search *s, const struct fake *f,
                const struct group *g, bool lag, bool *tables_ok)
{
    run_at(out, s, f, g, g->n, lag, tables_ok);
}
