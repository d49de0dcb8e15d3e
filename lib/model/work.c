/* work.c - memory of a lane's activations, reserved for the largest batch so far and freed as a
 * whole. */
#include "base/memory.h"
#include "model/acts_private.h"
#include "model/work.h"
#include "model/work_private.h"

#include <stdlib.h>
#include <string.h>

struct tf_work *tf_work_new(const struct tf_weights *w, struct tf_ctx *ctx)
{
    struct tf_work *k = tf_xcalloc(1, sizeof *k);
    k->w = w;
    k->be = w->be;
    k->ctx = ctx;
    return k;
}

static void free_stack(struct tf_work *k, struct tf_stack_acts *s)
{
    if (s->rows)
        k->be->rows_free(k->ctx, s->rows);
    free(s->norms);
    free(s->layers);
    *s = (struct tf_stack_acts){0};
}

static void free_buffers(struct tf_work *k)
{
    for (size_t i = 0; i < k->n_owned; i++)
        k->be->free(k->ctx, k->owned[i]);
    free(k->owned);
    k->owned = NULL;
    k->n_owned = 0;
    k->bytes = k->cap_src = k->cap_tgt = k->cap_n = 0;
    free_stack(k, &k->enc);
    free_stack(k, &k->dec);
}

static void free_step(struct tf_work *k)
{
    tf_mem *all[] = {k->step.x, k->step.sum, k->step.y,     k->step.in,
                     k->step.o, k->step.q,   k->step.hidden};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i])
            k->be->free(k->ctx, all[i]);
    memset(&k->step, 0, sizeof k->step);
}

void tf_work_free(struct tf_work *k)
{
    if (!k)
        return;
    free_buffers(k);
    free_step(k);
    for (int i = 0; i < TF_ATTENTION_KINDS; i++)
        k->be->free(k->ctx, k->watch.mem[i]);
    k->be->free(k->ctx, k->shared_kv);
    free(k);
}

size_t tf_work_bytes(const struct tf_work *k)
{
    return k->most;
}

/* A buffer that lives until the next free_buffers; after a failure (err is set) all further ones
 * are NULL. */
static tf_mem *own(struct tf_work *k, enum tf_elem e, size_t n, struct tf_err *err)
{
    if (err->status)
        return NULL;
    k->bytes += n * k->be->elem_size[e];
    if (k->counting)
        return NULL;
    tf_mem *p = k->be->alloc(k->ctx, e, n ? n : 1, err);
    if (!p)
        return NULL;
    k->owned = tf_xarray(k->owned, k->n_owned + 1, sizeof *k->owned);
    k->owned[k->n_owned++] = p;
    k->most = k->bytes > k->most ? k->bytes : k->most;
    return p;
}

static tf_mem *own_acts(struct tf_work *k, size_t rows, int64_t columns, struct tf_err *err)
{
    return own(k, TF_ELEM_ACT, rows * (size_t)columns, err);
}

static void make_norm(struct tf_work *k, struct tf_norm_acts *a, size_t rows, bool sum,
                      struct tf_err *err)
{
    a->y = own_acts(k, rows, k->w->config.d_model, err);
    if (sum)
        a->s = own_acts(k, rows, k->w->config.d_model, err);
    if (k->backward) {
        a->mean = own(k, TF_ELEM_STAT, rows, err);
        a->rstd = own(k, TF_ELEM_STAT, rows, err);
    }
}

/* in_columns: of the input projections. */
static void make_attention(struct tf_work *k, struct tf_attention_acts *a, size_t rows,
                           int64_t in_columns, struct tf_err *err)
{
    const struct tf_config *c = &k->w->config;
    a->in = own_acts(k, rows, in_columns, err);
    a->o = own_acts(k, rows, c->heads * c->d_v, err);
    if (k->backward)
        a->lse = own(k, TF_ELEM_STAT, rows * (size_t)c->heads, err);
}

static void make_ssru(struct tf_work *k, struct tf_attention_acts *a, size_t rows,
                      struct tf_err *err)
{
    a->in = own_acts(k, rows, 2 * k->w->config.d_model, err);
    if (k->backward)
        a->o = own_acts(k, rows, k->w->config.d_model, err);
}

static void make_gradients(struct tf_work *k, struct tf_stack_acts *s, size_t rows,
                           struct tf_err *err)
{
    const struct tf_config *c = &k->w->config;
    s->du = own_acts(k, rows, c->d_model, err);
    s->ds = own_acts(k, rows, c->d_model, err);
    s->dy = own_acts(k, rows, c->d_model, err);
    s->d_o = own_acts(k, rows, c->heads * c->d_v, err);
    int64_t in = c->heads * (2 * c->d_k + c->d_v);
    if (tf_is_decoder(k, s) && tf_is_recurrent(c) && in < 2 * c->d_model)
        in = 2 * c->d_model;
    s->d_in = own_acts(k, rows, in, err);
    s->d_hidden = own_acts(k, rows, c->d_ff, err);
    if (c->activation == TF_ACTIVATION_SWISH)
        s->swished = own_acts(k, rows, c->d_ff, err);
}

/* Buffers of one stack. Without a backward pass all layers share one set, outputs of norms
 * alternate between two, and all norms of a pre-norm stack share one sum. */
static void make_stack(struct tf_work *k, struct tf_stack_acts *s, bool decoder, size_t rows,
                       size_t n, struct tf_err *err)
{
    const struct tf_config *c = &k->w->config;
    size_t layers = (size_t)(decoder ? c->decoder_layers : c->encoder_layers);
    size_t norms = layers * (decoder ? 3 : 2) + (c->final_norm ? 1 : 0);
    bool train = k->backward;
    s->rows = err->status || k->counting ? NULL : k->be->rows_new(k->ctx, rows, n, err);
    s->norms = tf_xcalloc(norms, sizeof *s->norms);
    s->layers = tf_xcalloc(layers, sizeof *s->layers);
    s->embed = own_acts(k, rows, c->d_model, err);
    s->u = own_acts(k, rows, c->d_model, err);
    for (size_t i = 0; i < norms; i++) {
        struct tf_norm_acts *a = &s->norms[i];
        if (!train && i >= 2) {
            *a = s->norms[i % 2];
            continue;
        }
        make_norm(k, a, rows, train || (c->pre_norm && i == 0), err);
        if (!train && c->pre_norm && i == 1)
            a->s = s->norms[0].s;
    }
    for (size_t l = 0; l < layers; l++) {
        struct tf_layer_acts *a = &s->layers[l];
        if (!train && l >= 1) {
            *a = s->layers[0];
            continue;
        }
        if (decoder && tf_is_recurrent(c))
            make_ssru(k, &a->self, rows, err);
        else
            make_attention(k, &a->self, rows, c->heads * (2 * c->d_k + c->d_v), err);
        if (decoder)
            make_attention(k, &a->cross, rows, c->heads * c->d_k, err);
        a->hidden = own_acts(k, rows, c->d_ff, err);
    }
    if (train)
        make_gradients(k, s, rows, err);
}

static void make_encoder(struct tf_work *k, size_t rows, size_t n, struct tf_err *err)
{
    make_stack(k, &k->enc, false, rows, n, err);
    k->src = own(k, TF_ELEM_U32, rows, err);
    k->src_at = k->w->tables_packed ? own(k, TF_ELEM_U32, rows, err) : NULL;
}

size_t tf_encoder_token_bytes(const struct tf_weights *w)
{
    struct tf_work k = {.w = w, .be = w->be, .counting = true};
    struct tf_err none = {0};
    make_encoder(&k, 1, 1, &none);
    free_stack(&k, &k.enc);
    return k.bytes;
}

static void make_buffers(struct tf_work *k, size_t n, size_t src_rows, size_t tgt_rows,
                         struct tf_err *err)
{
    const struct tf_config *c = &k->w->config;
    size_t kv = (size_t)c->decoder_layers * (size_t)(c->heads * (c->d_k + c->d_v));
    make_encoder(k, src_rows, n, err);
    if (tgt_rows == 0)
        return;
    make_stack(k, &k->dec, true, tgt_rows, n, err);
    k->kv = own(k, TF_ELEM_ACT, src_rows * kv, err);
    k->dkv = k->backward ? own(k, TF_ELEM_ACT, src_rows * kv, err) : NULL;
    k->tgt_in = own(k, TF_ELEM_U32, tgt_rows, err);
    k->tgt_out = own(k, TF_ELEM_U32, tgt_rows, err);
    k->acc = own(k, TF_ELEM_F64, 4, err);
    k->logp = own(k, TF_ELEM_STAT, tgt_rows, err);
}

size_t tf_work_training_bytes(const struct tf_backend *be, const struct tf_config *c,
                              size_t src_rows, size_t tgt_rows)
{
    struct tf_weights w = {.be = be, .config = *c};
    struct tf_work k = {.w = &w, .be = be, .counting = true, .backward = true};
    struct tf_err none = {0};
    make_buffers(&k, 1, src_rows, tgt_rows, &none);
    free_stack(&k, &k.enc);
    free_stack(&k, &k.dec);
    return k.bytes;
}

/* Room to grow. */
static size_t rows_for(size_t n)
{
    return tf_rows_round_up(n + n / 8);
}

int tf_work_reserve(struct tf_work *k, size_t n, size_t src_rows, size_t tgt_rows, bool training,
                    struct tf_err *err)
{
    k->training = training;
    if (n <= k->cap_n && src_rows <= k->cap_src && tgt_rows <= k->cap_tgt &&
        (k->backward || !training) && k->n_owned)
        return 0;
    bool same = training == k->backward;
    size_t cap_n = n + n / 8, cap_src = rows_for(src_rows), cap_tgt = rows_for(tgt_rows);
    if (same) { /* keep what one side already has */
        cap_n = cap_n > k->cap_n ? cap_n : k->cap_n;
        cap_src = cap_src > k->cap_src ? cap_src : k->cap_src;
        cap_tgt = cap_tgt > k->cap_tgt ? cap_tgt : k->cap_tgt;
    }
    free_buffers(k);
    struct tf_err e = {0};
    k->backward = training;
    make_buffers(k, cap_n, cap_src, cap_tgt, &e);
    if (e.status) {
        free_buffers(k);
        *err = e;
        return tf_context(err, "activations of %zu source and %zu target tokens", src_rows,
                          tgt_rows);
    }
    k->cap_n = cap_n;
    k->cap_src = cap_src;
    k->cap_tgt = cap_tgt;
    return 0;
}

int tf_work_load(struct tf_work *k, const struct tf_pairs *p, size_t from, size_t to, bool training,
                 struct tf_err *err)
{
    size_t n = to - from, s = p->src_off[to] - p->src_off[from],
           t = p->tgt_off[to] - p->tgt_off[from];
    size_t positions = k->w->config.positions == TF_POS_LEARNED ? (size_t)k->w->config.max_positions
                                                                : k->w->pos_rows;
    if (p->longest > positions)
        TF_BUG("positions for %zu rows, %zu needed", positions, p->longest);
    if (tf_work_reserve(k, n, s, t, training, err) < 0)
        return -1;
    k->enc.n = s;
    k->dec.n = t;
    k->be->rows_set(k->ctx, k->enc.rows, n, p->src_off + from);
    k->be->rows_set(k->ctx, k->dec.rows, n, p->tgt_off + from);
    k->be->upload(k->ctx, k->src, TF_ELEM_U32, p->src + p->src_off[from], s);
    k->be->upload(k->ctx, k->tgt_in, TF_ELEM_U32, p->tgt_in + p->tgt_off[from], t);
    k->be->upload(k->ctx, k->tgt_out, TF_ELEM_U32, p->tgt_out + p->tgt_off[from], t);
    return 0;
}

tf_mem *tf_watched(const struct tf_work *k, enum tf_attention_kind kind, int layer)
{
    const struct tf_watch *w = k->watch.what;
    size_t before = 0; /* watched layers */
    if (w == NULL || w->layers[kind] == NULL || !w->layers[kind][layer])
        return NULL;
    for (int l = 0; l < layer; l++)
        before += w->layers[kind][l];
    return tf_at(k->be, TF_ELEM_STAT, k->watch.mem[kind], before * k->watch.each[kind]);
}
