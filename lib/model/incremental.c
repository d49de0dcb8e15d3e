/* incremental.c - decoding: encode a group once, then one target position at a time. */
#include "model/incremental.h"
#include "base/memory.h"
#include "model/stack_private.h"
#include "model/work_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* New memory of n elements in place of *p. */
static int ensure(const struct tf_backend *be, struct tf_ctx *ctx, tf_mem **p, enum tf_elem e,
                  size_t n, struct tf_err *err)
{
    if (*p)
        be->free(ctx, *p);
    *p = be->alloc(ctx, e, n, err);
    return *p ? 0 : -1;
}

int tf_encode(struct tf_work *k, struct tf_memory *m, size_t n, const uint32_t *src,
              const uint32_t *off, struct tf_err *err)
{
    const struct tf_config *c = &k->w->config;
    const uint32_t end = c->source_eos;
    size_t rows = off[n] - off[0] + n * end;
    if (tf_work_reserve(k, n, rows, 0, false, err) < 0)
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
    if (m->kv)
        w->be->free(ctx, m->kv);
    free(m->off);
    *m = (struct tf_memory){0};
}

/* Elements of a slot in one layer. */
static size_t layer_width(const struct tf_config *c)
{
    return tf_is_recurrent(c) ? (size_t)c->d_model : tf_kv_width(c);
}

size_t tf_cache_width(const struct tf_config *c)
{
    return (size_t)c->decoder_layers * layer_width(c);
}

int tf_cache_init(struct tf_cache *c, const struct tf_weights *w, struct tf_ctx *ctx, size_t slots,
                  struct tf_err *err)
{
    if (slots <= c->slots)
        return 0;
    c->slots = 0;
    if (ensure(w->be, ctx, &c->kv, TF_ELEM_ACT, slots * tf_cache_width(&w->config), err) < 0)
        return tf_context(err, "cache of %zu positions", slots);
    c->slots = slots;
    return 0;
}

void tf_cache_release(struct tf_cache *c, const struct tf_weights *w, struct tf_ctx *ctx)
{
    if (c->kv)
        w->be->free(ctx, c->kv);
    *c = (struct tf_cache){0};
}

static int reserve_step(struct tf_work *k, size_t rows, struct tf_err *err)
{
    const struct tf_config *c = &k->w->config;
    if (rows <= k->step.cap)
        return 0;
    rows += rows / 4;
    k->step.cap = 0;
    size_t D = (size_t)c->d_model, hk = tf_k_width(c), hv = (size_t)(c->heads * c->d_v);
    const struct {
        tf_mem **p;
        size_t width;
    } need[] = {
        {&k->step.x, D},
        {&k->step.sum, D},
        {&k->step.y, D},
        {&k->step.in, tf_is_recurrent(c) ? 2 * D : 2 * hk + hv},
        {&k->step.o, hv},
        {&k->step.q, hk},
        {&k->step.hidden, (size_t)c->d_ff},
    };
    for (size_t i = 0; i < sizeof need / sizeof *need; i++)
        if (ensure(k->be, k->ctx, need[i].p, TF_ELEM_ACT, rows * need[i].width, err) < 0)
            return tf_context(err, "activations of %zu hypotheses", rows);
    k->step.cap = rows;
    return 0;
}

/* y = x w + b with the packed matrix. */
static void linear(struct tf_work *k, tf_mem *y, const tf_mem *x, int w, int b, size_t rows,
                   unsigned flags)
{
    k->be->linear_packed(k->ctx, y, x, k->w->packed[w], tf_weight(k, b), rows, flags);
}

/* The state between sublayers: `in` feeds the next sublayer, `res` is what its output is added
 * to. */
struct flow {
    tf_mem *in, *res;
    size_t rows;
};

/* u = step.sum holds the sublayer's output; norm of that sublayer (post) or of the next one
 * (pre). */
static void add_norm(struct tf_work *k, struct flow *f, tf_mem *u, int gain, int bias)
{
    const struct tf_config *c = &k->w->config;
    if (c->pre_norm) { /* res += u; in = norm(res) */
        k->be->add_norm_rows(k->ctx, f->res, f->in, u, f->res, tf_weight(k, gain),
                             tf_weight(k, bias), f->rows, (int)c->d_model, (float)c->norm_eps);
        return;
    }
    tf_mem *out = f->in == k->step.x ? k->step.y : k->step.x;
    k->be->add_norm_rows(k->ctx, NULL, out, u, f->in, tf_weight(k, gain), tf_weight(k, bias),
                         f->rows, (int)c->d_model, (float)c->norm_eps);
    f->in = f->res = out;
}

static struct tf_cached_attention cached_attention_args(struct tf_work *k)
{
    const struct tf_config *c = &k->w->config;
    return (struct tf_cached_attention){
        .o = k->step.o,
        .ldo = (size_t)(c->heads * c->d_v),
        .heads = (int)c->heads,
        .dk = (int)c->d_k,
        .dv = (int)c->d_v,
    };
}

static void self_step(struct tf_work *k, struct tf_cache *cache, const struct tf_decode_step *s,
                      int layer, tf_mem *in, tf_mem *u)
{
    const struct tf_config *c = &k->w->config;
    const struct tf_attention_params *p = &k->w->params.dec[layer].self;
    size_t hk = tf_k_width(c), width = tf_kv_width(c), ld = hk + width;
    tf_mem *kv = tf_at(k->be, TF_ELEM_ACT, cache->kv, (size_t)layer * cache->slots * width);
    linear(k, k->step.in, in, p->in_w, p->in_b, s->rows, 0);
    k->be->scatter_rows(k->ctx, kv, width, tf_at(k->be, TF_ELEM_ACT, k->step.in, hk), ld, s->slot,
                        s->rows, width);
    struct tf_cached_attention a = cached_attention_args(k);
    a.q = k->step.in;
    a.ldq = ld;
    a.k = kv;
    a.v = tf_at(k->be, TF_ELEM_ACT, kv, hk);
    a.ldk = a.ldv = width;
    a.table = s->table;
    a.table_ld = s->table_ld;
    a.n_keys = s->n_past;
    a.window = (int)c->attention_window;
    k->be->cached_attention(k->ctx, &a, s->rows);
    linear(k, u, k->step.o, p->out_w, p->out_b, s->rows, 0);
}

static void ssru_step(struct tf_work *k, struct tf_cache *cache, const struct tf_decode_step *s,
                      int layer, tf_mem *in, tf_mem *u)
{
    const struct tf_attention_params *p = &k->w->params.dec[layer].self;
    const size_t D = (size_t)k->w->config.d_model;
    linear(k, k->step.in, in, p->in_w, -1, s->rows, 0);
    tf_mem *cells = tf_at(k->be, TF_ELEM_ACT, cache->kv, (size_t)layer * cache->slots * D);
    k->be->ssru_rows(k->ctx, u, cells, k->step.in, tf_weight(k, p->in_b), s->slot, s->table,
                     s->table_ld, s->n_past, s->rows, (int)D);
}

static void cross_step(struct tf_work *k, const struct tf_memory *m, const struct tf_decode_step *s,
                       int layer, tf_mem *in, tf_mem *u)
{
    const struct tf_config *c = &k->w->config;
    const struct tf_attention_params *p = &k->w->params.dec[layer].cross;
    size_t hk = tf_k_width(c), at = (size_t)layer * tf_kv_width(c);
    linear(k, k->step.q, in, p->in_w, p->in_b, s->rows, 0);
    struct tf_cached_attention a = cached_attention_args(k);
    a.q = k->step.q;
    a.ldq = hk;
    a.k = tf_at(k->be, TF_ELEM_ACT, m->kv, at);
    a.v = tf_at(k->be, TF_ELEM_ACT, m->kv, at + hk);
    a.ldk = a.ldv = m->ld;
    a.first = s->first;
    a.n_keys = s->n_src;
    k->be->cached_attention(k->ctx, &a, s->rows);
    linear(k, u, k->step.o, p->out_w, p->out_b, s->rows, 0);
}

static void ff_step(struct tf_work *k, int layer, size_t rows, tf_mem *in, tf_mem *u)
{
    const struct tf_ff_params *p = &k->w->params.dec[layer].ff;
    const bool swish = k->w->config.activation == TF_ACTIVATION_SWISH;
    linear(k, k->step.hidden, in, p->w1, p->b1, rows, swish ? 0 : TF_LIN_RELU);
    if (swish)
        k->be->swish_rows(k->ctx, k->step.hidden, k->step.hidden, rows,
                          (int)k->w->config.d_ff);
    linear(k, u, k->step.hidden, p->w2, p->b2, rows, 0);
}

int tf_decode_step(struct tf_work *k, const struct tf_memory *m, struct tf_cache *cache,
                   const struct tf_decode_step *s, struct tf_err *err)
{
    const struct tf_config *c = &k->w->config;
    const struct tf_params *t = &k->w->params;
    if (reserve_step(k, s->rows, err) < 0)
        return -1;
    const tf_mem *pos = t->tgt_pos >= 0 ? tf_weight(k, t->tgt_pos) : k->w->sinusoids;
    int D = (int)c->d_model;
    bool pre = c->pre_norm;
    const float scale = (float)sqrt((double)c->d_model);
    if (k->w->tables_packed)
        k->be->embed_packed(k->ctx, k->step.x, s->ids, s->at, k->w->packed[t->tgt_embed], pos,
                            s->rows, scale);
    else
        k->be->embed_rows(k->ctx, k->step.x, s->ids, s->at, tf_weight(k, t->tgt_embed), pos,
                          s->rows, D, scale);
    struct flow f = {.in = k->step.x, .res = k->step.x, .rows = s->rows};
    tf_mem *u = k->step.sum;
    if (pre) {
        f.in = k->step.y;
        k->be->add_norm_rows(k->ctx, NULL, f.in, NULL, f.res, tf_weight(k, t->dec[0].self.norm_g),
                             tf_weight(k, t->dec[0].self.norm_b), s->rows, D, (float)c->norm_eps);
    }
    for (int l = 0; l < c->decoder_layers; l++) {
        const struct tf_layer_params *p = &t->dec[l];
        bool last = l + 1 == c->decoder_layers;
        (tf_is_recurrent(c) ? ssru_step : self_step)(k, cache, s, l, f.in, u);
        add_norm(k, &f, u, pre ? p->cross.norm_g : p->self.norm_g,
                 pre ? p->cross.norm_b : p->self.norm_b);
        cross_step(k, m, s, l, f.in, u);
        add_norm(k, &f, u, pre ? p->ff.norm_g : p->cross.norm_g,
                 pre ? p->ff.norm_b : p->cross.norm_b);
        ff_step(k, l, s->rows, f.in, u);
        int next_g = last ? t->dec_norm_g : t->dec[l + !last].self.norm_g;
        int next_b = last ? t->dec_norm_b : t->dec[l + !last].self.norm_b;
        add_norm(k, &f, u, pre ? next_g : p->ff.norm_g, pre ? next_b : p->ff.norm_b);
    }
    if (!pre && c->final_norm) {
        tf_mem *out = f.in == k->step.x ? k->step.y : k->step.x;
        k->be->add_norm_rows(k->ctx, NULL, out, NULL, f.in, tf_weight(k, t->dec_norm_g),
                             tf_weight(k, t->dec_norm_b), s->rows, D, (float)c->norm_eps);
        f.in = out;
    }
    linear(k, s->z, f.in, t->project, t->project_b, s->rows, TF_LIN_STAT);
    return 0;
}
