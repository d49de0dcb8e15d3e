/* lane_forward.c - see lane_forward_private.h. */
#include "infer/lane_forward_private.h"
#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    GROUP_TOKENS = 8192, /* on the CPU */
    GPU_GROUP_TOKENS = 65536,
    WEIGHTS_PER_TOKEN = 2048, /* attention weights that cost as much memory as a token */
};

struct tf_lane_forward {
    const struct tf_ensemble *models;
    const struct tf_lane *lane;
    struct tf_packed_ids src, tgt;
    uint32_t *same; /* of each pair: the first of those one after the other with its source */
    bool shared;    /* some pair has the source of another */
    struct tf_pairs pairs;
    float *logp;  /* of every target token of the group, EOS included */
    double *mean; /* of an ensemble: the logarithms of their mean probabilities so far */
    double correct;
    float *weights[TF_ATTENTION_KINDS]; /* of the group */
};

size_t tf_forward_budget(const struct tf_ensemble *m)
{
    return m->be->host ? GROUP_TOKENS : GPU_GROUP_TOKENS;
}

struct tf_lane_item tf_forward_item(struct tf_forward_pair *p, const struct tf_ensemble *m,
                                    const struct tf_watch *watch)
{
    const struct tf_config *c = &m->model[0].config;
    size_t src = p->n_src + (size_t)c->source_eos, tgt = p->n_tgt + (size_t)1, weights = 0;
    size_t cells[TF_ATTENTION_KINDS] = {src * src, tgt * tgt, tgt * src};
    for (int kind = 0; watch != NULL && kind < TF_ATTENTION_KINDS; kind++)
        weights += tf_watched_layers(watch, c, kind) * (size_t)c->heads * cells[kind];
    return (struct tf_lane_item){.item = p,
                                 .length = src + tgt,
                                 .positions = src > tgt ? src : tgt,
                                 .cost = src + tgt + weights / WEIGHTS_PER_TOKEN};
}

struct tf_lane_forward **tf_lane_forward_new(const struct tf_lanes *l)
{
    struct tf_lane_forward **f = tf_xcalloc(l->n, sizeof *f);
    for (size_t i = 0; i < l->n; i++) {
        f[i] = tf_xcalloc(1, sizeof *f[i]);
        f[i]->models = l->models;
        f[i]->lane = &l->lane[i];
    }
    return f;
}

static void free_one(struct tf_lane_forward *f)
{
    tf_packed_ids_release(&f->src);
    tf_packed_ids_release(&f->tgt);
    tf_pairs_release(&f->pairs);
    free(f->same);
    free(f->logp);
    free(f->mean);
    for (int kind = 0; kind < TF_ATTENTION_KINDS; kind++)
        free(f->weights[kind]);
    free(f);
}

void tf_lane_forward_free(struct tf_lane_forward **f, const struct tf_lanes *l)
{
    for (size_t i = 0; f != NULL && i < l->n; i++)
        free_one(f[i]);
    free(f);
}

/* The group's pairs in the form of model number k. */
static int set_pairs(struct tf_lane_forward *f, size_t k, size_t n, struct tf_err *err)
{
    if (tf_pairs_set(&f->pairs, &f->models->model[k].config, n, f->src.ids.v, f->src.offsets.v,
                     f->tgt.ids.v, f->tgt.offsets.v, err) != 0)
        return -1;
    f->pairs.same = f->shared ? f->same : NULL;
    return 0;
}

static void pack_group(struct tf_lane_forward *f, const struct tf_lane_item *group, size_t n)
{
    tf_packed_ids_clear(&f->src);
    tf_packed_ids_clear(&f->tgt);
    f->same = tf_xarray(f->same, n, sizeof *f->same);
    f->shared = false;
    const struct tf_forward_pair *last = NULL;
    for (size_t i = 0; i < n; i++) {
        const struct tf_forward_pair *p = group[i].item;
        bool same = last != NULL && p->src == last->src && p->n_src == last->n_src;
        f->same[i] = same ? f->same[i - 1] : (uint32_t)i;
        f->shared |= same;
        last = p;
        tf_packed_ids_add(&f->src, p->src, p->n_src);
        tf_packed_ids_add(&f->tgt, p->tgt, p->n_tgt);
    }
}

/* log(exp a + exp b) */
static double log_add(double a, double b)
{
    double max = a > b ? a : b;
    return max == -INFINITY ? max : max + log1p(exp(-fabs(a - b)));
}

int tf_lane_forward_logp(struct tf_lane_forward *f, const struct tf_lane_item *group, size_t n,
                         struct tf_err *err)
{
    pack_group(f, group, n);
    size_t models = f->models->n, rows = f->tgt.ids.n + n;
    double correct = 0; /* counted at the end: what a device that fails had is computed again */
    f->logp = tf_xarray(f->logp, rows, sizeof *f->logp);
    f->mean = tf_xarray(f->mean, rows, sizeof *f->mean);
    for (size_t k = 0; k < models; k++) {
        struct tf_sums sums = {0};
        if (set_pairs(f, k, n, err) != 0 ||
            tf_forward(f->lane->work[k], &sums, f->logp, &f->pairs, 0, n, err) != 0)
            return -1;
        correct += sums.correct;
        double share = f->models->share[k], kept = log(1 - share), added = log(share);
        for (size_t r = 0; r < rows && models > 1; r++)
            f->mean[r] = k == 0 ? (double)f->logp[r]
                                : log_add(f->mean[r] + kept, (double)f->logp[r] + added);
    }
    for (size_t r = 0; r < rows && models > 1; r++)
        f->logp[r] = (float)f->mean[r];
    const float *from = f->logp;
    for (size_t i = 0; i < n; i++) {
        struct tf_forward_pair *p = group[i].item;
        memcpy(p->token_logp, from, (p->n_tgt + 1) * sizeof *from);
        from += p->n_tgt + 1;
    }
    f->correct += correct;
    return 0;
}

uint64_t tf_lane_forward_take_correct(struct tf_lane_forward *f)
{
    uint64_t correct = (uint64_t)f->correct;
    f->correct = 0;
    return correct;
}

/* Give each pair its own blocks of the group's weights [layers][pairs][heads, rows, columns]. */
static void split_weights(const struct tf_lane_forward *f, int kind, size_t layers,
                          const struct tf_lane_item *group, size_t n)
{
    size_t heads = (size_t)f->models->model[0].config.heads,
           layer = heads * tf_attention_cells(kind, &f->pairs, 0, n);
    const float *from = f->weights[kind];
    for (size_t i = 0; i < n; i++) {
        struct tf_forward_pair *p = group[i].item;
        size_t own = heads * tf_attention_cells(kind, &f->pairs, i, i + 1);
        p->weights[kind] = tf_xarray(NULL, layers * own, sizeof *from);
        for (size_t k = 0; k < layers; k++)
            memcpy(p->weights[kind] + k * own, from + k * layer, own * sizeof *from);
        from += own;
    }
}

int tf_lane_forward_attention(struct tf_lane_forward *f, const struct tf_watch *watch,
                              const struct tf_lane_item *group, size_t n, struct tf_err *err)
{
    const struct tf_config *c = &f->models->model[0].config;
    size_t layers[TF_ATTENTION_KINDS];
    pack_group(f, group, n);
    if (set_pairs(f, 0, n, err) != 0)
        return -1;
    for (int kind = 0; kind < TF_ATTENTION_KINDS; kind++) {
        layers[kind] = tf_watched_layers(watch, c, kind);
        size_t cells = tf_attention_cells(kind, &f->pairs, 0, n);
        if (layers[kind] > 0)
            f->weights[kind] =
                tf_xarray(f->weights[kind], layers[kind] * (size_t)c->heads * cells, sizeof(float));
    }
    if (tf_attention_weights(f->lane->work[0], f->weights, watch, &f->pairs, 0, n, err) != 0)
        return -1;
    for (int kind = 0; kind < TF_ATTENTION_KINDS; kind++)
        if (layers[kind] > 0)
            split_weights(f, kind, layers[kind], group, n);
    return 0;
}
