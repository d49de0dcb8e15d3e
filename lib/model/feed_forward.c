/* feed_forward.c - u = f(x W1 + b1) W2 + b2, f = max(0, .), swish or gelu. Paper, section 3.3.
 * `in` of the activations is ReLU's result, from which its gradient follows. With another f it is
 * what goes into that: the result is computed again in the backward pass, into a buffer that all
 * layers share. */
#include "model/incremental.h"
#include "model/sublayer_private.h"

/* [D, F] [F] [F, D] [D] */
static void add_ff(struct tf_params *p, const struct tf_config *c, struct tf_step *s,
                   const char *name)
{
    const int64_t D = c->d_model, F = c->d_ff;
    s->width.in = (size_t)F;
    s->width.shared = c->activation == TF_ACTIVATION_RELU ? 0 : (size_t)F;
    s->in_w = tf_add_param(p, D, F, TF_INIT_GLOROT, tf_glorot(D, F), name, "1.w");
    s->in_b = tf_add_param(p, F, 0, TF_INIT_ZERO, 0, name, "1.b");
    s->out_w = tf_add_output(p, c, F, s->decoder, name, "2.w");
    s->out_b = tf_add_param(p, D, 0, TF_INIT_ZERO, 0, name, "2.b");
}

static bool is_relu(const struct tf_work *k)
{
    return k->w->config.activation == TF_ACTIVATION_RELU;
}

/* One that is not ReLU. */
static enum tf_function function(const struct tf_work *k)
{
    static const enum tf_function of[] = {[TF_ACTIVATION_SWISH] = TF_SWISH,
                                          [TF_ACTIVATION_GELU] = TF_GELU};
    return of[k->w->config.activation];
}

static struct tf_dropout hidden_dropout(const struct tf_work *k, const struct tf_step *s)
{
    return tf_inner_dropout(k, k->w->config.relu_dropout, s);
}

static void ff_fwd(struct tf_work *k, struct tf_stack_acts *side, const struct tf_step_acts *a,
                   const tf_mem *in)
{
    const struct tf_step *s = a->step;
    const struct tf_dropout dropout = hidden_dropout(k, s);
    tf_mem *result = a->in;
    if (is_relu(k)) {
        tf_linear_fwd(k, a->in, in, s->in_w, s->in_b, side,
                      TF_LIN_RELU | (k->training ? TF_LIN_SAVE : 0), dropout);
    } else {
        result = k->training ? side->d_o : a->in;
        tf_linear_fwd(k, a->in, in, s->in_w, s->in_b, side, 0, TF_NO_DROPOUT);
        k->be->activation_fwd(k->ctx, result, a->in, side->rows, (int)k->w->config.d_ff,
                              function(k), dropout);
    }
    tf_linear_fwd(k, side->u, result, s->out_w, s->out_b, side, 0, TF_NO_DROPOUT);
}

static void ff_bwd(struct tf_work *k, struct tf_stack_acts *side, const struct tf_step_acts *a,
                   const tf_mem *in, tf_mem *din, bool add)
{
    const struct tf_step *s = a->step;
    const struct tf_dropout dropout = hidden_dropout(k, s);
    if (is_relu(k)) {
        tf_linear_bwd(k, side->d_in, side->du, a->in, s->out_w, s->out_b, side, TF_LIN_FROM_RELU,
                      dropout);
    } else {
        const int F = (int)k->w->config.d_ff;
        k->be->activation_fwd(k->ctx, side->d_o, a->in, side->rows, F, function(k), dropout);
        tf_linear_bwd(k, side->d_in, side->du, side->d_o, s->out_w, s->out_b, side, 0,
                      TF_NO_DROPOUT);
        k->be->activation_bwd(k->ctx, side->d_in, side->d_in, a->in, side->rows, F, function(k),
                              dropout);
    }
    tf_linear_bwd(k, din, side->d_in, in, s->in_w, s->in_b, side, add ? TF_LIN_ADD_DX : 0,
                  TF_NO_DROPOUT);
}

static void ff_decode(struct tf_work *k, const struct tf_decoding *d, const struct tf_step *s,
                      const tf_mem *in, tf_mem *u)
{
    const size_t rows = d->now->rows;
    tf_mem *hidden = k->step.in;
    tf_linear_rows(k, hidden, in, s->in_w, s->in_b, rows, is_relu(k) ? TF_LIN_RELU : 0);
    if (!is_relu(k))
        k->be->activation_rows(k->ctx, hidden, hidden, rows, (int)k->w->config.d_ff, function(k));
    tf_linear_rows(k, u, hidden, s->out_w, s->out_b, rows, 0);
}

const struct tf_sublayer tf_feed_forward = {add_ff, ff_fwd, ff_bwd, ff_decode};
