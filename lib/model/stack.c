/* stack.c - embedding, encoder and decoder: the steps of params_plan.c forward, backward, and for
 * one position of the decoder. */
#include "model/stack_private.h"
#include "model/sublayer_private.h"

/* Of a sublayer's output. */
static struct tf_dropout out_dropout(const struct tf_work *k, const struct tf_step *s)
{
    return s->f != NULL ? tf_dropout_at(k, k->w->config.dropout, s->layer, s->site + 1)
                        : TF_NO_DROPOUT;
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

/* Dropout of embeddings, unless a norm comes between. */
static struct tf_dropout embed_dropout(const struct tf_work *k, const struct tf_stack *stack)
{
    const struct tf_config *c = &k->w->config;
    return tf_dropout_at(k, c->embedding_norm ? 0 : c->dropout, 0, stack->site);
}

static void embed_fwd(struct tf_work *k, struct tf_stack_acts *side)
{
    const struct tf_config *c = &k->w->config;
    const struct tf_stack *stack = side->stack;
    const tf_mem *pos = tf_positions(k, stack);
    const float scale = tf_config_embedding_scale(c);
    if (k->w->tables_packed)
        k->be->embed_packed(k->ctx, side->embed, side->ids, side->at, k->w->packed[stack->table],
                            pos, side->n, scale);
    else
        k->be->embed_fwd(k->ctx, side->embed, side->ids, tf_weight(k, stack->table), pos,
                         side->rows, (int)c->d_model, scale, embed_dropout(k, stack));
}

static void embed_bwd(struct tf_work *k, struct tf_stack_acts *side, const tf_mem *dx)
{
    const struct tf_config *c = &k->w->config;
    const struct tf_stack *stack = side->stack;
    k->be->embed_bwd(k->ctx, tf_grad(k, stack->table), tf_grad(k, stack->pos), dx, side->ids,
                     side->rows, (int)c->d_model, tf_config_embedding_scale(c),
                     embed_dropout(k, stack));
}

static const tf_mem *stack_fwd(struct tf_work *k, struct tf_stack_acts *side)
{
    const tf_mem *x = side->embed, *in = side->embed;
    embed_fwd(k, side);
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

/* From the gradient of the output in side->dy. */
static void stack_bwd(struct tf_work *k, struct tf_stack_acts *side)
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
    embed_bwd(k, side, dy);
}

/* ---- both stacks ---- */

const tf_mem *tf_encoder_fwd(struct tf_work *k)
{
    return stack_fwd(k, &k->enc);
}

void tf_encoder_bwd(struct tf_work *k)
{
    stack_bwd(k, &k->enc);
}

const tf_mem *tf_decoder_fwd(struct tf_work *k)
{
    return stack_fwd(k, &k->dec);
}

void tf_decoder_bwd(struct tf_work *k)
{
    stack_bwd(k, &k->dec);
}

void tf_cross_kv_fwd(struct tf_work *k, tf_mem *kv, const tf_mem *memory)
{
    const struct tf_params *p = &k->w->params;
    tf_linear_fwd(k, kv, memory, p->cross_w, p->cross_b, &k->enc, 0, TF_NO_DROPOUT);
}

void tf_cross_kv_bwd(struct tf_work *k, const tf_mem *memory)
{
    const struct tf_params *p = &k->w->params;
    tf_linear_bwd(k, k->enc.dy, k->dkv, memory, p->cross_w, p->cross_b, &k->enc, 0, TF_NO_DROPOUT);
}

/* ---- one position of decoding ---- */

const tf_mem *tf_decoder_step(struct tf_work *k, const struct tf_decoding *d, size_t rows)
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
