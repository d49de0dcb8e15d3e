/* lane_search.c - see lane_search_private.h. */
#include "infer/lane_search_private.h"
#include "base/memory.h"
#include "model/incremental.h"

#include <stdlib.h>

/* On the CPU a group takes at most the memory of GROUP_SLOTS cache slots (0.8 GB in the paper's
 * base model). A source token counts as SLOTS_PER_TOKEN. */
enum { GROUP_SLOTS = 32768, SLOTS_PER_TOKEN = 4 };

/* One model's part in the search. */
struct member {
    struct tf_memory memory; /* the encoder's output */
    struct tf_memory fresh;  /* that of sentences which enter, on its way there */
    struct tf_cache cache;
    struct tf_outputs outputs; /* with limits.allowed on the host: of the group */
    tf_mem *start; /* U32 [start_cap]: first ids, where they differ from the first model's */
};

struct tf_lane_search {
    const struct tf_ensemble *models;
    struct tf_lanes *lanes;
    size_t number; /* of the lane */
    const struct tf_lane *lane;
    const struct tf_backend *be;
    struct tf_ctx *ctx;
    struct tf_search_limits limits;
    struct tf_insertion_progress progress;
    const struct tf_wanted **wanted; /* of the group */
    struct member *member;           /* one per model */
    struct tf_search search;
    /* STAT [logits_cap]: of one model; logarithms of the mean probability of the models so far */
    tf_mem *logits, *mixture;
    size_t logits_cap, start_cap;
    bool first_step;
    /* The group: the sentences at its n places, of which those that have hyps are delivered, and
     * the places that were given to others last. */
    struct tf_sentence **at;
    size_t *place, n, n_place;
    bool refills;
    tf_sentence_fn *done;
    void *arg;
    struct tf_packed_ids src, prefix;
    uint32_t *limit, *src_rows;
    uint64_t *key;
    struct tf_allowed_group allowed; /* with limits.allowed */
};

/* Of the device that has least. */
static size_t least_free_memory(const struct tf_ensemble *m)
{
    size_t least = SIZE_MAX;
    for (size_t i = 0; i < m->replicas; i++) {
        const size_t n = m->replica[i].lost ? SIZE_MAX : m->be->free_memory(m->replica[i].ctx);
        least = n < least ? n : least;
    }
    return least;
}

struct tf_search_memory tf_search_memory(const struct tf_ensemble *m,
                                         const struct tf_search_opts *opts)
{
    struct tf_search_memory memory = {.source_end = m->model[0].config.source_eos,
                                      .copies = 1};
    for (size_t i = 0; i < m->n; i++) {
        memory.slot += m->model[i].params.dec.most.cache * m->be->elem_size[TF_ELEM_ACT];
        memory.token += m->be->host ? 0 : tf_encoder_token_bytes(&m->model[i]);
    }
    if (!m->be->host) /* of sentences that enter, as much as a slot */
        memory.token += memory.slot;
    memory.hypothesis = opts->V * m->be->elem_size[TF_ELEM_STAT] * (m->n > 1 ? 2 : 1);
    memory.budget = m->be->host ? GROUP_SLOTS * memory.slot : least_free_memory(m) / 2;
    return memory;
}

struct tf_lane_item tf_search_item(struct tf_sentence *s, const struct tf_search_opts *opts,
                                   const struct tf_search_memory *memory)
{
    size_t src = s->n_src + (size_t)1, tgt = s->limit + (size_t)1,
           positions = s->n_src + memory->source_end,
           slots = memory->copies * tf_search_slots(opts, s->limit);
    if (slots < src * SLOTS_PER_TOKEN)
        slots = src * SLOTS_PER_TOKEN;
    return (struct tf_lane_item){.item = s,
                                 .length = src,
                                 .positions = positions > tgt ? positions : tgt,
                                 .cost = slots * memory->slot + src * memory->token +
                                         memory->copies * opts->K * memory->hypothesis};
}

struct tf_lane_search **tf_lane_search_new(struct tf_lanes *l,
                                           const struct tf_search_opts *opts,
                                           struct tf_search_limits limits)
{
    const struct tf_ensemble *m = l->models;
    struct tf_lane_search **s = tf_xcalloc(l->n, sizeof *s);
    for (size_t i = 0; i < l->n; i++) {
        const struct tf_lane *lane = &l->lane[i];
        s[i] = tf_xcalloc(1, sizeof *s[i]);
        *s[i] = (struct tf_lane_search){.models = m,
                                        .lanes = l,
                                        .number = i,
                                        .lane = lane,
                                        .be = m->be,
                                        .ctx = lane->ctx,
                                        .limits = limits,
                                        .member = tf_xcalloc(m->n, sizeof *s[i]->member)};
        tf_search_init(&s[i]->search, opts, m->be, lane->ctx);
    }
    return s;
}

static void free_one(struct tf_lane_search *s)
{
    for (size_t i = 0; i < s->models->n; i++) {
        struct member *m = &s->member[i];
        tf_memory_release(&m->memory, s->be, s->ctx);
        tf_memory_release(&m->fresh, s->be, s->ctx);
        tf_cache_release(&m->cache, s->be, s->ctx);
        tf_outputs_release(&m->outputs, s->be, s->ctx);
        s->be->free(s->ctx, m->start);
    }
    tf_search_release(&s->search);
    tf_insertion_progress_release(&s->progress);
    s->be->free(s->ctx, s->logits);
    s->be->free(s->ctx, s->mixture);
    tf_packed_ids_release(&s->src);
    tf_packed_ids_release(&s->prefix);
    free(s->member);
    free(s->at);
    free(s->place);
    free(s->limit);
    free(s->src_rows);
    free(s->key);
    free(s->wanted);
    tf_allowed_release(&s->allowed);
    free(s);
}

void tf_lane_search_free(struct tf_lane_search **s, const struct tf_lanes *l)
{
    for (size_t i = 0; s != NULL && i < l->n; i++)
        free_one(s[i]);
    free(s);
}

/* Searches of a sentence. */
static size_t copies_of(const struct tf_lane_search *s)
{
    return s->limits.diverse != NULL ? s->limits.diverse->groups : 1;
}

/* The sentences of the group as the search takes them, and the sources of those at n places. */
static void pack_group(struct tf_lane_search *s, const size_t *place, size_t n)
{
    tf_packed_ids_clear(&s->src);
    tf_packed_ids_clear(&s->prefix);
    const size_t copies = copies_of(s), all = s->n * copies;
    s->limit = tf_xarray(s->limit, all, sizeof *s->limit);
    s->src_rows = tf_xarray(s->src_rows, all, sizeof *s->src_rows);
    s->key = tf_xarray(s->key, all, sizeof *s->key);
    s->wanted = tf_xarray(s->wanted, all, sizeof *s->wanted);
    for (size_t j = 0; j < n; j++)
        tf_packed_ids_add(&s->src, s->at[place[j]]->src, s->at[place[j]]->n_src);
    for (size_t i = 0; i < all; i++) {
        const struct tf_sentence *v = s->at[i / copies];
        tf_packed_ids_add(&s->prefix, v->prefix, v->n_prefix);
        s->limit[i] = v->limit;
        s->src_rows[i] = v->n_src + (uint32_t)s->models->model[0].config.source_eos;
        s->key[i] = v->key;
        s->wanted[i] = &v->wanted;
    }
}

/* Find the ids that the searches are for, and on the host lay out their weights. is_new: of each
 * sentence, or NULL: all are. */
static int select_outputs(struct tf_lane_search *s, const bool *is_new, struct tf_err *err)
{
    const size_t copies = copies_of(s), n = s->n * copies;
    struct tf_allowed_sentence *sentences = tf_xarray(NULL, n, sizeof *sentences);
    for (size_t i = 0; i < n; i++) {
        const struct tf_sentence *v = s->at[i / copies];
        sentences[i] = (struct tf_allowed_sentence){.src = v->src,
                                                    .n_src = v->n_src,
                                                    .prefix = v->prefix,
                                                    .n_prefix = v->n_prefix,
                                                    .wanted = &v->wanted,
                                                    .kept = is_new != NULL && !is_new[i]};
    }
    tf_allowed_set(&s->allowed, s->limits.allowed, sentences, n);
    free(sentences);
    if (!s->be->host)
        return 0;
    tf_allowed_unite(&s->allowed, s->limits.allowed);
    for (size_t i = 0; i < s->models->n; i++)
        if (tf_outputs_select(&s->member[i].outputs, &s->lane->model[i], s->ctx, s->allowed.all.v,
                              s->allowed.all.n, err) != 0)
            return -1;
    return 0;
}

static int reserve_memory(struct tf_lane_search *s, struct tf_err *err)
{
    size_t need = s->search.max_rows * s->search.lp_ld;
    for (size_t i = 0; i < s->models->n; i++)
        if (tf_cache_init(&s->member[i].cache, &s->lane->model[i], s->ctx, s->search.slots, err) <
            0)
            return -1;
    if (need <= s->logits_cap)
        return 0;
    tf_mem **mem[] = {&s->logits, &s->mixture};
    s->logits_cap = 0;
    for (size_t i = 0; i < (s->models->n > 1 ? 2 : 1); i++) {
        s->be->free(s->ctx, *mem[i]);
        *mem[i] = s->be->alloc(s->ctx, TF_ELEM_STAT, need, err);
        if (*mem[i] == NULL)
            return tf_context(err, "logits of %zu hypotheses", s->search.max_rows);
    }
    s->logits_cap = need;
    return 0;
}

/* The models of an ensemble may start with different ids (bos, or a zero vector). The search holds
 * those of the first model; here are the others. */
static int upload_start_ids(struct tf_lane_search *s, size_t n, struct tf_err *err)
{
    if (n <= s->start_cap)
        return 0;
    s->start_cap = 0;
    uint32_t *ids = tf_xarray(NULL, n, sizeof *ids);
    int rc = 0;
    for (size_t i = 1; i < s->models->n && rc == 0; i++) {
        uint32_t id = tf_start_id(&s->models->model[i].config);
        s->be->free(s->ctx, s->member[i].start);
        s->member[i].start = NULL;
        if (id == s->search.opts.start)
            continue;
        for (size_t k = 0; k < n; k++)
            ids[k] = id;
        s->member[i].start = s->be->alloc(s->ctx, TF_ELEM_U32, n, err);
        if (s->member[i].start == NULL) {
            rc = -1;
        } else {
            s->be->upload(s->ctx, s->member[i].start, TF_ELEM_U32, ids, n);
            rc = s->be->sync(s->ctx, err);
        }
    }
    free(ids);
    if (rc == 0)
        s->start_cap = n;
    return rc;
}

/* From logits z to log-probabilities, as log_softmax of the backend; with a shortlist over the
 * columns of each sentence, which are then in front. */
static void to_logs(struct tf_lane_search *s, tf_mem *z, tf_mem *acc, float weight)
{
    const struct tf_search *q = &s->search;
    if (q->allowed == NULL) {
        s->be->log_softmax(s->ctx, z, acc, q->rows, (int)q->opts.V, weight);
        return;
    }
    if (!s->be->host) {
        const struct tf_lists lists = tf_search_lists(q);
        s->be->log_softmax_listed(s->ctx, z, acc, &lists, weight);
        return;
    }
    tf_allowed_gather(&s->allowed, q, z);
    for (size_t i = 0; i < q->S; i++)
        for (size_t r = q->row0[i]; r < q->row0[i] + q->live[i]; r++)
            s->be->log_softmax(s->ctx, tf_at(s->be, TF_ELEM_STAT, z, r * q->lp_ld),
                               acc != NULL ? tf_at(s->be, TF_ELEM_STAT, acc, r * q->lp_ld) : NULL,
                               1, (int)q->allowed[i].n, weight);
}

/* One step of the models, whose probabilities are averaged, and of the search. */
static int step_models(struct tf_lane_search *s, struct tf_err *err)
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
                               .table_ld = q->ld};
    const struct tf_lists lists = tf_search_lists(q);
    d.lists = q->allowed != NULL && !s->be->host ? &lists : NULL;
    const size_t n = s->models->n;
    tf_mem *lp = n > 1 ? s->mixture : s->logits;
    for (size_t i = 0; i < n; i++) {
        d.z = i == 0 ? lp : s->logits;
        d.outputs = q->allowed != NULL && s->be->host ? &s->member[i].outputs : NULL;
        d.ids = s->first_step && s->member[i].start != NULL ? s->member[i].start : q->ids;
        if (tf_decode_step(s->lane->work[i], &s->member[i].memory, &s->member[i].cache, &d, err) <
            0)
            return -1;
        to_logs(s, d.z, i == 0 ? NULL : lp, (float)s->models->share[i]);
    }
    if (s->first_step && s->be->poll > 1)
        q->rows = tf_search_most_rows(q);
    if (s->limits.insertions != NULL)
        tf_insertions_mask(s->limits.insertions, &s->progress, q, s->src.ids.v, s->src.offsets.v,
                           lp);
    if (s->limits.forbidden != NULL)
        tf_forbidden_mask(s->limits.forbidden, q, lp);
    if (s->limits.continues != NULL)
        tf_wanted_step(s->wanted, *s->limits.continues, s->limits.wanted, q, lp);
    else if (s->limits.diverse != NULL)
        tf_diverse_step(s->limits.diverse, q, lp);
    else
        s->be->search_step(s->ctx, q, lp);
    s->first_step = false;
    return 0;
}

static int steps(struct tf_lane_search *s, size_t n, struct tf_err *err)
{
    for (size_t i = 0; i < n; i++)
        if (step_models(s, err) != 0)
            return -1;
    return 0;
}

/* The hypotheses of sentence i, their ids and log-probabilities in one block. */
static void copy_hypotheses(struct tf_lane_search *s, struct tf_sentence *v, size_t i)
{
    const size_t copies = copies_of(s);
    size_t n = 0, tokens = 0;
    for (size_t c = i * copies; c < (i + 1) * copies; c++)
        for (size_t k = 0; k < tf_search_count(&s->search, c); k++, n++)
            tokens += tf_search_result(&s->search, c, k).n;
    v->hyps = tf_xmalloc(n * sizeof *v->hyps + tokens * sizeof(uint32_t) +
                         (tokens + n) * sizeof(float) + 1);
    float *token_logp = (float *)(void *)(v->hyps + n);
    uint32_t *ids = (uint32_t *)(void *)(token_logp + tokens + n);
    v->n_hyps = 0;
    for (size_t c = i * copies; c < (i + 1) * copies; c++)
        for (size_t k = 0; k < tf_search_count(&s->search, c); k++) {
            struct tf_search_hyp h = tf_search_result(&s->search, c, k);
            tf_search_trace(&s->search, c, k, ids, token_logp);
            v->hyps[v->n_hyps++] = (struct tf_hyp){.ids = ids,
                                                   .n = h.n,
                                                   .score = (float)h.score,
                                                   .logp = (float)h.logp,
                                                   .token_logp = token_logp};
            ids += h.n;
            token_logp += h.n + 1;
        }
    if (s->limits.diverse != NULL)
        v->n_hyps = tf_diverse_rank(v->hyps, v->n_hyps, &s->search.opts, v->n_prefix, v->limit);
}

/* Give those of the sentences that are done their hypotheses: on the CPU after any step, on a GPU
 * when others are to enter and when all are. */
static int deliver(struct tf_lane_search *s, struct tf_err *err)
{
    const size_t copies = copies_of(s);
    bool any = false;
    if (tf_search_fetch(&s->search, err) != 0)
        return -1;
    for (size_t i = 0; i < s->n; i++) {
        bool is_done = s->at[i]->hyps == NULL;
        for (size_t c = i * copies; c < (i + 1) * copies && is_done; c++)
            is_done = tf_search_is_done(&s->search, c);
        if (!is_done)
            continue;
        copy_hypotheses(s, s->at[i], i);
        s->done(s->arg, s->at[i]);
        any = true;
    }
    if (any)
        s->done(s->arg, NULL);
    return 0;
}

/* ---- who enters a group ---- */

/* Models that start with ids of their own start all at the same step. */
static bool can_refill(const struct tf_lane_search *s)
{
    bool alike = true;
    for (size_t i = 0; i < s->models->n; i++)
        alike &= tf_start_id(&s->models->model[i].config) == s->search.opts.start;
    return alike && s->be->poll > 1;
}

/* Has the sentence room at a place after those that were given away? It gets the first. */
static bool has_place(void *arg, const void *sentence)
{
    struct tf_lane_search *s = arg;
    const struct tf_sentence *v = sentence;
    const uint32_t *off = s->member[0].memory.off, end = s->models->model[0].config.source_eos;
    for (size_t p = s->n_place > 0 ? s->place[s->n_place - 1] + 1 : 0; p < s->n; p++)
        if (s->at[p]->hyps != NULL && v->limit <= tf_search_room(&s->search, p) &&
            v->n_src + end <= off[p + 1] - off[p]) {
            s->place[s->n_place] = p;
            return true;
        }
    return false;
}

static struct tf_search_group search_group(const struct tf_lane_search *s)
{
    const size_t copies = copies_of(s);
    struct tf_search_group g = {.n = s->n * copies,
                                .copies = copies,
                                .src_off = s->member[0].memory.off,
                                .src_rows = s->src_rows,
                                .limit = s->limit,
                                .prefix = s->prefix.ids.v,
                                .prefix_off = s->prefix.offsets.v,
                                .key = s->key};
    if (s->limits.allowed != NULL) {
        g.allowed = s->allowed.sentence;
        g.lp_ld = s->be->host ? s->allowed.all.n : s->allowed.longest;
    }
    return g;
}

/* Deliver what is done, and let others enter in its place. */
static int refill(struct tf_lane_search *s, struct tf_err *err)
{
    struct tf_sentence *v;
    if (deliver(s, err) != 0)
        return -1;
    s->n_place = 0;
    while ((v = tf_lanes_more(s->lanes, s->number, has_place, s)) != NULL)
        if (v->hyps == NULL) /* else a device that failed had delivered it */
            s->at[s->place[s->n_place++]] = v;
    s->refills = s->n_place > 0; /* else the next one needs a group of its own */
    if (!s->refills)
        return 0;
    pack_group(s, s->place, s->n_place);
    for (size_t i = 0; i < s->models->n; i++)
        if (tf_encode_into(s->lane->work[i], &s->member[i].memory, &s->member[i].fresh, s->place,
                           s->n_place, s->src.ids.v, s->src.offsets.v, err) < 0)
            return -1;
    if (s->limits.allowed != NULL) {
        bool *is_new = tf_xcalloc(s->n, sizeof *is_new);
        for (size_t j = 0; j < s->n_place; j++)
            is_new[s->place[j]] = true;
        const int rc = select_outputs(s, is_new, err);
        free(is_new);
        if (rc != 0)
            return -1;
    }
    const struct tf_search_group g = search_group(s);
    if (tf_search_enter(&s->search, &g, s->place, s->n_place, err) != 0 ||
        reserve_memory(s, err) != 0)
        return -1;
    s->first_step = true;
    return steps(s, 2, err); /* an even number: see search */
}

/* All steps of a group. On a GPU, asking for the number of live rows means waiting, so we ask only
 * every `poll` steps and use an upper bound in between. The steps between two polls are one graph
 * that the GPU can replay. A graph depends on the fields of the search alone, and these repeat:
 * each step swaps two pairs of buffers, and poll is even. */
static int search(struct tf_lane_search *s, struct tf_err *err)
{
    struct tf_search *q = &s->search;
    size_t poll = (size_t)s->be->poll;
    TF_ASSERT(poll == 1 || poll % 2 == 0);
    s->first_step = true;
    if (step_models(s, err) != 0 ||
        (poll == 1 && (tf_search_poll(q, false, err) != 0 || deliver(s, err) != 0)))
        return -1;
    while (q->rows > 0) {
        int rc = 0;
        do {
            if (s->be->graph_begin(s->ctx, q, sizeof *q))
                break;
            rc = steps(s, poll, err);
        } while (!s->be->graph_end(s->ctx));
        if (rc < 0 || tf_search_poll(q, poll > 1, err) != 0 ||
            (s->be->host && deliver(s, err) != 0))
            return -1;
        if (s->refills && 4 * tf_search_done(q) >= q->S && tf_lanes_wait(s->lanes) &&
            refill(s, err) != 0)
            return -1;
    }
    return deliver(s, err);
}

int tf_lane_search_run(struct tf_lane_search *s, const struct tf_lane_item *group, size_t n,
                       tf_sentence_fn *done, void *arg, struct tf_err *err)
{
    s->done = done, s->arg = arg;
    s->at = tf_xarray(s->at, n, sizeof *s->at);
    s->place = tf_xarray(s->place, n, sizeof *s->place);
    s->n = 0;
    for (size_t i = 0; i < n; i++) {
        struct tf_sentence *v = group[i].item;
        s->place[s->n] = s->n;
        s->at[s->n] = v;
        s->n += v->hyps == NULL;
    }
    if (s->n == 0)
        return 0;
    pack_group(s, s->place, s->n);
    for (size_t i = 0; i < s->models->n; i++)
        if (tf_encode(s->lane->work[i], &s->member[i].memory, s->n, s->src.ids.v, s->src.offsets.v,
                      err) < 0)
            return -1;
    if (s->limits.allowed != NULL && select_outputs(s, NULL, err) != 0)
        return -1;
    const struct tf_search_group g = search_group(s);
    if (tf_search_start(&s->search, &g, err) < 0 || reserve_memory(s, err) != 0 ||
        upload_start_ids(s, g.n, err) < 0)
        return -1;
    s->refills = can_refill(s);
    return search(s, err);
}
