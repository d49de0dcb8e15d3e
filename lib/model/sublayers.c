/* sublayers.c - self-attention, attention over the encoder's output, feed-forward: each forward
 * beside its backward. Paper, sections 3.2 and 3.3. Gradients of weights are overwritten: every
 * weight is used once in a pass. */
#include "model/work.h"

static const struct tf_config *config(const struct tf_work *k)
{
    return &k->w->config;
}

static bool is_decoder(const struct tf_work *k, const struct tf_stack_acts *side)
{
    return side == &k->dec;
}

static const struct tf_layer_params *layer_params(const struct tf_work *k,
                                                  const struct tf_stack_acts *side, int layer)
{
    return is_decoder(k, side) ? &k->w->params.dec[layer] : &k->w->params.enc[layer];
}

void tf_linear(struct tf_work *k, tf_mem *y, const tf_mem *x, int w, int b,
               const struct tf_stack_acts *side, unsigned flags, struct tf_dropout dropout)
{
    const struct tf_param *p = &k->w->params.v[w];
    if (!k->training && k->w->packed)
        k->be->linear_packed(k->ctx, y, x, k->w->packed[w], tf_weight(k, b), side->n, flags);
    else
        k->be->linear_fwd(k->ctx, y, x, tf_weight(k, w), tf_weight(k, b), side->rows,
                          (int)p->dims[1], (int)p->dims[0], flags, dropout);
}

static void linear_bwd(struct tf_work *k, tf_mem *dx, tf_mem *dy, const tf_mem *x, int w, int b,
                       const struct tf_stack_acts *side, unsigned flags, struct tf_dropout dropout)
{
    const struct tf_param *p = &k->w->params.v[w];
    k->be->linear_bwd(k->ctx, dx, tf_grad(k, w), tf_grad(k, b), dy, x, tf_weight(k, w), side->rows,
                      (int)p->dims[1], (int)p->dims[0], flags, dropout);
}

static const struct tf_dropout no_dropout;

/* ---- self-attention: u = Attention(x Wq, x Wk, x Wv) Wo ---- */

static struct tf_attention self_args(struct tf_work *k, struct tf_stack_acts *side, int layer)
{
    const struct tf_config *c = config(k);
    struct tf_attention_acts *a = &side->layers[layer].self;
    size_t hk = (size_t)(c->heads * c->d_k), hv = (size_t)(c->heads * c->d_v), ld = 2 * hk + hv;
    return (struct tf_attention){
        .q_rows = side->rows,
        .k_rows = side->rows,
        .q = a->in,
        .k = tf_at(k->be, TF_ELEM_ACT, a->in, hk),
        .v = tf_at(k->be, TF_ELEM_ACT, a->in, 2 * hk),
        .o = a->o,
        .ldq = ld,
        .ldk = ld,
        .ldv = ld,
        .ldo = hv,
        .heads = (int)c->heads,
        .dk = (int)c->d_k,
        .dv = (int)c->d_v,
        .causal = is_decoder(k, side),
        .window = (int)c->attention_window,
        .dropout = tf_dropout_at(k, c->attention_dropout, layer,
                                 is_decoder(k, side) ? TF_DROPOUT_DEC_SELF_WEIGHTS
                                                     : TF_DROPOUT_ENC_SELF_WEIGHTS),
        .lse = k->training ? a->lse : NULL,
        .probs =
            tf_watched(k, is_decoder(k, side) ? TF_ATTENTION_DECODER : TF_ATTENTION_ENCODER, layer),
    };
}

void tf_self_fwd(struct tf_work *k, struct tf_stack_acts *side, int layer, const tf_mem *in)
{
    const struct tf_attention_params *p = &layer_params(k, side, layer)->self;
    struct tf_attention_acts *a = &side->layers[layer].self;
    tf_linear(k, a->in, in, p->in_w, p->in_b, side, 0, no_dropout);
    struct tf_attention args = self_args(k, side, layer);
    k->be->attention_fwd(k->ctx, &args);
    tf_linear(k, side->u, a->o, p->out_w, p->out_b, side, 0, no_dropout);
}

void tf_self_bwd(struct tf_work *k, struct tf_stack_acts *side, int layer, const tf_mem *in,
                 tf_mem *din, bool add)
{
    const struct tf_attention_params *p = &layer_params(k, side, layer)->self;
    struct tf_attention_acts *a = &side->layers[layer].self;
    linear_bwd(k, side->d_o, side->du, a->o, p->out_w, p->out_b, side, 0, no_dropout);
    struct tf_attention args = self_args(k, side, layer);
    size_t hk = (size_t)(config(k)->heads * config(k)->d_k);
    args.d_o = side->d_o;
    args.dq = side->d_in;
    args.dk_ = tf_at(k->be, TF_ELEM_ACT, side->d_in, hk);
    args.dv_ = tf_at(k->be, TF_ELEM_ACT, side->d_in, 2 * hk);
    k->be->attention_bwd(k->ctx, &args);
    linear_bwd(k, din, side->d_in, in, p->in_w, p->in_b, side, add ? TF_LIN_ADD_DX : 0, no_dropout);
}

/* ---- attention over the encoder's output: queries from the decoder; keys and values lie in k->kv
 * for all layers ---- */

static struct tf_attention cross_args(struct tf_work *k, int layer)
{
    const struct tf_config *c = config(k);
    struct tf_attention_acts *a = &k->dec.layers[layer].cross;
    size_t hk = (size_t)(c->heads * c->d_k), hv = (size_t)(c->heads * c->d_v);
    size_t ld = (size_t)c->decoder_layers * (hk + hv), at = (size_t)layer * (hk + hv);
    return (struct tf_attention){
        .q_rows = k->dec.rows,
        .k_rows = k->enc.rows,
        .q = a->in,
        .k = tf_at(k->be, TF_ELEM_ACT, k->kv, at),
        .v = tf_at(k->be, TF_ELEM_ACT, k->kv, at + hk),
        .o = a->o,
        .ldq = hk,
        .ldk = ld,
        .ldv = ld,
        .ldo = hv,
        .heads = (int)c->heads,
        .dk = (int)c->d_k,
        .dv = (int)c->d_v,
        .dropout = tf_dropout_at(k, c->attention_dropout, layer, TF_DROPOUT_DEC_CROSS_WEIGHTS),
        .lse = k->training ? a->lse : NULL,
        .probs = tf_watched(k, TF_ATTENTION_CROSS, layer),
    };
}

void tf_cross_fwd(struct tf_work *k, int layer, const tf_mem *in)
{
    const struct tf_attention_params *p = &k->w->params.dec[layer].cross;
    struct tf_attention_acts *a = &k->dec.layers[layer].cross;
    tf_linear(k, a->in, in, p->in_w, p->in_b, &k->dec, 0, no_dropout);
    struct tf_attention args = cross_args(k, layer);
    k->be->attention_fwd(k->ctx, &args);
    tf_linear(k, k->dec.u, a->o, p->out_w, p->out_b, &k->dec, 0, no_dropout);
}

void tf_cross_bwd(struct tf_work *k, int layer, const tf_mem *in, tf_mem *din, bool add)
{
    const struct tf_attention_params *p = &k->w->params.dec[layer].cross;
    struct tf_attention_acts *a = &k->dec.layers[layer].cross;
    size_t hk = (size_t)(config(k)->heads * config(k)->d_k),
           hv = (size_t)(config(k)->heads * config(k)->d_v);
    size_t at = (size_t)layer * (hk + hv);
    linear_bwd(k, k->dec.d_o, k->dec.du, a->o, p->out_w, p->out_b, &k->dec, 0, no_dropout);
    struct tf_attention args = cross_args(k, layer);
    args.d_o = k->dec.d_o;
    args.dq = k->dec.d_in;
    args.dk_ = tf_at(k->be, TF_ELEM_ACT, k->dkv, at);
    args.dv_ = tf_at(k->be, TF_ELEM_ACT, k->dkv, at + hk);
    k->be->attention_bwd(k->ctx, &args);
    linear_bwd(k, din, k->dec.d_in, in, p->in_w, p->in_b, &k->dec, add ? TF_LIN_ADD_DX : 0,
               no_dropout);
}

/* ---- feed-forward: u = max(0, x W1 + b1) W2 + b2 ---- */

static struct tf_dropout relu_dropout(struct tf_work *k, struct tf_stack_acts *side, int layer)
{
    return tf_dropout_at(k, config(k)->relu_dropout, layer,
                         is_decoder(k, side) ? TF_DROPOUT_DEC_RELU : TF_DROPOUT_ENC_RELU);
}

void tf_ff_fwd(struct tf_work *k, struct tf_stack_acts *side, int layer, const tf_mem *in)
{
    const struct tf_ff_params *p = &layer_params(k, side, layer)->ff;
    tf_mem *hidden = side->layers[layer].hidden;
    tf_linear(k, hidden, in, p->w1, p->b1, side, TF_LIN_RELU | (k->training ? TF_LIN_SAVE : 0),
              relu_dropout(k, side, layer));
    tf_linear(k, side->u, hidden, p->w2, p->b2, side, 0, no_dropout);
}

void tf_ff_bwd(struct tf_work *k, struct tf_stack_acts *side, int layer, const tf_mem *in,
               tf_mem *din, bool add)
{
    const struct tf_ff_params *p = &layer_params(k, side, layer)->ff;
    tf_mem *hidden = side->layers[layer].hidden;
    linear_bwd(k, side->d_hidden, side->du, hidden, p->w2, p->b2, side, TF_LIN_FROM_RELU,
               relu_dropout(k, side, layer));
    linear_bwd(k, din, side->d_hidden, in, p->w1, p->b1, side, add ? TF_LIN_ADD_DX : 0, no_dropout);
}
