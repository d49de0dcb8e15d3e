/* params_plan.c - the architecture of a configuration as a plan: the steps of encoder and decoder
 * in the order in which every pass takes them (stack.c), with their parameters. Paper, section 3.1.
 *
 * A step is a sublayer f, an addition and a norm:
 *
 *     s = x + dropout(f(in)),  y = LayerNorm(s)
 *
 * The next step has in = y. What it adds to decides where the norms are:
 *
 *     post-norm, the paper's   x = y:  x becomes LayerNorm(x + Sublayer(x)) in each step
 *     pre-norm                 x = s:  x becomes x + Sublayer(LayerNorm(x)), and the sums are not
 *                              normalised on their way to the end
 *
 * Both begin with the embeddings as x and in, and end with the last y. As a step ends with its
 * norm, the first norm of pre-norm is a step without f, and so is an additional norm at the end of
 * a post-norm stack. Pre-norm without a norm at the end has the last s as output; its last step
 * takes the norm before it again, for a y that nothing reads. A norm on the embeddings is a step
 * without f, too, whose output is x and in. */
#include "base/memory.h"
#include "model/sublayer_private.h"

#include <math.h>
#include <stdio.h>

static const struct tf_step norm_alone = {.in_w = -1, .in_b = -1, .out_w = -1, .out_b = -1};

/* A stack, and the step that its next norm ends. */
struct plan {
    struct tf_params *p;
    const struct tf_config *c;
    struct tf_stack *stack;
    struct tf_norms norms;
    struct tf_step next;
};

/* Index of the gain; the bias follows. */
static int add_norm(const struct plan *to, const char *name)
{
    const int gain = tf_add_param(to->p, to->c->d_model, 0, TF_INIT_ONE, 0, name, "norm.g");
    tf_add_param(to->p, to->c->d_model, 0, TF_INIT_ZERO, 0, name, "norm.b");
    return gain;
}

static void end_step(struct plan *to, int gain)
{
    struct tf_stack *stack = to->stack;
    stack->step = tf_xarray(stack->step, (size_t)stack->n + 1, sizeof *stack->step);
    to->next.norm_g = gain;
    to->next.norm_b = gain + 1;
    to->next.x_is_sum = to->norms.before;
    stack->step[stack->n++] = to->next;
    to->next = norm_alone;
}

/* Embeddings with a norm of their own: x and in are its output, after dropout. */
static void begin_stack(struct plan *to, const char *name, enum tf_dropout_site site)
{
    if (!to->c->embedding_norm)
        return;
    to->next.drops_output = true;
    to->next.site = site;
    end_step(to, add_norm(to, name));
    to->stack->step[0].x_is_sum = false;
}

static size_t max(size_t a, size_t b)
{
    return a > b ? a : b;
}

static void add_sublayer(struct plan *to, const struct tf_sublayer *f, const char *stack, int layer,
                         const char *part, enum tf_dropout_site site)
{
    struct tf_widths *most = &to->stack->most;
    struct tf_step s = {.f = f,
                        .layer = layer,
                        .decoder = to->stack == &to->p->dec,
                        .site = site,
                        .cache_at = most->cache};
    char name[32];
    snprintf(name, sizeof name, "%s.%d.%s", stack, layer, part);
    f->add(to->p, to->c, &s, name);
    most->in = max(most->in, s.width.in);
    most->o = max(most->o, max(s.width.o, s.width.shared));
    most->cache += s.width.cache;
    const int norm = add_norm(to, name);
    if (to->norms.before)
        end_step(to, norm);
    to->next = s;
    if (!to->norms.before)
        end_step(to, norm);
}

static void end_stack(struct plan *to, const char *name)
{
    struct tf_stack *stack = to->stack;
    stack->ends_in_sum = to->norms.before && !to->norms.top;
    if (to->norms.top)
        end_step(to, add_norm(to, name));
    else if (stack->ends_in_sum)
        end_step(to, stack->step[stack->n - 1].norm_g);
}

/* "N identical layers" of two sublayers each. */
static void add_encoder(struct tf_params *p, const struct tf_config *c)
{
    struct plan to = {
        .p = p, .c = c, .stack = &p->enc, .norms = tf_config_norms(c, false), .next = norm_alone};
    begin_stack(&to, "enc.input", TF_DROPOUT_SRC_EMBED);
    for (int l = 0; l < c->encoder_layers; l++) {
        add_sublayer(&to, &tf_self_attention, "enc", l, "self", TF_DROPOUT_ENC_SELF);
        add_sublayer(&to, &tf_feed_forward, "enc", l, "ff", TF_DROPOUT_ENC_FF);
    }
    end_stack(&to, "enc");
}

/* Of three each: the second attends to the encoder's output. */
static void add_decoder(struct tf_params *p, const struct tf_config *c)
{
    static const struct tf_sublayer *const first[] = {
        [TF_DECODER_ATTENTION] = &tf_self_attention, [TF_DECODER_SSRU] = &tf_ssru};
    struct plan to = {
        .p = p, .c = c, .stack = &p->dec, .norms = tf_config_norms(c, true), .next = norm_alone};
    begin_stack(&to, "dec.input", TF_DROPOUT_TGT_EMBED);
    for (int l = 0; l < c->decoder_layers; l++) {
        add_sublayer(&to, first[c->decoder_self], "dec", l, "self", TF_DROPOUT_DEC_SELF);
        add_sublayer(&to, &tf_cross_attention, "dec", l, "cross", TF_DROPOUT_DEC_CROSS);
        add_sublayer(&to, &tf_feed_forward, "dec", l, "ff", TF_DROPOUT_DEC_FF);
    }
    end_stack(&to, "dec");
}

/* Cross-attention has its queries from the decoder, and keys and values from the encoder's output:
 * for all layers in one product (tf_cross_kv_fwd in stack.c). */
static void add_cross(struct tf_params *p, const struct tf_config *c)
{
    const char *name = "dec.cross";
    p->cross_w = tf_add_fused(p, c, 1, 1, c->decoder_layers, name, "kv.w");
    p->cross_b = -1;
    if (c->attention_bias)
        p->cross_b = tf_add_param(p, p->v[p->cross_w].dims[1], 0, TF_INIT_ZERO, 0, name, "kv.b");
}

static int add_table(struct tf_params *p, int64_t rows, int64_t D, const char *name, int outputs)
{
    const int i = tf_add_param(p, rows, D, TF_INIT_NORMAL, pow((double)D, -0.5), name, "");
    p->v[i].outputs = outputs;
    return i;
}

static void add_embeddings(struct tf_params *p, const struct tf_config *c)
{
    const int64_t V = c->vocab_size, D = c->d_model;
    if (c->tie == TF_TIE_ALL) {
        p->src_embed = p->tgt_embed = p->project = add_table(p, V, D, "embed", 0);
    } else {
        p->src_embed = add_table(p, tf_config_source_ids(c), D, "enc.embed", 0);
        p->tgt_embed = p->project = add_table(p, V, D, "dec.embed", 0);
        if (c->tie == TF_TIE_NONE)
            p->project = add_table(p, V, D, "dec.project", 0);
    }
    p->v[p->src_embed].table = p->v[p->tgt_embed].table = true;
    p->src_pos = p->tgt_pos = -1;
    if (c->positions == TF_POS_LEARNED) {
        p->src_pos = add_table(p, c->max_positions, D, "enc.pos", -1);
        p->tgt_pos = add_table(p, c->max_positions, D, "dec.pos", -1);
    }
}

void tf_params_init(struct tf_params *p, const struct tf_config *c)
{
    *p = (struct tf_params){.project_b = -1};
    add_embeddings(p, c);
    add_encoder(p, c);
    add_cross(p, c);
    add_decoder(p, c);
    if (c->output_bias)
        p->project_b = tf_add_param(p, c->vocab_size, 0, TF_INIT_ZERO, 0, "dec.project", "b");
}

static double stack_work(const struct tf_stack *stack, const struct tf_config *c,
                         const struct tf_batch_size *n)
{
    double work = 0;
    for (const struct tf_step *s = stack->step; s < stack->step + stack->n; s++)
        work += s->f != NULL ? s->f->work(c, n, s->decoder) : 0;
    return work;
}

double tf_params_flop(const struct tf_params *p, const struct tf_config *c,
                      const struct tf_batch_size *n)
{
    const double project = (double)c->d_model * (double)c->vocab_size;
    return 6 * (n->src_tokens * stack_work(&p->enc, c, n) +
                n->tgt_tokens * (stack_work(&p->dec, c, n) + project));
}
