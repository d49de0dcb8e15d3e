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

static const struct tf_step norm_alone = {
    .attention = TF_ATTENTION_KINDS, .in_w = -1, .in_b = -1, .out_w = -1, .out_b = -1};

/* A stack, and the step that its next norm ends. */
struct plan {
    struct tf_params *p;
    const struct tf_config *c;
    const char *name; /* "enc" or "dec" */
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

/* With a norm of the embeddings x and in are its output, after dropout. */
static struct plan begin_stack(struct tf_params *p, const struct tf_config *c, bool decoder)
{
    struct plan to = {.p = p,
                      .c = c,
                      .name = decoder ? "dec" : "enc",
                      .stack = decoder ? &p->dec : &p->enc,
                      .norms = tf_config_norms(c, decoder),
                      .next = norm_alone};
    if (c->embedding_norm) {
        to.next.drops_output = true;
        to.next.site = to.stack->site;
        end_step(&to, add_norm(&to, decoder ? "dec.input" : "enc.input"));
        to.stack->step[0].x_is_sum = false;
    }
    return to;
}

static size_t max(size_t a, size_t b)
{
    return a > b ? a : b;
}

static void add_sublayer(struct plan *to, const struct tf_sublayer *f, int layer, const char *part,
                         enum tf_dropout_site site)
{
    struct tf_widths *most = &to->stack->most;
    struct tf_step s = norm_alone;
    s.f = f;
    s.layer = layer;
    s.decoder = to->stack == &to->p->dec;
    s.site = site;
    s.cache_at = most->cache;
    char name[32];
    snprintf(name, sizeof name, "%s.%d.%s", to->name, layer, part);
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

static void end_stack(struct plan *to)
{
    struct tf_stack *stack = to->stack;
    stack->ends_in_sum = to->norms.before && !to->norms.top;
    if (to->norms.top)
        end_step(to, add_norm(to, to->name));
    else if (stack->ends_in_sum)
        end_step(to, stack->step[stack->n - 1].norm_g);
}

/* "N identical layers" of two sublayers each. */
static void add_encoder(struct tf_params *p, const struct tf_config *c)
{
    struct plan to = begin_stack(p, c, false);
    for (int l = 0; l < c->encoder_layers; l++) {
        add_sublayer(&to, &tf_self_attention, l, "self", TF_DROPOUT_ENC_SELF);
        add_sublayer(&to, &tf_feed_forward, l, "ff", TF_DROPOUT_ENC_FF);
    }
    end_stack(&to);
}

/* Of three each: the second attends to the encoder's output. */
static void add_decoder(struct tf_params *p, const struct tf_config *c)
{
    static const struct tf_sublayer *const first[] = {
        [TF_DECODER_ATTENTION] = &tf_self_attention, [TF_DECODER_SSRU] = &tf_ssru};
    struct plan to = begin_stack(p, c, true);
    for (int l = 0; l < c->decoder_layers; l++) {
        add_sublayer(&to, first[c->decoder_self], l, "self", TF_DROPOUT_DEC_SELF);
        add_sublayer(&to, &tf_cross_attention, l, "cross", TF_DROPOUT_DEC_CROSS);
        add_sublayer(&to, &tf_feed_forward, l, "ff", TF_DROPOUT_DEC_FF);
    }
    end_stack(&to);
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
        p->enc.table = p->dec.table = p->project = add_table(p, V, D, "embed", 0);
    } else {
        p->enc.table = add_table(p, tf_config_source_ids(c), D, "enc.embed", 0);
        p->dec.table = p->project = add_table(p, V, D, "dec.embed", 0);
        if (c->tie == TF_TIE_NONE)
            p->project = add_table(p, V, D, "dec.project", 0);
    }
    p->v[p->enc.table].table = p->v[p->dec.table].table = true;
    if (c->positions == TF_POS_LEARNED) {
        p->enc.pos = add_table(p, c->max_positions, D, "enc.pos", -1);
        p->dec.pos = add_table(p, c->max_positions, D, "dec.pos", -1);
    }
}

void tf_params_init(struct tf_params *p, const struct tf_config *c)
{
    *p = (struct tf_params){.project_b = -1,
                            .enc = {.pos = -1, .site = TF_DROPOUT_SRC_EMBED},
                            .dec = {.pos = -1, .site = TF_DROPOUT_TGT_EMBED}};
    add_embeddings(p, c);
    add_encoder(p, c);
    add_cross(p, c);
    add_decoder(p, c);
    if (c->output_bias)
        p->project_b = tf_add_param(p, c->vocab_size, 0, TF_INIT_ZERO, 0, "dec.project", "b");
}

/* ---- work ---- */

static double elements(const struct tf_params *p, int i)
{
    return i >= 0 ? (double)p->v[i].n : 0;
}

/* Keys that a row sees, in the mean. */
static double keys_seen(const struct tf_step *s, const struct tf_config *c,
                        const struct tf_batch_size *n)
{
    const double window = (double)c->attention_window,
                 most = s->decoder ? window + 1 : 2 * window + 1,
                 all = s->attention == TF_ATTENTION_DECODER ? n->tgt_len / 2 : n->src_len;
    if (s->attention == TF_ATTENTION_KINDS)
        return 0;
    return s->attention != TF_ATTENTION_CROSS && window > 0 && most < all ? most : all;
}

/* Multiply-adds forward of a row: by each element of a matrix, and of attention by keys and values
 * of all heads. */
static double stack_work(const struct tf_params *p, const struct tf_stack *stack,
                         const struct tf_config *c, const struct tf_batch_size *n)
{
    const double kv = (double)(c->heads * (c->d_k + c->d_v));
    double work = 0;
    for (const struct tf_step *s = stack->step; s < stack->step + stack->n; s++)
        work += elements(p, s->in_w) + elements(p, s->out_w) + keys_seen(s, c, n) * kv;
    return work;
}

double tf_params_flop(const struct tf_params *p, const struct tf_config *c,
                      const struct tf_batch_size *n)
{
    return 6 * (n->src_tokens * (stack_work(p, &p->enc, c, n) + elements(p, p->cross_w)) +
                n->tgt_tokens * (stack_work(p, &p->dec, c, n) + elements(p, p->project)));
}
