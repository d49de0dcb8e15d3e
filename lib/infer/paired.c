/* paired.c - see paired.h. */
#include "infer/paired.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WINDOW_IDS = 1 << 20 }; /* ids read ahead, at most (and one record) */

struct tf_paired {
    struct tf_model_set *models;
    struct tf_in files[2];
    struct tf_reader *in[2];
    size_t n_in, open;
    const struct tf_paired_job *job;
    const struct tf_paired_limits *limits;
    struct tf_arena mem;
    struct tf_pair_entry *v;
    size_t n, cap, cost;
};

struct tf_paired *tf_paired_new(struct tf_model_set *models, const char *const *inputs, size_t n,
                                const char *const *alone, const char *const *second,
                                struct tf_err *err)
{
    static const char *const tokens[] = {"tokens", NULL};
    const char *const *const kinds[] = {n == 1 ? alone : tokens, second};
    struct tf_paired *p = tf_xcalloc(1, sizeof *p);
    *p = (struct tf_paired){.models = models, .n_in = n};
    for (; p->open < n; p->open++)
        if (tf_in_open(&p->files[p->open], inputs[p->open], err) < 0)
            goto failed;
    for (size_t i = 0; i < n; i++)
        if (tf_reader_new(&p->in[i], &p->files[i], kinds[i], 0, err) < 0)
            goto failed;
    return p;
failed:
    tf_paired_free(p);
    return NULL;
}

void tf_paired_free(struct tf_paired *p)
{
    if (p == NULL)
        return;
    for (size_t i = 0; i < p->n_in; i++)
        tf_reader_free(p->in[i]);
    for (size_t i = 0; i < p->open; i++)
        tf_in_close(&p->files[i]);
    tf_arena_release(&p->mem);
    free(p->v);
    free(p);
}

const char *tf_paired_name(const struct tf_paired *p)
{
    return p->files[0].name;
}

bool tf_paired_alone(const struct tf_paired *p)
{
    return p->n_in == 1 && strcmp(tf_reader_header(p->in[0])->kind, "tokens") == 0;
}

bool tf_paired_lists(const struct tf_paired *p)
{
    return p->n_in == 2 && strcmp(tf_reader_header(p->in[1])->kind, "nbest") == 0;
}

/* Do the headers that came last go with the models? */
static int fit(const struct tf_paired *p, struct tf_err *err)
{
    for (size_t i = 0; i < p->n_in; i++)
        if (tf_models_fit(p->models, tf_reader_header(p->in[i]), p->files[i].name,
                          p->limits->force_vocab, err) < 0)
            return -1;
    return 0;
}

static int begin_part(struct tf_paired *p, struct tf_err *err)
{
    const struct tf_header *const from[2] = {
        tf_reader_header(p->in[0]), p->n_in == 2 ? tf_reader_header(p->in[1]) : NULL};
    return p->job->begin(p->job->arg, from, err);
}

static const uint32_t *keep(struct tf_paired *p, const uint32_t *ids, size_t n)
{
    uint32_t *to = tf_arena_alloc(&p->mem, (n + 1) * sizeof *to);
    if (n > 0)
        memcpy(to, ids, n * sizeof *to);
    return to;
}

static void TF_PRINTF(4, 5)
    spoil(struct tf_paired *p, struct tf_pair_entry *e, int code, const char *fmt, ...)
{
    char text[160];
    va_list ap;
    if (e->code != 0)
        return;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    e->code = code;
    e->text = tf_arena_strndup(&p->mem, text, strlen(text));
}

/* What can't be used becomes a bad record, with the reason. */
static void check_side(struct tf_paired *p, struct tf_pair_entry *e, int side, const uint32_t *ids,
                       uint32_t n)
{
    const struct tf_config *c = &p->models->v[0].config;
    const char *name = p->limits->side[side].name;
    size_t reach = tf_models_reach(p->models);
    if (n > p->limits->side[side].max)
        spoil(p, e, TF_BAD_TOO_MANY_TOKENS, "%s of %u tokens, %s %lld", name, n,
              p->limits->side[side].rule, (long long)p->limits->side[side].max);
    if (n + (size_t)1 > reach)
        spoil(p, e, TF_BAD_TOO_MANY_TOKENS,
              "%s of %u tokens, the model has learned positions for %zu", name, n, reach - 1);
    for (uint32_t i = 0; i < n && e->code == 0; i++)
        if (ids[i] >= c->vocab_size)
            spoil(p, e, TF_BAD_UNKNOWN_ID, "%s id %u, the vocabulary has %lld", name, ids[i],
                  (long long)c->vocab_size);
        else if (ids[i] == c->eos || ids[i] == c->pad) /* the model's to add, and nobody's */
            spoil(p, e, TF_BAD_OTHER, "%s with id %u, which is %s", name, ids[i],
                  ids[i] == c->eos ? "the end of a sentence" : "padding");
}

static struct tf_pair_entry *add(struct tf_paired *p, uint64_t idx)
{
    if (p->n == p->cap) {
        p->cap = p->cap + p->cap / 2 + 64;
        p->v = tf_xarray(p->v, p->cap, sizeof *p->v);
    }
    p->v[p->n] = (struct tf_pair_entry){.idx = idx};
    return &p->v[p->n++];
}

/* src is kept. */
static void add_pair(struct tf_paired *p, uint64_t idx, const uint32_t *src, size_t n_src,
                     const uint32_t *tgt, size_t n_tgt)
{
    struct tf_pair_entry *e = add(p, idx);
    e->s.src = src;
    e->s.tgt = keep(p, tgt, n_tgt);
    e->s.n_src = (uint32_t)n_src;
    e->s.n_tgt = (uint32_t)n_tgt;
    e->s.terms = tf_arena_alloc(&p->mem, (n_tgt + 1) * sizeof *e->s.terms);
    check_side(p, e, 0, e->s.src, e->s.n_src);
    check_side(p, e, 1, e->s.tgt, e->s.n_tgt);
    if (e->code == 0 && p->limits->cost != NULL)
        p->cost += p->limits->cost(p->job->arg, e->s.n_src, e->s.n_tgt);
    else
        p->cost += n_src + n_tgt;
}

/* A source and its targets: one that can't be used spoils the list. */
static void add_list(struct tf_paired *p, const struct tf_record *src, const struct tf_record *list)
{
    size_t first = p->n, bad = 0;
    const uint32_t *ids = src->type == TF_REC_TOKENS ? keep(p, src->ids, src->n) : NULL;
    for (size_t k = 0; k < list->n_hyps; k++) {
        if (ids != NULL)
            add_pair(p, src->idx, ids, src->n, list->hyps[k].ids, list->hyps[k].n);
        else
            spoil(p, add(p, src->idx), src->code, "%s", src->text);
        p->v[first + k].rank = (uint32_t)k;
        if (p->v[first + bad].code == 0)
            bad = k;
    }
    for (size_t k = 0; k < list->n_hyps; k++) {
        p->v[first + k].code = p->v[first + bad].code;
        p->v[first + k].text = p->v[first + bad].text;
    }
    if (list->n_hyps == 0)
        spoil(p, add(p, src->idx), TF_BAD_OTHER, "no hypothesis");
}

static int odd_record(const struct tf_paired *p, size_t i, const struct tf_record *r,
                      struct tf_err *err)
{
    return tf_fail(err, "%s: record %llu is of type %d, which has no place here", p->files[i].name,
                   (unsigned long long)tf_reader_count(p->in[i]), r->type);
}

/* The second stream's record goes with source record r. */
static int add_two(struct tf_paired *p, const struct tf_record *r, struct tf_err *err)
{
    struct tf_record t;
    int got = tf_reader_next(p->in[1], &t, err);
    if (got < 0)
        return -1;
    if (got == 0 || t.type == TF_REC_HEADER)
        return tf_fail(err, "%s: ends before %s does, at record %llu", p->files[1].name,
                       p->files[0].name, (unsigned long long)r->idx);
    if (t.idx != r->idx)
        return tf_fail(err, "%s: record %llu, but %s has record %llu", p->files[1].name,
                       (unsigned long long)t.idx, p->files[0].name, (unsigned long long)r->idx);
    const struct tf_record *bad = r->type == TF_REC_BAD ? r : t.type == TF_REC_BAD ? &t : NULL;
    if (t.type == TF_REC_NBEST)
        add_list(p, r, &t);
    else if (bad != NULL)
        spoil(p, add(p, r->idx), bad->code, "%s", bad->text);
    else if (t.type == TF_REC_TOKENS)
        add_pair(p, r->idx, keep(p, r->ids, r->n), r->n, t.ids, t.n);
    else
        return odd_record(p, 1, &t, err);
    return 0;
}

static int run_window(struct tf_paired *p, struct tf_err *err)
{
    int rc = p->n > 0 ? p->job->window(p->job->arg, p->v, p->n, err) : 0;
    p->n = p->cost = 0;
    tf_arena_clear(&p->mem);
    return rc;
}

static bool full(const struct tf_paired *p)
{
    return p->n >= p->limits->window ||
           p->cost >= (p->limits->cost != NULL ? p->limits->most : WINDOW_IDS);
}

static int add_record(struct tf_paired *p, const struct tf_record *r, struct tf_err *err)
{
    const struct tf_batch *b = &r->batch;
    if (p->n_in == 2)
        return r->type == TF_REC_TOKENS || r->type == TF_REC_BAD ? add_two(p, r, err)
                                                                 : odd_record(p, 0, r, err);
    switch (r->type) {
    case TF_REC_BAD:
        spoil(p, add(p, r->idx), r->code, "%s", r->text);
        return 0;
    case TF_REC_TOKENS:
        add_pair(p, r->idx, keep(p, r->ids, r->n), r->n, NULL, 0);
        return 0;
    case TF_REC_PAIR:
        add_pair(p, r->idx, keep(p, r->ids, r->n), r->n, r->tgt, r->n_tgt);
        return 0;
    case TF_REC_BATCH:
        for (size_t i = 0; i < b->n; i++) {
            if (full(p) && run_window(p, err) < 0)
                return -1;
            size_t n = b->src_off[i + 1] - b->src_off[i];
            add_pair(p, b->idx[i], keep(p, b->src + b->src_off[i], n), n, b->tgt + b->tgt_off[i],
                     b->tgt_off[i + 1] - b->tgt_off[i]);
        }
        return 0;
    default:
        return odd_record(p, 0, r, err);
    }
}

/* A part ended (got 1) or the stream (0): the second stream must be there too. What is wrong with
 * the next part is told before this one has its end: no reader takes it for all there is. */
static int end_part(struct tf_paired *p, int got, struct tf_err *err)
{
    struct tf_record r;
    if (p->n_in == 2) {
        int t = tf_reader_next(p->in[1], &r, err);
        if (t < 0)
            return -1;
        if (t != got || (t > 0 && r.type != TF_REC_HEADER))
            return tf_fail(err, "%s: goes on where %s ends", p->files[1].name, p->files[0].name);
    }
    if (got > 0 && fit(p, err) < 0)
        return -1;
    return p->job->end(p->job->arg, err);
}

int tf_paired_run(struct tf_paired *p, const struct tf_paired_job *job,
                  const struct tf_paired_limits *limits, struct tf_err *err)
{
    struct tf_record r = {0};
    p->job = job;
    p->limits = limits;
    int rc = fit(p, err);
    if (rc == 0)
        rc = begin_part(p, err);
    while (rc == 0) {
        bool ready = tf_reader_ready(p->in[0]) && (p->n_in == 1 || tf_reader_ready(p->in[1]));
        if (full(p) || (p->n > 0 && !ready))
            rc = run_window(p, err);
        if (rc == 0 && !ready)
            rc = job->flush(job->arg, err);
        if (rc != 0)
            break;
        int got = tf_reader_next(p->in[0], &r, err);
        if (got < 0) { /* what came whole is answered before the failure is told */
            struct tf_err later = {0};
            return run_window(p, &later) < 0 ? -1 : got;
        }
        if (got > 0 && r.type != TF_REC_HEADER) {
            struct tf_err later = {0};
            rc = add_record(p, &r, err);
            if (rc < 0)
                (void)run_window(p, &later); /* likewise */
            continue;
        }
        rc = run_window(p, err);
        if (rc == 0)
            rc = end_part(p, got, err);
        if (rc < 0 || got == 0)
            break;
        rc = begin_part(p, err);
    }
    return rc;
}
