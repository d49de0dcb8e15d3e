/* stack.c - embedding, encoder and decoder: the steps of params_plan.c forward, backward, and for
 * one position of the decoder. */
#include "model/stack_private.h"
#include "model/linear_private.h"
#include "model/sublayer_private.h"


/* Of a sublayer's output. */
static struct tf_dropout out_dropout(const struct tf_work *k, const struct tf_step *s)
{
    return s->f != NULL ? tf_dropout_at(k, k->w->config.dropout, s->layer, s->site + 1)
                        : (struct tf_dropout){0};
}

/* Dropout of the output of a norm on embeddings; p = 0 elsewhere. */
static struct tf_dropout norm_dropout(const struct tf_work *k, const struct tf_step *s)
{
    return tf_dropout_at(k, s->drops_output ? k->w->config.dropout : 0, s->layer, s->site);
}

/* s = x + dropout(u), y = norm(s). Without a backward pass only a sum that is the next x is read
 * again. */
static void norm_fwd(struct tf_work *k, struct tf_stack_acts *side, const struct tf_step_acts *a,
                     const tf_mem *x)
{
    const struct tf_config *c = &k->w->config;
    const struct tf_step *s = a->step;
    const bool train = k->training;
    k->be->add_norm_fwd(k->ctx, train || s->x_is_sum ? a->s : NULL, a->y, train ? a->mean : NULL,
                        train ? a->rstd : NULL, s->f != NULL ? side->u : NULL, x,
                        tf_weight(k, s->norm_g), tf_weight(k, s->norm_b), side->rows,
                        (int)c->d_model, (float)c->norm_eps, out_dropout(k, s));
    if (norm_dropout(k, s).p > 0)
        k->be->activation_fwd(k->ctx, a->y, a->y, side->rows, (int)c->d_model, TF_IDENTITY,
                              norm_dropout(k, s));
}

/* ds = norm'(dy) + dx, side->du = dropout'(ds). dx: what the next step's addition gives, or NULL;
 * dy: NULL where nothing reads y. */
static void norm_bwd(struct tf_work *k, struct tf_stack_acts *side, const struct tf_step_acts *a,
                     tf_mem *ds, tf_mem *dy, const tf_mem *dx)
{
    const struct tf_step *s = a->step;
    const int D = (int)k->w->config.d_model;
    if (norm_dropout(k, s).p > 0)
        k->be->activation_bwd(k->ctx, dy, dy, a->y, side->rows, D, TF_IDENTITY, norm_dropout(k, s));
    k->be->add_norm_bwd(k->ctx, ds, s->f != NULL ? side->du : NULL, tf_grad(k, s->norm_g),
                        tf_grad(k, s->norm_b), dy, dx, a->s, a->mean, a->rstd,
                        tf_weight(k, s->norm_g), side->rows, D, out_dropout(k, s));
}

static const tf_mem *stack_fwd(struct tf_work *k, struct tf_stack_acts *side)
{
    const tf_mem *x = side->embed, *in = side->embed;
    for (int i = 0; i < side->stack->n; i++) {
        const struct tf_step_acts *a = &side->step[i];
        if (a->step->f != NULL)
            a->step->f->forward(k, side, a, in);
        norm_fwd(k, side, a, x);
        in = a->y;
        x = a->step->x_is_sum ? a->s : a->y;
    }
    return side->stack->ends_in_sum ? x : in;
}

/* From the gradient of the output in side->dy. Returns that of the embedding. */
static tf_mem *stack_bwd(struct tf_work *k, struct tf_stack_acts *side)
{
    tf_mem *dy = side->dy, *ds = side->ds, *dx = NULL;
    for (int i = side->stack->n - 1; i >= 0; i--) {
        const struct tf_step_acts *a = &side->step[i];
        const struct tf_sublayer *f = a->step->f;
        const tf_mem *in = i > 0 ? a[-1].y : side->embed;
        const bool x_is_in = i == 0 || !a[-1].step->x_is_sum;
        const bool out_is_sum = side->stack->ends_in_sum && i == side->stack->n - 1;
        norm_bwd(k, side, a, ds, out_is_sum ? NULL : dy, out_is_sum ? dy : dx);
        if (f != NULL)
            f->backward(k, side, a, in, x_is_in ? ds : dy, x_is_in);
        dx = x_is_in ? NULL : ds;
        if (x_is_in) { /* ds is the gradient of both */
            ds = dy;
            dy = dy == side->dy ? side->ds : side->dy;
        }
    }
    return dy;
}

tf_mem *tf_decoder_step(struct tf_work *k, const struct tf_decoding *d, size_t rows)
{
    const struct tf_config *c = &k->w->config;
    const struct tf_stack *dec = &k->w->params.dec;
    tf_mem *x = k->step.x, *in = x, *u = k->step.u;
    for (const struct tf_step *s = dec->step; s < dec->step + dec->n; s++) {
        if (s->f != NULL)
            s->f->decode(k, d, s, in, u);
        in = x == k->step.x ? k->step.y : k->step.x;
        k->be->add_norm_rows(k->ctx, s->f != NULL && s->x_is_sum ? x : NULL, in,
                             s->f != NULL ? u : NULL, x, tf_weight(k, s->norm_g),
                             tf_weight(k, s->norm_b), rows, (int)c->d_model, (float)c->norm_eps);
        if (!s->x_is_sum)
            x = in;
    }
    return dec->ends_in_sum ? x : in;
}

/* Dropout of embeddings, unless a norm comes between. */
static struct tf_dropout embed_dropout(const struct tf_work *k, enum tf_dropout_site site)
{
    const struct tf_config *c = &k->w->config;
    return tf_dropout_at(k, c->embedding_norm ? 0 : c->dropout, 0, site);
}

/* at: positions, for tables that are packed. */
static void embed_fwd(struct tf_work *k, struct tf_stack_acts *side, const tf_mem *ids,
                      const tf_mem *at, int table, int pos, enum tf_dropout_site dropout_site)
{
    const struct tf_config *c = &k->w->config;
    const tf_mem *p = pos >= 0 ? tf_weight(k, pos) : k->w->sinusoids;
    const float scale = tf_config_embedding_scale(c);
    if (k->w->tables_packed)
        k->be->embed_packed(k->ctx, side->embed, ids, at, k->w->packed[table], p, side->n, scale);
    else
        k->be->embed_fwd(k->ctx, side->embed, ids, tf_weight(k, table), p, side->rows,
                         (int)c->d_model, scale, embed_dropout(k, dropout_site));
}

static void embed_bwd(struct tf_work *k, struct tf_stack_acts *side, const tf_mem *dx,
                      const tf_mem *ids, int table, int pos, enum tf_dropout_site dropout_site)
{
    const struct tf_config *c = &k->w->config;
    k->be->embed_bwd(k->ctx, tf_grad(k, table), tf_grad(k, pos), dx, ids, side->rows,
                     (int)c->d_model, tf_config_embedding_scale(c),
                     embed_dropout(k, dropout_site));
}

const tf_mem *tf_encoder_fwd(struct tf_work *k)
{
    const struct tf_params *p = &k->w->params;
    embed_fwd(k, &k->enc, k->src, k->src_at, p->src_embed, p->src_pos, TF_DROPOUT_SRC_EMBED);
    return stack_fwd(k, &k->enc);
}

void tf_encoder_bwd(struct tf_work *k)
{
    const struct tf_params *p = &k->w->params;
    embed_bwd(k, &k->enc, stack_bwd(k, &k->enc), k->src, p->src_embed, p->src_pos,
              TF_DROPOUT_SRC_EMBED);
}

void tf_cross_kv_fwd(struct tf_work *k, tf_mem *kv, const tf_mem *memory)
{
    const struct tf_params *p = &k->w->params;
    tf_linear_fwd(k, kv, memory, p->cross_w, p->cross_b, &k->enc, 0, (struct tf_dropout){0});
}

void tf_cross_kv_bwd(struct tf_work *k, const tf_mem *memory)
{
    const struct tf_params *p = &k->w->params;
    tf_linear_bwd(k, k->enc.dy, k->dkv, memory, p->cross_w, p->cross_b, &k->enc, 0,
                  (struct tf_dropout){0});
}

const tf_mem *tf_decoder_fwd(struct tf_work *k)
{
    const struct tf_params *p = &k->w->params;
    embed_fwd(k, &k->dec, k->tgt_in, k->tgt_at, p->tgt_embed, p->tgt_pos, TF_DROPOUT_TGT_EMBED);
    return stack_fwd(k, &k->dec);
}

void tf_decoder_bwd(struct tf_work *k)
{
    const struct tf_params *p = &k->w->params;
    embed_bwd(k, &k->dec, stack_bwd(k, &k->dec), k->tgt_in, p->tgt_embed, p->tgt_pos,
              TF_DROPOUT_TGT_EMBED);
}
