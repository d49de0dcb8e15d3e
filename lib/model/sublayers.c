/* sublayers.c - the sublayers, each forward next to its backward. Paper, sections 3.2 and 3.3. */
#include "model/sublayers_private.h"
#include "model/work_private.h"

static const struct tf_dropout no_dropout;

static const struct tf_layer_params *layer_params(const struct tf_work *k,
                                                  const struct tf_stack_acts *side, int layer)
{
    return tf_is_decoder(k, side) ? &k->w->params.dec[layer] : &k->w->params.enc[layer];
}

/* ---- products with weights ---- */

void tf_linear_fwd(struct tf_work *k, tf_mem *y, const tf_mem *x, int w, int b,
                   const struct tf_stack_acts *side, unsigned flags, struct tf_dropout dropout)
{
    const struct tf_param *p = &k->w->params.v[w];
    if (!k->training && k->w->packed)
        k->be->linear_packed(k->ctx, y, x, k->w->packed[w], tf_weight(k, b), side->n, flags);
    else
        k->be->linear_fwd(k->ctx, y, x, tf_weight(k, w), tf_weight(k, b), side->rows,
                          (int)p->dims[1], (int)p->dims[0], flags, dropout);
}

void tf_linear_bwd(struct tf_work *k, tf_mem *dx, tf_mem *dy, const tf_mem *x, int w, int b,
                   const struct tf_stack_acts *side, unsigned flags, struct tf_dropout dropout)
{
    const struct tf_param *p = &k->w->params.v[w];
    k->be->linear_bwd(k->ctx, dx, tf_grad(k, w), tf_grad(k, b), dy, x, tf_weight(k, w), side->rows,
                      (int)p->dims[1], (int)p->dims[0], flags, dropout);
}

/* ---- attention: u = Attention(q, k, v) Wo. Self: q, k and v are projections of `in`. Cross: q is;
 * keys and values of all layers were projected from the encoder's output into k->kv ---- */

/* Where the parts of one attention are. */
struct parts {
    const struct tf_attention_params *params;
    struct tf_attention_acts *acts;
    tf_mem *kv, *dkv; /* the first key column, and its gradient */
    size_t ldq, ldkv; /* columns of a row */
};

static struct parts parts(struct tf_work *k, struct tf_stack_acts *side, bool cross, int layer)
{
    const struct tf_config *c = &k->w->config;
    const struct tf_layer_params *p = layer_params(k, side, layer);
    struct tf_layer_acts *a = &side->layers[layer];
    size_t q = tf_k_width(c), kv = tf_kv_width(c), column = (size_t)layer * kv;
    if (cross)
        return (struct parts){
            .params = &p->cross,
            .acts = &a->cross,
            .kv = tf_at(k->be, TF_ELEM_ACT, k->kv, column),
            .dkv = k->training ? tf_at(k->be, TF_ELEM_ACT, k->dkv, column) : NULL,
            .ldq = q,
            .ldkv = (size_t)c->decoder_layers * kv,
        };
    return (struct parts){
        .params = &p->self,
        .acts = &a->self,
        .kv = tf_at(k->be, TF_ELEM_ACT, a->self.in, q),
        .dkv = k->training ? tf_at(k->be, TF_ELEM_ACT, side->d_in, q) : NULL,
        .ldq = q + kv,
        .ldkv = q + kv,
    };
}

static enum tf_dropout_site weights_site(bool decoder, bool cross)
{
    return cross     ? TF_DROPOUT_DEC_CROSS_WEIGHTS
           : decoder ? TF_DROPOUT_DEC_SELF_WEIGHTS
                     : TF_DROPOUT_ENC_SELF_WEIGHTS;
}

static struct tf_attention attention_args(struct tf_work *k, struct tf_stack_acts *side, bool cross,
                                          int layer, const struct parts *at)
{
    const struct tf_config *c = &k->w->config;
    bool decoder = tf_is_decoder(k, side);
    enum tf_attention_kind kind = cross     ? TF_ATTENTION_CROSS
                                  : decoder ? TF_ATTENTION_DECODER
                                            : TF_ATTENTION_ENCODER;
    return (struct tf_attention){
        .q_rows = side->rows,
        .k_rows = cross ? k->enc.rows : side->rows,
        .q = at->acts->in,
        .k = at->kv,
        .v = tf_at(k->be, TF_ELEM_ACT, at->kv, tf_k_width(c)),
        .o = at->acts->o,
        .ldq = at->ldq,
        .ldk = at->ldkv,
        .ldv = at->ldkv,
        .ldo = (size_t)(c->heads * c->d_v),
        .heads = (int)c->heads,
        .dk = (int)c->d_k,
        .dv = (int)c->d_v,
        .causal = decoder && !cross,
        .window = cross ? 0 : (int)c->attention_window,
        .dropout = tf_dropout_at(k, c->attention_dropout, layer, weights_site(decoder, cross)),
        .lse = k->training ? at->acts->lse : NULL,
        .probs = tf_watched(k, kind, layer),
    };
}

static void attention_fwd(struct tf_work *k, struct tf_stack_acts *side, bool cross, int layer,
                          const tf_mem *in)
{
    const struct parts at = parts(k, side, cross, layer);
    const struct tf_attention_params *p = at.params;
    tf_linear_fwd(k, at.acts->in, in, p->in_w, p->in_b, side, 0, no_dropout);
    struct tf_attention args = attention_args(k, side, cross, layer, &at);
    k->be->attention_fwd(k->ctx, &args);
    tf_linear_fwd(k, side->u, at.acts->o, p->out_w, p->out_b, side, 0, no_dropout);
}

static void attention_bwd(struct tf_work *k, struct tf_stack_acts *side, bool cross, int layer,
                          const tf_mem *in, tf_mem *din, bool add)
{
    const struct parts at = parts(k, side, cross, layer);
    const struct tf_attention_params *p = at.params;
    tf_linear_bwd(k, side->d_o, side->du, at.acts->o, p->out_w, p->out_b, side, 0, no_dropout);
    struct tf_attention args = attention_args(k, side, cross, layer, &at);
    args.d_o = side->d_o;
    args.dq = side->d_in;
    args.dk_ = at.dkv;
    args.dv_ = tf_at(k->be, TF_ELEM_ACT, at.dkv, tf_k_width(&k->w->config));
    k->be->attention_bwd(k->ctx, &args);
    tf_linear_bwd(k, din, side->d_in, in, p->in_w, p->in_b, side, add ? TF_LIN_ADD_DX : 0,
                  no_dropout);
}

/* ---- a recurrent unit, in place of the decoder's self-attention ---- */

static void ssru_fwd(struct tf_work *k, struct tf_stack_acts *side, int layer, const tf_mem *in)
{
    const struct tf_attention_params *p = &layer_params(k, side, layer)->self;
    const struct tf_attention_acts *a = &side->layers[layer].self;
    tf_linear_fwd(k, a->in, in, p->in_w, -1, side, 0, no_dropout);
    k->be->ssru_fwd(k->ctx, side->u, k->training ? a->o : NULL, a->in, tf_weight(k, p->in_b),
                    side->rows, (int)k->w->config.d_model);
}

static void ssru_bwd(struct tf_work *k, struct tf_stack_acts *side, int layer, const tf_mem *in,
                     tf_mem *din, bool add)
{
    const struct tf_attention_params *p = &layer_params(k, side, layer)->self;
    const struct tf_attention_acts *a = &side->layers[layer].self;
    k->be->ssru_bwd(k->ctx, side->d_in, tf_grad(k, p->in_b), side->du, a->in, a->o,
                    tf_weight(k, p->in_b), side->rows, (int)k->w->config.d_model);
    tf_linear_bwd(k, din, side->d_in, in, p->in_w, -1, side, add ? TF_LIN_ADD_DX : 0, no_dropout);
}

/* ---- feed-forward: u = f(x W1 + b1) W2 + b2, f = max(0, .) or swish. ReLU's `hidden` is its
 * result, from which its gradient follows. Swish's is what goes in: its result is computed again in
 * the backward pass, into a buffer that all layers share ---- */

static bool swishes(const struct tf_work *k)
{
    return k->w->config.activation == TF_ACTIVATION_SWISH;
}

static struct tf_dropout relu_dropout(const struct tf_work *k, const struct tf_stack_acts *side,
                                      int layer)
{
    return tf_dropout_at(k, k->w->config.relu_dropout, layer,
                         tf_is_decoder(k, side) ? TF_DROPOUT_DEC_RELU : TF_DROPOUT_ENC_RELU);
}

static void ff_fwd(struct tf_work *k, struct tf_stack_acts *side, int layer, const tf_mem *in)
{
    const struct tf_ff_params *p = &layer_params(k, side, layer)->ff;
    tf_mem *hidden = side->layers[layer].hidden, *result = hidden;
    const struct tf_dropout dropout = relu_dropout(k, side, layer);
    if (swishes(k)) {
        result = k->training ? side->swished : hidden;
        tf_linear_fwd(k, hidden, in, p->w1, p->b1, side, 0, no_dropout);
        k->be->swish_fwd(k->ctx, result, hidden, side->rows, (int)k->w->config.d_ff, dropout);
    } else {
        tf_linear_fwd(k, hidden, in, p->w1, p->b1, side,
                      TF_LIN_RELU | (k->training ? TF_LIN_SAVE : 0), dropout);
    }
    tf_linear_fwd(k, side->u, result, p->w2, p->b2, side, 0, no_dropout);
}

static void ff_bwd(struct tf_work *k, struct tf_stack_acts *side, int layer, const tf_mem *in,
                   tf_mem *din, bool add)
{
    const struct tf_ff_params *p = &layer_params(k, side, layer)->ff;
    tf_mem *hidden = side->layers[layer].hidden;
    const struct tf_dropout dropout = relu_dropout(k, side, layer);
    if (swishes(k)) {
        const int F = (int)k->w->config.d_ff;
        k->be->swish_fwd(k->ctx, side->swished, hidden, side->rows, F, dropout);
        tf_linear_bwd(k, side->d_hidden, side->du, side->swished, p->w2, p->b2, side, 0,
                      no_dropout);
        k->be->swish_bwd(k->ctx, side->d_hidden, side->d_hidden, hidden, side->rows, F, dropout);
    } else {
        tf_linear_bwd(k, side->d_hidden, side->du, hidden, p->w2, p->b2, side, TF_LIN_FROM_RELU,
                      dropout);
    }
    tf_linear_bwd(k, din, side->d_hidden, in, p->w1, p->b1, side, add ? TF_LIN_ADD_DX : 0,
                  no_dropout);
}

/* ---- any of them ---- */

static bool recurs(const struct tf_work *k, const struct tf_stack_acts *side,
                   enum tf_sublayer kind)
{
    return kind == TF_SUBLAYER_SELF && tf_is_decoder(k, side) && tf_is_recurrent(&k->w->config);
}

void tf_sublayer_fwd(struct tf_work *k, struct tf_stack_acts *side, enum tf_sublayer kind,
                     int layer, const tf_mem *in)
{
    if (kind == TF_SUBLAYER_FF)
        ff_fwd(k, side, layer, in);
    else if (recurs(k, side, kind))
        ssru_fwd(k, side, layer, in);
    else
        attention_fwd(k, side, kind == TF_SUBLAYER_CROSS, layer, in);
}

void tf_sublayer_bwd(struct tf_work *k, struct tf_stack_acts *side, enum tf_sublayer kind,
                     int layer, const tf_mem *in, tf_mem *din, bool add)
{
    if (kind == TF_SUBLAYER_FF)
        ff_bwd(k, side, layer, in, din, add);
    else if (recurs(k, side, kind))
        ssru_bwd(k, side, layer, in, din, add);
    else
        attention_bwd(k, side, kind == TF_SUBLAYER_CROSS, layer, in, din, add);
}
