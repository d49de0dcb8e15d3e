/* work.h - the activations of one lane, shared by the files of the model; not for others.
 *
 * Both norm placements are one scheme. A stack of n sublayers f_i has n norms, behind additions:
 *   post-norm: x_0 = embedding; s_i = x_i + dropout(f_i(x_i)); x_{i+1} = norm_i(s_i); output x_n
 *   pre-norm:  s_0 = embedding; y_0 = norm_0(s_0); s_{i+1} = s_i + dropout(f_i(y_i));
 *              y_{i+1} = norm_{i+1}(s_{i+1}); output y_n
 * Each norm keeps its sum s, its output y, and the row's mean and 1/sd for the way back. */
#ifndef TF_MODEL_WORK_H
#define TF_MODEL_WORK_H

#include "model/transformer.h"

struct tf_norm_acts {
    tf_mem *s, *y;        /* [R, D] */
    tf_mem *mean, *rstd;  /* [R] */
};

struct tf_attention_acts {
    tf_mem *in;           /* self: [R, 2*H*dk + H*dv]: q, k, v; cross: [R, H*dk]: q */
    tf_mem *o;            /* [R, H*dv] */
    tf_mem *lse;          /* [R, H] */
};

struct tf_layer_acts {
    struct tf_attention_acts self, cross;
    tf_mem *hidden;       /* [R, F] after ReLU and dropout */
};

/* One side: the encoder on source rows, or the decoder on target rows. */
struct tf_stack_acts {
    struct tf_rows *rows;
    size_t n;                     /* rows in use */
    tf_mem *embed;                /* [R, D] */
    struct tf_norm_acts *norms;   /* one a sublayer, and one more with pre-norm */
    struct tf_layer_acts *layers;
    /* [R, D]: a sublayer's output and the gradients on the way back */
    tf_mem *u, *du, *ds, *dy;
    tf_mem *d_o, *d_in, *d_hidden;
};

struct tf_work {
    const struct tf_weights *w;
    const struct tf_backend *be;
    struct tf_ctx *ctx;
    /* buffers are there for the way back; else all layers share one set */
    bool training;
    size_t cap_src, cap_tgt, cap_n;
    size_t bytes, most;           /* in the buffers now; at any time */
    struct tf_stack_acts enc, dec;
    /* [Rs, L * (H*dk + H*dv)]: cross keys and values of all layers, and their gradient */
    tf_mem *kv, *dkv;
    tf_mem *src, *tgt_in, *tgt_out; /* U32 ids */
    tf_mem *acc;                  /* F64 [4] */
    tf_mem *logp;                 /* [Rt] */
    tf_mem *grads;                /* of the pass under way; NULL forward only */
    bool dropout;
    struct {
        const struct tf_watch *what; /* NULL: nothing is watched */
        tf_mem *mem[TF_ATTENTION_KINDS]; /* STAT: weights of the watched layers */
        size_t cap[TF_ATTENTION_KINDS], each[TF_ATTENTION_KINDS]; /* elements in all; of a layer */
    } watch;
    tf_mem **owned;               /* all buffers, for freeing */
    size_t n_owned;
    /* decoding, by live rows */
    struct { tf_mem *x, *sum, *y, *in, *o, *q, *hidden; size_t cap; } step;
};

int tf_work_reserve(struct tf_work *k, size_t n, size_t src_rows, size_t tgt_rows, bool training,
                    struct tf_err *err) TF_MUST_CHECK;

/* Parameter i of the table, or NULL for -1; its gradient. */
static inline tf_mem *tf_weight(const struct tf_work *k, int i)
{
    return i < 0 ? NULL : tf_at(k->be, TF_ELEM_PARAM, k->w->flat, k->w->params.v[i].offset);
}
static inline tf_mem *tf_grad(const struct tf_work *k, int i)
{
    return i < 0 ? NULL : tf_at(k->be, TF_ELEM_PARAM, k->grads, k->w->params.v[i].offset);
}
/* Dropout with probability p at a site of that layer (0 for embeddings); off outside training. */
static inline struct tf_dropout tf_dropout_at(const struct tf_work *k, double p, int layer,
                                              enum tf_dropout_site site)
{
    return (struct tf_dropout){.p = k->dropout ? (float)p : 0,
                               .site = (uint32_t)(TF_DROPOUT_PER_LAYER * layer + (int)site)};
}

/* Where the weights of this layer go; NULL when nobody watches it. attention.c */
tf_mem *tf_watched(const struct tf_work *k, enum tf_attention_kind kind, int layer);

/* Rows and ids of sentences [from, to) to the backend. */
int tf_work_load(struct tf_work *k, const struct tf_pairs *p, size_t from, size_t to, bool training,
                 struct tf_err *err) TF_MUST_CHECK;
/* Keys and values of all layers from the encoder's output. */
void tf_cross_kv(struct tf_work *k, const tf_mem *memory);

/* ---- sublayers (sublayers.c): forward writes u; backward takes du, adds to or overwrites din, and
 * writes the gradients of its weights ---- */

/* y [R, N] = x w + b by the packed weights when they are there and no gradient is wanted. */
void tf_linear(struct tf_work *k, tf_mem *y, const tf_mem *x, int w, int b,
               const struct tf_stack_acts *side, unsigned flags, struct tf_dropout dropout);

void tf_self_fwd(struct tf_work *k, struct tf_stack_acts *side, int layer, const tf_mem *in);
void tf_self_bwd(struct tf_work *k, struct tf_stack_acts *side, int layer, const tf_mem *in,
                 tf_mem *din, bool add);
void tf_cross_fwd(struct tf_work *k, int layer, const tf_mem *in);
void tf_cross_bwd(struct tf_work *k, int layer, const tf_mem *in, tf_mem *din, bool add);
void tf_ff_fwd(struct tf_work *k, struct tf_stack_acts *side, int layer, const tf_mem *in);
void tf_ff_bwd(struct tf_work *k, struct tf_stack_acts *side, int layer, const tf_mem *in,
               tf_mem *din, bool add);

/* ---- stacks (stack.c) ---- */
/* the encoder's output [Rs, D]; k->src and rows are set */
const tf_mem *tf_encoder_fwd(struct tf_work *k);
void tf_encoder_bwd(struct tf_work *k, tf_mem *dout);
const tf_mem *tf_decoder_fwd(struct tf_work *k);
void tf_decoder_bwd(struct tf_work *k, tf_mem *dout);

#endif
