/* ssru.c - a simpler simple recurrent unit in place of the decoder's self-attention (ops/backend.h
 * has the equations of its cells). It has no last map. */
#include "model/incremental.h"
#include "model/sublayer_private.h"

/* [D, 2D] for x and z, and the bias of z [D]. */
static void add_ssru(struct tf_params *p, const struct tf_config *c, struct tf_step *s,
                     const char *name)
{
    const int64_t D = c->d_model, out = c->initializer == TF_INITIALIZER_GLOROT ? D : 2 * D;
    const size_t cells = (size_t)D;
    s->width = (struct tf_widths){.in = 2 * cells, .kept = cells, .cache = cells};
    s->in_w = tf_add_param(p, D, 2 * D, TF_INIT_GLOROT, tf_glorot(D, out), name, "ssru.w");
    s->in_b = tf_add_param(p, D, 0, TF_INIT_ZERO, 0, name, "ssru.b");
    s->out_w = s->out_b = -1;
}

static void ssru_fwd(struct tf_work *k, struct tf_stack_acts *side, const struct tf_step_acts *a,
                     const tf_mem *in)
{
    tf_linear_fwd(k, a->in, in, a->step->in_w, -1, side, 0, TF_NO_DROPOUT);
    k->be->ssru_fwd(k->ctx, side->u, k->training ? a->o : NULL, a->in, tf_weight(k, a->step->in_b),
                    side->rows, (int)k->w->config.d_model);
}

static void ssru_bwd(struct tf_work *k, struct tf_stack_acts *side, const struct tf_step_acts *a,
                     const tf_mem *in, tf_mem *din, bool add)
{
    const int b = a->step->in_b;
    k->be->ssru_bwd(k->ctx, side->d_in, tf_grad(k, b), side->du, a->in, a->o, tf_weight(k, b),
                    side->rows, (int)k->w->config.d_model);
    tf_linear_bwd(k, din, side->d_in, in, a->step->in_w, -1, side, add ? TF_LIN_ADD_DX : 0,
                  TF_NO_DROPOUT);
}

static void ssru_decode(struct tf_work *k, const struct tf_decoding *d, const struct tf_step *s,
                        const tf_mem *in, tf_mem *u)
{
    const struct tf_decode_step *now = d->now;
    tf_mem *cells = tf_at(k->be, TF_ELEM_ACT, d->cache->kv, s->cache_at * d->cache->slots);
    tf_linear_rows(k, k->step.in, in, s->in_w, -1, now->rows, 0);
    k->be->ssru_rows(k->ctx, u, cells, k->step.in, tf_weight(k, s->in_b), now->slot, now->table,
                     now->table_ld, now->n_past, now->rows, (int)k->w->config.d_model);
}

const struct tf_sublayer tf_ssru = {add_ssru, ssru_fwd, ssru_bwd, ssru_decode};
