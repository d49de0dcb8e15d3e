/* stack.c - encoder and decoder, forward and backward. */
#include "model/sublayers_private.h"
#include "model/stack_private.h"

#include <math.h>

/* One sublayer's place in its stack, and the norm of the same number: after it (post-norm) or
 * before it (pre-norm). */
struct place {
    enum tf_sublayer kind;
    int layer;
    int gain, bias;                    /* of the norm */
    enum tf_dropout_site dropout_site; /* of the sublayer's output */
};

static int sublayers(const struct tf_work *k, const struct tf_stack_acts *side)
{
    const struct tf_config *c = &k->w->config;
    return (int)(tf_is_decoder(k, side) ? 3 * c->decoder_layers : 2 * c->encoder_layers);
}

static struct place place(const struct tf_work *k, const struct tf_stack_acts *side, int i)
{
    const struct tf_params *p = &k->w->params;
    bool dec = tf_is_decoder(k, side);
    if (i == sublayers(k, side)) /* the norm at the end of the stack */
        return (struct place){.gain = dec ? p->dec_norm_g : p->enc_norm_g,
                              .bias = dec ? p->dec_norm_b : p->enc_norm_b};
    int per = dec ? 3 : 2, layer = i / per;
    const struct tf_layer_params *l = dec ? &p->dec[layer] : &p->enc[layer];
    if (i % per == 0)
        return (struct place){TF_SUBLAYER_SELF, layer, l->self.norm_g, l->self.norm_b,
                              dec ? TF_DROPOUT_DEC_SELF : TF_DROPOUT_ENC_SELF};
    if (i % per == per - 1)
        return (struct place){TF_SUBLAYER_FF, layer, l->ff.norm_g, l->ff.norm_b,
                              dec ? TF_DROPOUT_DEC_FF : TF_DROPOUT_ENC_FF};
    return (struct place){TF_SUBLAYER_CROSS, layer, l->cross.norm_g, l->cross.norm_b,
                          TF_DROPOUT_DEC_CROSS};
}

static struct tf_dropout out_dropout(const struct tf_work *k, const struct place *at)
{
    return tf_dropout_at(k, k->w->config.dropout, at->layer, at->dropout_site);
}

/* Norm number i: s = res + dropout(x), y = norm(s). Without a backward pass only the sums of
 * pre-norm are read again. */
static void norm_fwd(struct tf_work *k, struct tf_stack_acts *side, int i, const tf_mem *x,
                     const tf_mem *res, struct tf_dropout dropout)
{
    const struct tf_config *c = &k->w->config;
    struct place at = place(k, side, i);
    struct tf_norm_acts *n = &side->norms[i];
    const bool train = k->training;
    k->be->add_norm_fwd(k->ctx, train || c->pre_norm ? n->s : NULL, n->y, train ? n->mean : NULL,
                        train ? n->rstd : NULL, x, res, tf_weight(k, at.gain),
                        tf_weight(k, at.bias), side->rows, (int)c->d_model, (float)c->norm_eps,
                        dropout);
}

static void norm_bwd(struct tf_work *k, struct tf_stack_acts *side, int i, tf_mem *ds, tf_mem *dx,
                     const tf_mem *dy, const tf_mem *dsum, struct tf_dropout dropout)
{
    struct place at = place(k, side, i);
    struct tf_norm_acts *n = &side->norms[i];
    k->be->add_norm_bwd(k->ctx, ds, dx, tf_grad(k, at.gain), tf_grad(k, at.bias), dy, dsum, n->s,
                        n->mean, n->rstd, tf_weight(k, at.gain), side->rows,
                        (int)k->w->config.d_model, dropout);
}

static const tf_mem *stack_fwd(struct tf_work *k, struct tf_stack_acts *side)
{
    int n = sublayers(k, side);
    bool pre = k->w->config.pre_norm;
    const tf_mem *in = side->embed, *res = side->embed;
    if (pre) {
        norm_fwd(k, side, 0, NULL, side->embed, (struct tf_dropout){0});
        in = side->norms[0].y;
    }
    for (int i = 0; i < n; i++) {
        struct place at = place(k, side, i);
        tf_sublayer_fwd(k, side, at.kind, at.layer, in);
        int norm = pre ? i + 1 : i;
        norm_fwd(k, side, norm, side->u, res, out_dropout(k, &at));
        in = side->norms[norm].y;
        res = pre ? side->norms[norm].s : in;
    }
    if (!pre && k->w->config.final_norm) {
        norm_fwd(k, side, n, NULL, in, (struct tf_dropout){0});
        in = side->norms[n].y;
    }
    return in;
}

/* dout: gradient of the stack's output, overwritten. Leaves the gradient of the embedding in
 * side->ds. */
static void stack_bwd(struct tf_work *k, struct tf_stack_acts *side, tf_mem *dout)
{
    int n = sublayers(k, side);
    struct place at = place(k, side, n - 1);
    if (k->w->config.pre_norm) {
        norm_bwd(k, side, n, side->ds, side->du, dout, NULL, out_dropout(k, &at));
        for (int i = n - 1; i >= 0; i--) {
            at = place(k, side, i);
            tf_sublayer_bwd(k, side, at.kind, at.layer, side->norms[i].y, side->dy, false);
            if (i > 0) {
                at = place(k, side, i - 1);
                norm_bwd(k, side, i, side->ds, side->du, side->dy, side->ds, out_dropout(k, &at));
            } else {
                norm_bwd(k, side, 0, side->ds, NULL, side->dy, side->ds, (struct tf_dropout){0});
            }
        }
        return;
    }
    tf_mem *dy = dout;
    if (k->w->config.final_norm) {
        norm_bwd(k, side, n, side->ds, NULL, dy, NULL, (struct tf_dropout){0});
        dy = side->ds;
    }
    for (int i = n - 1; i >= 0; i--) {
        at = place(k, side, i);
        /* dy of this norm and ds are not the same buffer */
        tf_mem *ds = dy == side->ds ? side->dy : side->ds;
        norm_bwd(k, side, i, ds, side->du, dy, NULL, out_dropout(k, &at));
        tf_sublayer_bwd(k, side, at.kind, at.layer, i > 0 ? side->norms[i - 1].y : side->embed, ds,
                        true);
        dy = ds;
    }
    if (dy != side->ds) { /* that is where the caller expects it */
        tf_mem *t = side->ds;
        side->ds = side->dy;
        side->dy = t;
    }
}

static void embed_fwd(struct tf_work *k, struct tf_stack_acts *side, const tf_mem *ids, int table,
                      int pos, enum tf_dropout_site dropout_site)
{
    const struct tf_config *c = &k->w->config;
    const tf_mem *p = pos >= 0 ? tf_weight(k, pos) : k->w->sinusoids;
    k->be->embed_fwd(k->ctx, side->embed, ids, tf_weight(k, table), p, side->rows, (int)c->d_model,
                     (float)sqrt((double)c->d_model),
                     tf_dropout_at(k, c->dropout, 0, dropout_site));
}

static void embed_bwd(struct tf_work *k, struct tf_stack_acts *side, const tf_mem *ids, int table,
                      int pos, enum tf_dropout_site dropout_site)
{
    const struct tf_config *c = &k->w->config;
    k->be->embed_bwd(k->ctx, tf_grad(k, table), tf_grad(k, pos), side->ds, ids, side->rows,
                     (int)c->d_model, (float)sqrt((double)c->d_model),
                     tf_dropout_at(k, c->dropout, 0, dropout_site));
}

const tf_mem *tf_encoder_fwd(struct tf_work *k)
{
    const struct tf_params *p = &k->w->params;
    if (k->w->tables_packed)
        k->be->embed_packed(k->ctx, k->enc.embed, k->src, k->src_at, k->w->packed[p->src_embed],
                            p->src_pos >= 0 ? tf_weight(k, p->src_pos) : k->w->sinusoids, k->enc.n,
                            (float)sqrt((double)k->w->config.d_model));
    else
        embed_fwd(k, &k->enc, k->src, p->src_embed, p->src_pos, TF_DROPOUT_SRC_EMBED);
    return stack_fwd(k, &k->enc);
}

void tf_encoder_bwd(struct tf_work *k, tf_mem *dout)
{
    stack_bwd(k, &k->enc, dout);
    embed_bwd(k, &k->enc, k->src, k->w->params.src_embed, k->w->params.src_pos,
              TF_DROPOUT_SRC_EMBED);
}

void tf_cross_kv_fwd(struct tf_work *k, tf_mem *kv, const tf_mem *memory)
{
    const struct tf_params *p = &k->w->params;
    tf_linear_fwd(k, kv, memory, p->cross_w, p->cross_b, &k->enc, 0, (struct tf_dropout){0});
}

void tf_cross_kv_bwd(struct tf_work *k, tf_mem *dmemory, const tf_mem *memory)
{
    const struct tf_params *p = &k->w->params;
    tf_linear_bwd(k, dmemory, k->dkv, memory, p->cross_w, p->cross_b, &k->enc, 0,
                  (struct tf_dropout){0});
}

const tf_mem *tf_decoder_fwd(struct tf_work *k)
{
    embed_fwd(k, &k->dec, k->tgt_in, k->w->params.tgt_embed, k->w->params.tgt_pos,
              TF_DROPOUT_TGT_EMBED);
    return stack_fwd(k, &k->dec);
}

void tf_decoder_bwd(struct tf_work *k, tf_mem *dout)
{
    stack_bwd(k, &k->dec, dout);
    embed_bwd(k, &k->dec, k->tgt_in, k->w->params.tgt_embed, k->w->params.tgt_pos,
              TF_DROPOUT_TGT_EMBED);
}
