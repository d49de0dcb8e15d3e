/* scorer.c - see scorer.h. A token's term does not depend on the pairs beside it. */
#include "infer/scorer.h"
#include "infer/groups.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    GROUP_TOKENS = 8192, /* of a group */
    DEVICE_TOKENS = 65536, /* on a GPU */
    WEIGHTS_A_TOKEN = 2048, /* so many attention weights count as one more token */
};

struct lane {
    struct tf_ctx *ctx;
    struct tf_work **work; /* one a model */
    struct tf_pairs pairs;
    uint32_t *src, *tgt, *src_off, *tgt_off;
    float *logp;
    double *mean;
    double correct;
    float *weights[TF_ATTENTION_KINDS];
};

struct tf_scorer {
    struct tf_model_set *models;
    struct tf_groups *groups;
    struct lane *lane;
    int lanes;
    struct tf_group_item *items;
    const struct tf_watch *watch;
    size_t layers[TF_ATTENTION_KINDS]; /* that are watched */
};

struct tf_scorer *tf_scorer_new(struct tf_model_set *m, int threads, size_t batch,
                                const struct tf_watch *watch, struct tf_err *err)
{
    struct tf_scorer *s = tf_xcalloc(1, sizeof *s);
    *s = (struct tf_scorer){.models = m, .lanes = tf_models_lanes(m, threads), .watch = watch};
    for (int kind = 0; watch != NULL && kind < TF_ATTENTION_KINDS; kind++)
        s->layers[kind] = tf_watched_layers(watch, &m->v[0].config, kind);
    s->groups = tf_groups_new(s->lanes, batch,
                              m->be->free_memory(m->ctx) > 0 ? DEVICE_TOKENS : GROUP_TOKENS);
    s->lane = tf_xcalloc((size_t)s->lanes, sizeof *s->lane);
    for (int i = 0; i < s->lanes; i++) {
        struct tf_ctx_opts open = {.threads = threads};
        struct lane *l = &s->lane[i];
        l->work = tf_xcalloc(m->n, sizeof *l->work);
        l->ctx = m->be->open(&open, err);
        if (l->ctx == NULL) {
            tf_scorer_free(s);
            return NULL;
        }
        for (size_t k = 0; k < m->n; k++)
            l->work[k] = tf_work_new(&m->v[k], l->ctx);
    }
    return s;
}

void tf_scorer_free(struct tf_scorer *s)
{
    if (s == NULL)
        return;
    for (int i = 0; i < s->lanes; i++) {
        struct lane *l = &s->lane[i];
        for (size_t k = 0; l->work != NULL && k < s->models->n; k++)
            tf_work_free(l->work[k]);
        if (l->ctx != NULL)
            s->models->be->close(l->ctx);
        tf_pairs_release(&l->pairs);
        for (int kind = 0; kind < TF_ATTENTION_KINDS; kind++)
            free(l->weights[kind]);
        void *all[] = {l->work, l->src, l->tgt, l->src_off, l->tgt_off, l->logp, l->mean};
        for (size_t k = 0; k < sizeof all / sizeof *all; k++)
            free(all[k]);
    }
    tf_groups_free(s->groups);
    free(s->lane);
    free(s->items);
    free(s);
}

static void pack(struct lane *l, const struct tf_group_item *v, size_t n)
{
    size_t src = 0, tgt = 0;
    for (size_t i = 0; i < n; i++) {
        const struct tf_scored *p = v[i].item;
        src += p->n_src;
        tgt += p->n_tgt;
    }
    l->src = tf_xarray(l->src, src + 1, sizeof *l->src);
    l->tgt = tf_xarray(l->tgt, tgt + 1, sizeof *l->tgt);
    l->src_off = tf_xarray(l->src_off, n + 1, sizeof *l->src_off);
    l->tgt_off = tf_xarray(l->tgt_off, n + 1, sizeof *l->tgt_off);
    l->logp = tf_xarray(l->logp, tgt + n, sizeof *l->logp);
    l->mean = tf_xarray(l->mean, tgt + n, sizeof *l->mean);
    l->src_off[0] = l->tgt_off[0] = 0;
    for (size_t i = 0; i < n; i++) {
        const struct tf_scored *p = v[i].item;
        if (p->n_src > 0)
            memcpy(l->src + l->src_off[i], p->src, p->n_src * sizeof *l->src);
        if (p->n_tgt > 0)
            memcpy(l->tgt + l->tgt_off[i], p->tgt, p->n_tgt * sizeof *l->tgt);
        l->src_off[i + 1] = l->src_off[i] + p->n_src;
        l->tgt_off[i + 1] = l->tgt_off[i] + p->n_tgt;
    }
}

/* Of each pair its blocks, layer by layer. */
static int watch_group(void *arg, int lane, struct tf_group_item *v, size_t n, struct tf_err *err)
{
    struct tf_scorer *s = arg;
    struct lane *l = &s->lane[lane];
    size_t heads = (size_t)s->models->v[0].config.heads;
    pack(l, v, n);
    if (tf_pairs_set(&l->pairs, &s->models->v[0].config, n, l->src, l->src_off, l->tgt, l->tgt_off,
                     err) < 0)
        return -1;
    for (int kind = 0; kind < TF_ATTENTION_KINDS; kind++)
        if (s->layers[kind] > 0)
            l->weights[kind] =
                tf_xarray(l->weights[kind],
                          s->layers[kind] * heads * tf_attention_cells(kind, &l->pairs, 0, n),
                          sizeof(float));
    if (tf_attention_weights(l->work[0], l->weights, s->watch, &l->pairs, 0, n, err) < 0)
        return -1;
    for (int kind = 0; kind < TF_ATTENTION_KINDS; kind++) {
        size_t all = heads * tf_attention_cells(kind, &l->pairs, 0, n);
        const float *from = l->weights[kind];
        for (size_t i = 0; i < n && s->layers[kind] > 0; i++) {
            struct tf_scored *p = v[i].item;
            size_t own = heads * tf_attention_cells(kind, &l->pairs, i, i + 1);
            p->weights[kind] = tf_xarray(NULL, s->layers[kind] * own, sizeof(float));
            for (size_t k = 0; k < s->layers[kind]; k++)
                memcpy(p->weights[kind] + k * own, from + k * all, own * sizeof(float));
            from += own;
        }
    }
    return 0;
}

static int score_group(void *arg, int lane, struct tf_group_item *v, size_t n, struct tf_err *err)
{
    struct tf_scorer *s = arg;
    struct lane *l = &s->lane[lane];
    size_t models = s->models->n;
    pack(l, v, n);
    size_t rows = l->tgt_off[n] + n;
    for (size_t k = 0; k < models; k++) {
        struct tf_sums sums = {0};
        if (tf_pairs_set(&l->pairs, &s->models->v[k].config, n, l->src, l->src_off, l->tgt,
                         l->tgt_off, err) < 0 ||
            tf_forward(l->work[k], &sums, l->logp, &l->pairs, 0, n, err) < 0)
            return -1;
        l->correct += sums.correct;
        for (size_t r = 0; r < rows && models > 1; r++)
            l->mean[r] = (k > 0 ? l->mean[r] : 0) + exp((double)l->logp[r]) / (double)models;
    }
    for (size_t r = 0; r < rows && models > 1; r++)
        l->logp[r] = (float)log(l->mean[r]);
    for (size_t i = 0; i < n; i++) {
        struct tf_scored *p = v[i].item;
        memcpy(p->terms, l->logp + l->tgt_off[i] + i, (p->n_tgt + 1) * sizeof *p->terms);
    }
    return 0;
}

int tf_scorer_run(struct tf_scorer *s, struct tf_scored **v, size_t n, uint64_t *correct,
                  struct tf_err *err)
{
    size_t positions = 1;
    s->items = tf_xarray(s->items, n + 1, sizeof *s->items);
    for (size_t i = 0; i < n; i++) {
        size_t src = v[i]->n_src + (size_t)1, tgt = v[i]->n_tgt + (size_t)1;
        size_t weights = s->layers[TF_ATTENTION_ENCODER] * src * src +
                         s->layers[TF_ATTENTION_DECODER] * tgt * tgt +
                         s->layers[TF_ATTENTION_CROSS] * tgt * src;
        weights *= (size_t)s->models->v[0].config.heads;
        s->items[i] = (struct tf_group_item){
            .item = v[i], .length = src + tgt, .cost = src + tgt + weights / WEIGHTS_A_TOKEN};
        positions = src > positions ? src : positions;
        positions = tgt > positions ? tgt : positions;
    }
    if (tf_models_positions(s->models, positions, err) < 0)
        return -1;
    int rc =
        tf_groups_run(s->groups, s->items, n, s->watch != NULL ? watch_group : score_group, s, err);
    for (int i = 0; i < s->lanes; i++) {
        *correct += (uint64_t)s->lane[i].correct;
        s->lane[i].correct = 0;
    }
    return rc;
}
