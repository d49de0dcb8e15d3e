/* acts_private.h - struct tf_work: the activations of one lane. For the files of the model only.
 *
 * Both norm placements are one scheme. A stack of n sublayers f_i has n norms, each after an
 * addition:
 *   post-norm: x_0 = embedding; s_i = x_i + dropout(f_i(x_i)); x_{i+1} = norm_i(s_i); output x_n
 *   pre-norm:  s_0 = embedding; y_0 = norm_0(s_0); s_{i+1} = s_i + dropout(f_i(y_i));
 *              y_{i+1} = norm_{i+1}(s_{i+1}); output y_n
 * For the backward pass each norm keeps its sum s, its output y, and the row's mean and 1/sd.
 *
 * R rows, D = d_model, F = d_ff, H heads of dk and dv columns, L decoder layers. Elements are ACT
 * where nothing else is stated. */
#ifndef TF_MODEL_ACTS_PRIVATE_H
#define TF_MODEL_ACTS_PRIVATE_H

#include "model/watch.h"
#include "model/weights.h"

struct tf_norm_acts {
    tf_mem *s, *y;       /* [R, D] */
    tf_mem *mean, *rstd; /* STAT [R] */
};

struct tf_attention_acts {
    tf_mem *in;  /* self: [R, 2*H*dk + H*dv]: q, k, v; cross: [R, H*dk]: q; ssru: [R, 2D] */
    tf_mem *o;   /* [R, H*dv]; ssru: the cells [R, D] */
    tf_mem *lse; /* STAT [R, H]; ssru: NULL */
};

struct tf_layer_acts {
    struct tf_attention_acts self, cross;
    tf_mem *hidden; /* [R, F] after ReLU and dropout */
};

/* One side: the encoder on source rows, or the decoder on target rows. */
struct tf_stack_acts {
    struct tf_rows *rows;
    size_t n;                   /* rows in use */
    tf_mem *embed;              /* [R, D] */
    struct tf_norm_acts *norms; /* one per sublayer, and one more with pre-norm */
    struct tf_layer_acts *layers;
    tf_mem *u;                     /* [R, D]: a sublayer's output */
    tf_mem *du, *ds, *dy;          /* [R, D]: gradients of u, of sums and of outputs of norms */
    tf_mem *d_o, *d_in, *d_hidden; /* gradients of a sublayer's own activations */
    tf_mem *swished;               /* the result of swish; NULL with ReLU */
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
    tf_mem *src, *tgt_in, *tgt_out; /* U32 ids */
    tf_mem *src_at; /* U32: positions of src, for tables that are packed; else NULL */
    tf_mem *acc;                    /* F64 [4] */
    tf_mem *logp;                   /* STAT [target rows] */
    tf_mem *grads;                  /* PARAM, of the current pass; NULL forward only */
    struct {
        const struct tf_watch *what;     /* NULL: nothing is watched */
        tf_mem *mem[TF_ATTENTION_KINDS]; /* STAT: weights of the watched layers */
        size_t cap[TF_ATTENTION_KINDS],
            each[TF_ATTENTION_KINDS]; /* elements in total; of a layer */
    } watch;
    tf_mem **owned; /* all buffers above, for freeing */
    size_t n_owned;
    struct { /* decoding: [live rows, ...], see incremental.c */
        tf_mem *x, *sum, *y, *in, *o, *q, *hidden;
        size_t cap;
    } step;
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
/* Has the decoder of this model a recurrent unit in place of self-attention? */
static inline bool tf_is_recurrent(const struct tf_config *c)
{
    return c->decoder_self == TF_DECODER_SSRU;
}
static inline bool tf_is_decoder(const struct tf_work *k, const struct tf_stack_acts *side)
{
    return side == &k->dec;
}
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

#endif
