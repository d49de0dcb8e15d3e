/* attention.c - self-attention and cross-attention: u = Attention(q, k, v) Wo. Paper, section 3.2.
 * Self-attention: q, k and v are projections of `in`. Cross-attention: q is; keys and values of all
 * layers were projected from the encoder's output (tf_cross_kv_fwd in stack.c). */
#include "model/incremental.h"
#include "model/sublayer_private.h"
#include "ops/host_guide.h"

static bool is_cross(const struct tf_step *s)
{
    return s->attention == TF_ATTENTION_CROSS;
}

/* [D, 2*H*dk + H*dv] for q, k, v, or [D, H*dk] for q; then [H*dv, D]. */
static void add_attention(struct tf_params *p, const struct tf_config *c, struct tf_step *s,
                          const char *name)
{
    const bool cross = s->f == &tf_cross_attention, bias = c->attention_bias;
    const size_t k = tf_k_width(c), kv = tf_kv_width(c);
    s->attention = cross        ? TF_ATTENTION_CROSS
                   : s->decoder ? TF_ATTENTION_DECODER
                                : TF_ATTENTION_ENCODER;
    p->attends[s->attention] = true;
    s->width = (struct tf_widths){.in = cross ? k : k + kv,
                                  .o = kv - k,
                                  .stats = (size_t)c->heads,
                                  .cache = cross ? 0 : kv};
    const int64_t in = (int64_t)s->width.in, D = c->d_model;
    s->in_w = tf_add_fused(p, c, cross ? 1 : 2, !cross, 1, name, cross ? "q.w" : "qkv.w");
    s->in_b = bias ? tf_add_param(p, in, 0, TF_INIT_ZERO, 0, name, cross ? "q.b" : "qkv.b") : -1;
    s->out_w = tf_add_output(p, c, c->heads * c->d_v, s->decoder, name, "o.w");
    s->out_b = bias ? tf_add_param(p, D, 0, TF_INIT_ZERO, 0, name, "o.b") : -1;
}

/* ---- all positions at once ---- */

/* The first key of a row: self-attention has queries before it, cross-attention other layers. */
static size_t key_column(const struct tf_work *k, const struct tf_step *s)
{
    const struct tf_config *c = &k->w->config;
    return is_cross(s) ? (size_t)s->layer * tf_kv_width(c) : tf_k_width(c);
}

/* Where the weights of this attention go; NULL when it is not watched. */
static tf_mem *watched(const struct tf_work *k, const struct tf_step *s)
{
    const struct tf_watch *w = k->watch.what;
    const bool *layers = w != NULL ? w->layers[s->attention] : NULL;
    size_t before = 0; /* watched layers */
    if (layers == NULL || !layers[s->layer])
        return NULL;
    for (int l = 0; l < s->layer; l++)
        before += layers[l];
    return tf_at(k->be, TF_ELEM_STAT, k->watch.mem[s->attention],
                 before * k->watch.each[s->attention]);
}

static struct tf_attention attention_args(struct tf_work *k, struct tf_stack_acts *side,
                                          const struct tf_step_acts *a)
{
    const struct tf_config *c = &k->w->config;
    const bool cross = is_cross(a->step);
    const size_t ld = cross ? (size_t)c->decoder_layers * tf_kv_width(c) : a->step->width.in;
    tf_mem *kv = tf_at(k->be, TF_ELEM_ACT, cross ? k->kv : a->in, key_column(k, a->step));
    return (struct tf_attention){
        .q_rows = side->rows,
        .k_rows = cross ? k->enc.rows : side->rows,
        .q = a->in,
        .k = kv,
        .v = tf_at(k->be, TF_ELEM_ACT, kv, tf_k_width(c)),
        .o = a->o,
        .ldq = a->step->width.in,
        .ldk = ld,
        .ldv = ld,
        .ldo = a->step->width.o,
        .heads = (int)c->heads,
        .dk = (int)c->d_k,
        .dv = (int)c->d_v,
        .causal = a->step->attention == TF_ATTENTION_DECODER,
        .window = cross ? 0 : (int)c->attention_window,
        .dropout = tf_inner_dropout(k, c->attention_dropout, a->step),
        .lse = k->training ? a->stats : NULL,
        .probs = watched(k, a->step),
    };
}

static void attention_fwd(struct tf_work *k, struct tf_stack_acts *side,
                          const struct tf_step_acts *a, const tf_mem *in)
{
    const struct tf_step *s = a->step;
    tf_linear_fwd(k, a->in, in, s->in_w, s->in_b, side, 0, TF_NO_DROPOUT);
    struct tf_attention args = attention_args(k, side, a);
    k->be->attention_fwd(k->ctx, &args);
    tf_linear_fwd(k, side->u, a->o, s->out_w, s->out_b, side, 0, TF_NO_DROPOUT);
}

/* The loss and the gradient of guided alignment, in its layer. */
static void add_guide(struct tf_work *k, const struct tf_step *s, const struct tf_attention *args)
{
    const struct tf_pairs *p = k->guided;
    if (p == NULL || !is_cross(s) || s->layer != p->guide.layer)
        return;
    *(double *)k->guided_acc +=
        p->guide.weight * tf_host_guide(k->be, args, p->guide.head,
                                        (struct tf_links_of){p->link_off, p->link_at,
                                                             p->weighted ? p->weights : NULL},
                                        p->guide.weight);
}

static void attention_bwd(struct tf_work *k, struct tf_stack_acts *side,
                          const struct tf_step_acts *a, const tf_mem *in, tf_mem *din, bool add)
{
    const struct tf_step *s = a->step;
    tf_linear_bwd(k, side->d_o, side->du, a->o, s->out_w, s->out_b, side, 0, TF_NO_DROPOUT);
    struct tf_attention args = attention_args(k, side, a);
    args.d_o = side->d_o;
    args.dq = side->d_in;
    args.dk_ = tf_at(k->be, TF_ELEM_ACT, is_cross(s) ? k->dkv : side->d_in, key_column(k, s));
    args.dv_ = tf_at(k->be, TF_ELEM_ACT, args.dk_, tf_k_width(&k->w->config));
    k->be->attention_bwd(k->ctx, &args);
    add_guide(k, s, &args);
    tf_linear_bwd(k, din, side->d_in, in, s->in_w, s->in_b, side, add ? TF_LIN_ADD_DX : 0,
                  TF_NO_DROPOUT);
}

/* ---- one position at a time ---- */

/* u = Attention(step.in, k, v) Wo, keys and values side by side in columns of `kv` [.., ld]. a:
 * which of them a row sees. */
static void attend(struct tf_work *k, const struct tf_step *s, struct tf_cached_attention a,
                   tf_mem *kv, size_t ld, size_t rows, tf_mem *u)
{
    const struct tf_config *c = &k->w->config;
    a.q = k->step.in;
    a.ldq = s->width.in;
    a.k = kv;
    a.v = tf_at(k->be, TF_ELEM_ACT, kv, tf_k_width(c));
    a.ldk = a.ldv = ld;
    a.o = k->step.o;
    a.ldo = s->width.o;
    a.heads = (int)c->heads;
    a.dk = (int)c->d_k;
    a.dv = (int)c->d_v;
    k->be->cached_attention(k->ctx, &a, rows);
    tf_linear_rows(k, u, k->step.o, s->out_w, s->out_b, rows, 0);
}

static void self_decode(struct tf_work *k, const struct tf_decoding *d, const struct tf_step *s,
                        const tf_mem *in, tf_mem *u)
{
    const struct tf_decode_step *now = d->now;
    const size_t width = s->width.cache;
    tf_mem *kv = tf_at(k->be, TF_ELEM_ACT, d->cache->kv, s->cache_at * d->cache->slots);
    tf_linear_rows(k, k->step.in, in, s->in_w, s->in_b, now->rows, 0);
    k->be->scatter_rows(k->ctx, kv, width, tf_at(k->be, TF_ELEM_ACT, k->step.in, key_column(k, s)),
                        s->width.in, now->slot, now->rows, width);
    attend(k, s,
           (struct tf_cached_attention){.table = now->table,
                                        .table_ld = now->table_ld,
                                        .n_keys = now->n_past,
                                        .window = (int)k->w->config.attention_window},
           kv, width, now->rows, u);
}

static void cross_decode(struct tf_work *k, const struct tf_decoding *d, const struct tf_step *s,
                         const tf_mem *in, tf_mem *u)
{
    const struct tf_decode_step *now = d->now;
    tf_linear_rows(k, k->step.in, in, s->in_w, s->in_b, now->rows, 0);
    attend(k, s, (struct tf_cached_attention){.first = now->first, .n_keys = now->n_src},
           tf_at(k->be, TF_ELEM_ACT, d->memory->kv, key_column(k, s)), d->memory->ld, now->rows, u);
}

const struct tf_sublayer tf_self_attention = {add_attention, attention_fwd, attention_bwd,
                                              self_decode};
const struct tf_sublayer tf_cross_attention = {add_attention, attention_fwd, attention_bwd,
                                               cross_decode};
