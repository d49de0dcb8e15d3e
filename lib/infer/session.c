/* session.c - the loop of decoding: step of every model, probabilities, step of the search; rows of
 * what has ended fall away. */
#include "infer/session.h"

#include <stdlib.h>
#include <string.h>

struct member {
    struct tf_work *work;
    struct tf_memory memory;
    struct tf_cache cache;
    tf_mem *start; /* U32 [cap_start]: first ids, where they are not those of the first model */
};

struct tf_session {
    const struct tf_model_set *models;
    const struct tf_backend *be;
    struct tf_ctx *ctx;
    struct member *v; /* one a model */
    struct tf_search search;
    tf_mem *z, *mix; /* STAT [cap_z]: logits of a model; their mixture, for ensembles */
    size_t cap_z, cap_start;
    bool first; /* the next step is the group's first */
    /* The group, packed. */
    uint32_t *src, *src_off, *prefix, *prefix_off, *limit;
    uint64_t *key;
};

struct tf_session *tf_session_new(const struct tf_model_set *m, const struct tf_search_opts *rule,
                                  int threads, struct tf_err *err)
{
    struct tf_ctx_opts open = {.threads = threads};
    struct tf_ctx *ctx = m->be->open(&open, err);
    if (ctx == NULL)
        return NULL;
    struct tf_session *s = tf_xcalloc(1, sizeof *s);
    *s = (struct tf_session){.models = m,
                             .be = m->be,
                             .ctx = ctx,
                             .v = tf_xcalloc(m->n, sizeof *s->v)};
    for (size_t i = 0; i < m->n; i++)
        s->v[i].work = tf_work_new(&m->v[i], ctx);
    tf_search_init(&s->search, rule, m->be, ctx);
    return s;
}

void tf_session_free(struct tf_session *s)
{
    if (s == NULL)
        return;
    for (size_t i = 0; i < s->models->n; i++) {
        tf_memory_release(&s->models->v[i], s->ctx, &s->v[i].memory);
        tf_cache_release(&s->v[i].cache, &s->models->v[i], s->ctx);
        tf_work_free(s->v[i].work);
        if (s->v[i].start != NULL)
            s->be->free(s->ctx, s->v[i].start);
    }
    tf_search_release(&s->search);
    tf_mem *mem[] = {s->z, s->mix};
    for (size_t i = 0; i < 2; i++)
        if (mem[i] != NULL)
            s->be->free(s->ctx, mem[i]);
    s->be->close(s->ctx);
    void *all[] = {s->v, s->src, s->src_off, s->prefix, s->prefix_off, s->limit, s->key, s};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
}

static void pack(struct tf_session *s, struct tf_sentence *const *v, size_t n)
{
    size_t src = 0, prefix = 0;
    for (size_t i = 0; i < n; i++) {
        src += v[i]->n_src;
        prefix += v[i]->n_prefix;
    }
    s->src = tf_xarray(s->src, src + 1, sizeof *s->src);
    s->prefix = tf_xarray(s->prefix, prefix + 1, sizeof *s->prefix);
    s->src_off = tf_xarray(s->src_off, n + 1, sizeof *s->src_off);
    s->prefix_off = tf_xarray(s->prefix_off, n + 1, sizeof *s->prefix_off);
    s->limit = tf_xarray(s->limit, n, sizeof *s->limit);
    s->key = tf_xarray(s->key, n, sizeof *s->key);
    s->src_off[0] = s->prefix_off[0] = 0;
    for (size_t i = 0; i < n; i++) {
        if (v[i]->n_src > 0)
            memcpy(s->src + s->src_off[i], v[i]->src, v[i]->n_src * sizeof *s->src);
        if (v[i]->n_prefix > 0)
            memcpy(s->prefix + s->prefix_off[i], v[i]->prefix, v[i]->n_prefix * sizeof *s->prefix);
        s->src_off[i + 1] = s->src_off[i] + v[i]->n_src;
        s->prefix_off[i + 1] = s->prefix_off[i] + v[i]->n_prefix;
        s->limit[i] = v[i]->limit;
        s->key[i] = v[i]->key;
    }
}

static int reserve(struct tf_session *s, struct tf_err *err)
{
    size_t need = s->search.max_rows * s->search.rule.V;
    for (size_t i = 0; i < s->models->n; i++)
        if (tf_cache_init(&s->v[i].cache, &s->models->v[i], s->ctx, s->search.slots, err) < 0)
            return -1;
    if (need <= s->cap_z)
        return 0;
    tf_mem **mem[] = {&s->z, &s->mix};
    s->cap_z = 0;
    for (size_t i = 0; i < (s->models->n > 1 ? 2 : 1); i++) {
        if (*mem[i] != NULL)
            s->be->free(s->ctx, *mem[i]);
        *mem[i] = s->be->alloc(s->ctx, TF_ELEM_STAT, need, err);
        if (*mem[i] == NULL)
            return tf_context(err, "scores of %zu hypotheses", s->search.max_rows);
    }
    s->cap_z = need;
    return 0;
}

/* Models of an ensemble may begin in different ways (bos, or a zero vector); the search knows the
 * first one's. */
static int reserve_starts(struct tf_session *s, size_t n, struct tf_err *err)
{
    if (n <= s->cap_start)
        return 0;
    s->cap_start = 0;
    uint32_t *ids = tf_xarray(NULL, n, sizeof *ids);
    int rc = 0;
    for (size_t i = 1; i < s->models->n && rc == 0; i++) {
        uint32_t id = tf_start_id(&s->models->v[i].config);
        if (s->v[i].start != NULL)
            s->be->free(s->ctx, s->v[i].start);
        s->v[i].start = NULL;
        if (id == s->search.rule.start)
            continue;
        for (size_t k = 0; k < n; k++)
            ids[k] = id;
        s->v[i].start = s->be->alloc(s->ctx, TF_ELEM_U32, n, err);
        if (s->v[i].start == NULL) {
            rc = -1;
        } else {
            s->be->upload(s->ctx, s->v[i].start, TF_ELEM_U32, ids, n);
            rc = s->be->sync(s->ctx, err);
        }
    }
    free(ids);
    if (rc == 0)
        s->cap_start = n;
    return rc;
}

/* One step of the models and of the search. */
static int step(struct tf_session *s, struct tf_err *err)
{
    struct tf_search *q = &s->search;
    struct tf_decode_step d = {.rows = q->rows,
                               .ids = q->ids,
                               .at = q->at,
                               .slot = q->slot,
                               .table = q->table,
                               .n_past = q->n_past,
                               .first = q->first,
                               .n_src = q->n_src,
                               .table_ld = q->ld,
                               .z = s->z};
    size_t n = s->models->n, V = q->rule.V;
    if (n > 1)
        s->be->zero(s->ctx, s->mix, TF_ELEM_STAT, q->rows * V);
    for (size_t i = 0; i < n; i++) {
        d.ids = s->first && s->v[i].start != NULL ? s->v[i].start : q->ids;
        if (tf_decode_step(s->v[i].work, &s->v[i].memory, &s->v[i].cache, &d, err) < 0)
            return -1;
        s->be->log_softmax(s->ctx, s->z, n > 1 ? s->mix : NULL, q->rows, (int)V, 1.0F / (float)n);
    }
    if (n > 1)
        s->be->log_inplace(s->ctx, s->mix, q->rows * V);
    if (s->first && s->be->poll > 1)
        q->rows = q->max_rows;
    s->be->search_step(s->ctx, q, n > 1 ? s->mix : s->z);
    s->first = false;
    return 0;
}

static int steps(struct tf_session *s, size_t n, struct tf_err *err)
{
    for (size_t i = 0; i < n; i++)
        if (step(s, err) < 0)
            return -1;
    return 0;
}

/* All steps of a group. Where looking at the search waits for a device, it is done now and then;
 * until then the number of rows is what it may have grown to, and the steps between two looks are
 * one sequence that a device may replay. What they depend on is in the search; that changes places
 * with its second buffers at every step, so that they return to where they were. */
static int run(struct tf_session *s, struct tf_err *err)
{
    struct tf_search *q = &s->search;
    size_t poll = (size_t)s->be->poll;
    TF_ASSERT((poll == 1 || poll % 2 == 0) && q->max_steps % poll == 1 % poll);
    s->first = true;
    if (step(s, err) < 0 || (poll == 1 && tf_search_poll(q, false, err) < 0))
        return -1;
    for (size_t t = 1; q->rows > 0 && t < q->max_steps; t += poll) {
        int rc = 0;
        do {
            if (s->be->graph_begin(s->ctx, q, sizeof *q))
                break;
            rc = steps(s, poll, err);
        } while (!s->be->graph_end(s->ctx));
        if (rc < 0 || tf_search_poll(q, poll > 1, err) < 0)
            return -1;
    }
    return 0;
}

/* Hypotheses, ids and terms of a sentence in one block. */
static void take(struct tf_session *s, struct tf_sentence *v, size_t i)
{
    size_t n = tf_search_count(&s->search, i), tokens = 0;
    for (size_t k = 0; k < n; k++)
        tokens += tf_search_result(&s->search, i, k).n;
    v->n_hyps = n;
    v->hyps = tf_xmalloc(n * sizeof *v->hyps + tokens * sizeof(uint32_t) +
                         (tokens + n) * sizeof(float) + 1);
    float *terms = (float *)(void *)(v->hyps + n);
    uint32_t *ids = (uint32_t *)(void *)(terms + tokens + n);
    for (size_t k = 0; k < n; k++) {
        struct tf_search_hyp h = tf_search_result(&s->search, i, k);
        tf_search_trace(&s->search, i, k, ids, terms);
        v->hyps[k] = (struct tf_hyp){.ids = ids,
                                     .n = h.n,
                                     .score = (float)h.score,
                                     .logp = (float)h.logp,
                                     .token_logp = terms};
        ids += h.n;
        terms += h.n + 1;
    }
}

int tf_session_decode(struct tf_session *s, struct tf_sentence *const *v, size_t n,
                      struct tf_err *err)
{
    pack(s, v, n);
    for (size_t i = 0; i < s->models->n; i++)
        if (tf_encode(s->v[i].work, &s->v[i].memory, n, s->src, s->src_off, err) < 0)
            return -1;
    struct tf_search_group g = {.n = n,
                                .src_off = s->v[0].memory.off,
                                .limit = s->limit,
                                .prefix = s->prefix,
                                .prefix_off = s->prefix_off,
                                .key = s->key};
    if (tf_search_start(&s->search, &g, err) < 0 || reserve(s, err) < 0 ||
        reserve_starts(s, n, err) < 0)
        return -1;
    if (run(s, err) < 0 || tf_search_fetch(&s->search, err) < 0)
        return -1;
    for (size_t i = 0; i < n; i++)
        take(s, v[i], i);
    return 0;
}
