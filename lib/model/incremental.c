/* incremental.c - decoding: encode a group once, then one target position at a time. */
#include "model/incremental.h"
#include "base/memory.h"
#include "model/stack_private.h"
#include "model/work_private.h"

#include <stdlib.h>
#include <string.h>

/* New memory of n elements in place of *p. */
static int ensure(const struct tf_backend *be, struct tf_ctx *ctx, tf_mem **p, enum tf_elem e,
                  size_t n, struct tf_err *err)
{
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
    uint32_t *ids = tf_xarray(NULL, rows, sizeof *ids);
    m->off[0] = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t S = off[i + 1] - off[i];
        memcpy(ids + m->off[i], src + off[i], S * sizeof *ids);
        if (c->source_eos)
            ids[m->off[i] + S] = (uint32_t)c->eos;
        m->off[i + 1] = m->off[i] + S + end;
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
        k->dropout = false;
        rc = tf_work_load_side(k, &k->enc, ids, m->off, n, err);
        if (k->be->sync(k->ctx, err) != 0) /* ids may be freed */
            rc = -1;
        tf_cross_kv_fwd(k, m->kv, tf_encoder_fwd(k));
    }
    free(ids);
    return rc;
}

int tf_encode_into(struct tf_work *k, struct tf_memory *m, struct tf_memory *fresh,
                   const size_t *place, size_t n, const uint32_t *src, const uint32_t *off,
                   struct tf_err *err)
{
    if (tf_encode(k, fresh, n, src, off, err) < 0)
        return -1;
    uint32_t *to = tf_xarray(NULL, fresh->rows, sizeof *to);
    for (size_t i = 0; i < n; i++) {
        const uint32_t from = fresh->off[i], rows = fresh->off[i + 1] - from;
        TF_ASSERT(rows <= m->off[place[i] + 1] - m->off[place[i]]);
        for (uint32_t r = 0; r < rows; r++)
            to[from + r] = m->off[place[i]] + r;
    }
    tf_mem *ids = k->enc.ids; /* which have been used */
    k->be->upload(k->ctx, ids, TF_ELEM_U32, to, fresh->rows);
    k->be->scatter_rows(k->ctx, m->kv, m->ld, fresh->kv, m->ld, ids, fresh->rows, m->ld);
    const int rc = k->be->sync(k->ctx, err);
    free(to);
    return rc;
}

void tf_memory_release(struct tf_memory *m, const struct tf_backend *be, struct tf_ctx *ctx)
{
    be->free(ctx, m->kv);
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

void tf_cache_release(struct tf_cache *c, const struct tf_backend *be, struct tf_ctx *ctx)
{
    be->free(ctx, c->kv);
    *c = (struct tf_cache){0};
}

/* Arrays of packed weights are freed with their lane: each is half as large again as the last. */
static int reserve_outputs(struct tf_outputs *o, const struct tf_weights *w, struct tf_ctx *ctx,
                           size_t n, struct tf_err *err)
{
    const struct tf_param *p = &w->params.v[w->params.project];
    const size_t all = (size_t)p->dims[p->outputs];
    if (n <= o->cap)
        return 0;
    n = n + n / 2 < all ? n + n / 2 : all;
    tf_outputs_release(o, w->be, ctx);
    o->w = w->be->pack_new(ctx, (int)p->dims[!p->outputs], (int)n, 0, err);
    if (o->w == NULL ||
        (w->params.project_b >= 0 && ensure(w->be, ctx, &o->b, TF_ELEM_PARAM, n, err) != 0))
        return tf_context(err, "weights of %zu outputs", n);
    o->cap = n;
    return 0;
}

int tf_outputs_select(struct tf_outputs *o, const struct tf_weights *w, struct tf_ctx *ctx,
                      const uint32_t *ids, size_t n, struct tf_err *err)
{
    const struct tf_backend *be = w->be;
    TF_ASSERT(be->host && w->selects);
    if (reserve_outputs(o, w, ctx, n, err) != 0)
        return -1;
    be->pack_select(ctx, o->w, w->packed[w->params.project], ids, n);
    for (size_t i = 0; o->b != NULL && i < n; i++)
        be->copy(ctx, tf_at(be, TF_ELEM_PARAM, o->b, i), TF_ELEM_PARAM,
                 tf_at(be, TF_ELEM_PARAM, tf_weights_at(w, w->params.project_b), ids[i]), 1);
    o->n = n;
    return 0;
}

void tf_outputs_release(struct tf_outputs *o, const struct tf_backend *be, struct tf_ctx *ctx)
{
    be->pack_free(ctx, o->w);
    be->free(ctx, o->b);
    *o = (struct tf_outputs){0};
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
    const struct tf_stack *dec = &t->dec;
    const float scale = tf_config_embedding_scale(&k->w->config);
    if (reserve_step(k, s->rows, err) != 0)
        return -1;
    if (k->w->tables_packed)
        k->be->embed_packed(k->ctx, k->step.x, s->ids, s->at, k->w->packed[dec->table],
                            tf_positions(k, dec), s->rows, scale);
    else
        k->be->embed_rows(k->ctx, k->step.x, s->ids, s->at, tf_weight(k, dec->table),
                          tf_positions(k, dec), s->rows, (int)k->w->config.d_model, scale);
    const struct tf_decoding d = {.memory = m, .cache = cache, .now = s};
    const tf_mem *y = tf_decoder_step(k, &d, s->rows);
    if (s->outputs != NULL)
        k->be->linear_packed(k->ctx, s->z, y, s->outputs->w, s->outputs->b, s->rows, TF_LIN_STAT);
    else if (s->lists != NULL)
        k->be->linear_listed(k->ctx, s->z, y, k->w->packed[t->project], tf_weight(k, t->project_b),
                             s->lists);
    else
        tf_linear_rows(k, s->z, y, t->project, t->project_b, s->rows, TF_LIN_STAT);
    return 0;
}
