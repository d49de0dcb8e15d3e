/* incremental.c - decoding: encode a group once, then one target position at a time. */
#include "model/incremental.h"
#include "base/memory.h"
#include "model/linear_private.h"
#include "model/stack_private.h"
#include "model/work_private.h"

#include <stdlib.h>
#include <string.h>

/* New memory of n elements in place of *p. */
static int ensure(const struct tf_backend *be, struct tf_ctx *ctx, tf_mem **p, enum tf_elem e,
                  size_t n, struct tf_err *err)
{
    if (*p != NULL)
        be->free(ctx, *p);
    *p = be->alloc(ctx, e, n, err);
    return *p != NULL ? 0 : -1;
}

int tf_encode(struct tf_work *k, struct tf_memory *m, size_t n, const uint32_t *src,
              const uint32_t *off, struct tf_err *err)
{
    const struct tf_config *c = &k->w->config;
    const uint32_t end = c->source_eos;
    size_t rows = off[n] - off[0] + n * end;
    if (tf_work_reserve(k, n, rows, 0, false, err) != 0)
        return -1;
    m->ld = (size_t)c->decoder_layers * tf_kv_width(c);
    m->off = tf_xarray(m->off, n + 1, sizeof *m->off);
    uint32_t *ids = tf_xarray(NULL, 2 * rows, sizeof *ids), *places = ids + rows;
    m->off[0] = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t S = off[i + 1] - off[i];
        memcpy(ids + m->off[i], src + off[i], S * sizeof *ids);
        if (c->source_eos)
            ids[m->off[i] + S] = (uint32_t)c->eos;
        m->off[i + 1] = m->off[i] + S + end;
        for (uint32_t at = m->off[i]; at < m->off[i + 1]; at++)
            places[at] = at - m->off[i];
    }
    m->n = n;
    m->rows = rows;
    int rc = 0;
    if (rows > m->cap) {
        m->cap = 0;
        rc = ensure(k->be, k->ctx, &m->kv, TF_ELEM_ACT, (rows + rows / 8) * m->ld, err);
        if (rc == 0)
            m->cap = rows + rows / 8;
    }
    if (rc == 0) {
        k->enc.n = rows;
        k->dropout = false;
        k->be->rows_set(k->ctx, k->enc.rows, n, m->off);
        k->be->upload(k->ctx, k->src, TF_ELEM_U32, ids, rows);
        if (k->src_at != NULL)
            k->be->upload(k->ctx, k->src_at, TF_ELEM_U32, places, rows);
        rc = k->be->sync(k->ctx, err); /* ids may be freed */
        tf_cross_kv_fwd(k, m->kv, tf_encoder_fwd(k));
    }
    free(ids);
    return rc;
}

void tf_memory_release(const struct tf_weights *w, struct tf_ctx *ctx, struct tf_memory *m)
{
    if (m->kv != NULL)
        w->be->free(ctx, m->kv);
    free(m->off);
    *m = (struct tf_memory){0};
}

int tf_cache_init(struct tf_cache *c, const struct tf_weights *w, struct tf_ctx *ctx, size_t slots,
                  struct tf_err *err)
{
    if (slots <= c->slots)
        return 0;
    c->slots = 0;
    if (ensure(w->be, ctx, &c->kv, TF_ELEM_ACT, slots * w->params.dec.most.cache, err) != 0)
        return tf_context(err, "cache of %zu positions", slots);
    c->slots = slots;
    return 0;
}

void tf_cache_release(struct tf_cache *c, const struct tf_weights *w, struct tf_ctx *ctx)
{
    if (c->kv != NULL)
        w->be->free(ctx, c->kv);
    *c = (struct tf_cache){0};
}

static int reserve_step(struct tf_work *k, size_t rows, struct tf_err *err)
{
    const struct tf_widths *most = &k->w->params.dec.most;
    const size_t D = (size_t)k->w->config.d_model;
    if (rows <= k->step.cap)
        return 0;
    rows += rows / 4;
    k->step.cap = 0;
    const struct {
        tf_mem **p;
        size_t width;
    } need[] = {{&k->step.x, D},
                {&k->step.y, D},
                {&k->step.u, D},
                {&k->step.in, most->in},
                {&k->step.o, most->o}};
    for (size_t i = 0; i < sizeof need / sizeof *need; i++)
        if (ensure(k->be, k->ctx, need[i].p, TF_ELEM_ACT, rows * need[i].width, err) != 0)
            return tf_context(err, "activations of %zu hypotheses", rows);
    k->step.cap = rows;
    return 0;
}

int tf_decode_step(struct tf_work *k, const struct tf_memory *m, struct tf_cache *cache,
                   const struct tf_decode_step *s, struct tf_err *err)
{
    const struct tf_params *t = &k->w->params;
    const int D = (int)k->w->config.d_model;
    const float scale = tf_config_embedding_scale(&k->w->config);
    if (reserve_step(k, s->rows, err) != 0)
        return -1;
    const tf_mem *pos = t->tgt_pos >= 0 ? tf_weight(k, t->tgt_pos) : k->w->sinusoids;
    if (k->w->tables_packed)
        k->be->embed_packed(k->ctx, k->step.x, s->ids, s->at, k->w->packed[t->tgt_embed], pos,
                            s->rows, scale);
    else
        k->be->embed_rows(k->ctx, k->step.x, s->ids, s->at, tf_weight(k, t->tgt_embed), pos,
                          s->rows, D, scale);
    const struct tf_decoding d = {.memory = m, .cache = cache, .now = s};
    tf_linear_rows(k, s->z, tf_decoder_step(k, &d, s->rows), t->project, t->project_b, s->rows,
                   TF_LIN_STAT);
    return 0;
}
