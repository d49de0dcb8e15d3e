/* decoder.c - sessions over lanes. */
#include "infer/decoder.h"
#include "infer/groups.h"

#include <stdlib.h>

/* What a group may take in cache slots (0.8 GB in the paper's base model) where memory is the
 * host's; a source token counts as a few. A device gives half of what it has free, counted in
 * bytes. */
enum { GROUP_SLOTS = 32768, SLOTS_A_TOKEN = 4 };

struct tf_decoder {
    struct tf_model_set *models;
    struct tf_search_opts rule;
    struct tf_groups *groups;
    int lanes;
    size_t slot, row; /* what a slot, and a hypothesis, take of a group's budget */
    struct tf_session **lane;
    struct tf_group_item *items;
};

/* Of a group; and the prices. */
static size_t budget(struct tf_decoder *d)
{
    const struct tf_backend *be = d->models->be;
    size_t spare = be->free_memory(d->models->ctx);
    d->slot = 1;
    if (spare == 0)
        return GROUP_SLOTS;
    for (size_t i = 0; i < d->models->n; i++) {
        const struct tf_config *c = &d->models->v[i].config;
        size_t width = (size_t)(c->heads * (c->d_k + c->d_v));
        d->slot += (size_t)c->decoder_layers * width * be->elem_size[TF_ELEM_ACT];
    }
    d->row = d->rule.V * be->elem_size[TF_ELEM_STAT] * (d->models->n > 1 ? 2 : 1);
    return spare / 2;
}

struct tf_decoder *tf_decoder_new(struct tf_model_set *m, const struct tf_search_opts *rule,
                                  int threads, size_t batch, struct tf_err *err)
{
    struct tf_decoder *d = tf_xcalloc(1, sizeof *d);
    *d = (struct tf_decoder){.models = m, .rule = *rule, .lanes = tf_models_lanes(m, threads)};
    d->groups = tf_groups_new(d->lanes, batch, budget(d));
    d->lane = tf_xcalloc((size_t)d->lanes, sizeof *d->lane);
    for (int i = 0; i < d->lanes; i++)
        if ((d->lane[i] = tf_session_new(m, rule, threads, err)) == NULL) {
            tf_decoder_free(d);
            return NULL;
        }
    return d;
}

void tf_decoder_free(struct tf_decoder *d)
{
    if (d == NULL)
        return;
    for (int i = 0; i < d->lanes; i++)
        tf_session_free(d->lane[i]);
    tf_groups_free(d->groups);
    free(d->lane);
    free(d->items);
    free(d);
}

static int decode_group(void *arg, int lane, struct tf_group_item *v, size_t n, struct tf_err *err)
{
    struct tf_decoder *d = arg;
    struct tf_sentence **group = tf_xarray(NULL, n, sizeof *group);
    for (size_t i = 0; i < n; i++)
        group[i] = v[i].item;
    int rc = tf_session_decode(d->lane[lane], group, n, err);
    free(group);
    return rc;
}

int tf_decoder_run(struct tf_decoder *d, struct tf_sentence **v, size_t n, struct tf_err *err)
{
    size_t positions = 1;
    d->items = tf_xarray(d->items, n + 1, sizeof *d->items);
    for (size_t i = 0; i < n; i++) {
        size_t src = v[i]->n_src + (size_t)1, tgt = v[i]->limit + (size_t)1,
               slots = tf_search_slots(&d->rule, v[i]->limit);
        if (slots < src * SLOTS_A_TOKEN)
            slots = src * SLOTS_A_TOKEN;
        d->items[i] = (struct tf_group_item){.item = v[i],
                                             .length = src,
                                             .cost = slots * d->slot + d->rule.K * d->row};
        positions = src > positions ? src : positions;
        positions = tgt > positions ? tgt : positions;
    }
    if (tf_models_positions(d->models, positions, err) < 0)
        return -1;
    return tf_groups_run(d->groups, d->items, n, decode_group, d, err);
}
