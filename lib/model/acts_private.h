/* acts_private.h - struct tf_work: the activations of one lane. For the files of the model only.
 * For the backward pass each step of a stack (params_plan.c) keeps its sum s, its output y, the
 * mean and 1/sd of a row of s, and what its sublayer requires.
 *
 * R rows, D = d_model, F = d_ff, H heads of dk and dv columns, L decoder layers. Elements are ACT
 * where nothing else is stated. */
#ifndef TF_MODEL_ACTS_PRIVATE_H
#define TF_MODEL_ACTS_PRIVATE_H

#include "model/weights.h"

struct tf_pairs; /* pairs.h */
struct tf_watch; /* transformer.h */

struct tf_step_acts {
    const struct tf_step *step;
    tf_mem *in, *o, *stats; /* of the sublayer, see struct tf_widths */
    tf_mem *s, *y;          /* [R, D] */
    tf_mem *mean, *rstd;    /* STAT [R] */
};

/* One side: the encoder on source rows, or the decoder on target rows. */
struct tf_stack_acts {
    const struct tf_stack *stack;
    struct tf_rows *rows;
    size_t n;                  /* rows in use */
    tf_mem *ids;               /* U32; the decoder's input */
    tf_mem *at;                /* U32: positions, for tables that are packed; else NULL */
    tf_mem *embed;             /* [R, D] */
    struct tf_step_acts *step; /* [stack->n] */
    tf_mem *u;                 /* [R, D]: a sublayer's output */
    tf_mem *du, *ds, *dy;      /* [R, D]: gradients of u, of sums and of outputs of norms */
    tf_mem *d_in, *d_o;        /* gradients of in and o; d_o: or what is computed again */
};

struct tf_work {
    const struct tf_weights *w;
    const struct tf_backend *be;
    struct tf_ctx *ctx;
    bool training; /* a backward pass follows the current one */
    bool dropout;  /* the current pass drops */
    /* every layer has its own buffers, and there are gradients: for passes of either kind; else all
     * layers share one set */
    bool backward;
    size_t cap_src, cap_tgt, cap_n;
    size_t bytes, most; /* in the buffers now; at any time */
    bool counting;      /* bytes alone: nothing is allocated */
    struct tf_stack_acts enc, dec;
    /* [source rows, L * (H*dk + H*dv)]: cross keys and values of all layers, and their gradient */
    tf_mem *kv, *dkv;
    /* ACT [shared_cap]: keys and values of each source once, where pairs share sources */
    tf_mem *shared_kv;
    size_t shared_cap;
    tf_mem *tgt_out;                /* U32 ids */
    tf_mem *acc;                    /* F64 [4] */
    tf_mem *logp;          /* STAT [target rows]; of a backward pass the weights of the rows */
    const tf_mem *weights; /* of the current pass: that, or NULL: 1 */
    const struct tf_pairs *guided;  /* of the current pass, whose links guide it; NULL: none */
    tf_mem *guided_acc;             /* that of the pass: loss is added to */
    tf_mem *grads;                  /* PARAM, of the current pass; NULL forward only */
    struct {
        const struct tf_watch *what;     /* NULL: nothing is watched */
        tf_mem *mem[TF_ATTENTION_KINDS]; /* STAT: weights of the watched layers */
        size_t cap[TF_ATTENTION_KINDS],
            each[TF_ATTENTION_KINDS]; /* elements in total; of a layer */
    } watch;
    tf_mem **owned; /* all buffers above, for freeing */
    size_t n_owned;
    struct { /* decoding, [hypotheses, ...]: two outputs of norms, and as above */
        tf_mem *x, *y, *u, *in, *o;
        size_t cap;
    } step;
};

/* A step of decoding, and what the decoder attends to (incremental.h). */
struct tf_decoding {
    const struct tf_memory *memory;
    const struct tf_cache *cache;
    const struct tf_decode_step *now;
};

/* Columns of a layer's keys, and of its keys and values together. */
static inline size_t tf_k_width(const struct tf_config *c)
{
    return (size_t)(c->heads * c->d_k);
}
static inline size_t tf_kv_width(const struct tf_config *c)
{
    return (size_t)(c->heads * (c->d_k + c->d_v));
}
/* Parameter i of the table, or NULL for -1; its gradient. */
static inline tf_mem *tf_weight(const struct tf_work *k, int i)
{
    return i < 0 ? NULL : tf_weights_at(k->w, i);
}
static inline tf_mem *tf_grad(const struct tf_work *k, int i)
{
    return i < 0 ? NULL : tf_at(k->be, TF_ELEM_PARAM, k->grads, k->w->params.v[i].offset);
}
/* The table of positions of a stack: learned, or sinusoids. */
static inline const tf_mem *tf_positions(const struct tf_work *k, const struct tf_stack *stack)
{
    return stack->pos >= 0 ? tf_weight(k, stack->pos) : k->w->sinusoids;
}
#define TF_NO_DROPOUT ((struct tf_dropout){0})
/* Dropout with probability p at a site of that layer (0 for embeddings); off outside training. */
static inline struct tf_dropout tf_dropout_at(const struct tf_work *k, double p, int layer,
                                              enum tf_dropout_site site)
{
    return (struct tf_dropout){.p = k->dropout ? (float)p : 0,
                               .site = (uint32_t)(TF_DROPOUT_PER_LAYER * layer + (int)site)};
}
/* Within a sublayer. */
static inline struct tf_dropout tf_inner_dropout(const struct tf_work *k, double p,
                                                 const struct tf_step *s)
{
    return tf_dropout_at(k, p, s->layer, s->site);
}

/* ---- products with weights; w, b: indices of parameters, -1: no b ---- */

/* y [rows, N] = x w + b with the packed weights. */
static inline void tf_linear_rows(struct tf_work *k, tf_mem *y, const tf_mem *x, int w, int b,
                                  size_t rows, unsigned flags)
{
    k->be->linear_packed(k->ctx, y, x, k->w->packed[w], tf_weight(k, b), rows, flags);
}
/* y [R, N] = x w + b, with the packed weights where they exist and no gradient is required. */
static inline void tf_linear_fwd(struct tf_work *k, tf_mem *y, const tf_mem *x, int w, int b,
                                 const struct tf_stack_acts *side, unsigned flags,
                                 struct tf_dropout dropout)
{
    const struct tf_param *p = &k->w->params.v[w];
    if (!k->training && k->w->packed != NULL)
        tf_linear_rows(k, y, x, w, b, side->n, flags);
    else
        k->be->linear_fwd(k->ctx, y, x, tf_weight(k, w), tf_weight(k, b), side->rows,
                          (int)p->dims[1], (int)p->dims[0], flags, dropout);
}
/* Overwrites dx (with TF_LIN_ADD_DX: adds to it) and the gradients of w and b. */
static inline void tf_linear_bwd(struct tf_work *k, tf_mem *dx, tf_mem *dy, const tf_mem *x, int w,
                                 int b, const struct tf_stack_acts *side, unsigned flags,
                                 struct tf_dropout dropout)
{
    const struct tf_param *p = &k->w->params.v[w];
    k->be->linear_bwd(k->ctx, dx, tf_grad(k, w), tf_grad(k, b), dy, x, tf_weight(k, w), side->rows,
                      (int)p->dims[1], (int)p->dims[0], flags, dropout);
}

#endif
