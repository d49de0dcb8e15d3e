/* params.h - the table of parameters, which defines storage, names in files, counts and
 * initialisation. */
#ifndef TF_MODEL_PARAMS_H
#define TF_MODEL_PARAMS_H

#include "model/config.h"
#include <stddef.h>

enum tf_init { TF_INIT_GLOROT, TF_INIT_NORMAL, TF_INIT_ONE, TF_INIT_ZERO };

struct tf_param {
    char name[40];    /* "enc.0.self.qkv.w"; in files with "p/" in front */
    int rank;         /* 1 or 2 */
    int64_t dims[2];  /* matrices [inputs, outputs]; embeddings [V, D] */
    size_t offset, n; /* elements, in the flat block; offsets are multiples of 16 */
    /* of a matrix: which of its dims are the outputs, or of a table of embeddings the pieces; -1
     * for vectors and for tables of positions */
    int outputs;
    bool table; /* of embeddings, whose rows are looked up */
    enum tf_init init;
    double scale; /* GLOROT: uniform in [-scale, scale); NORMAL: standard deviation */
    /* columns of fused matrices: column c takes scale when c % period < split, else scale2 */
    int64_t period, split;
    double scale2;
};

/* Where the model applies dropout. The values are part of the random stream (struct tf_dropout) and
 * never change: a site of layer l (from 0) is TF_DROPOUT_PER_LAYER * l + the value here. A sublayer
 * has two: within it (attention weights, the hidden units of a feed-forward layer), and + 1 its
 * output. */
enum tf_dropout_site {
    TF_DROPOUT_SRC_EMBED = 0,
    TF_DROPOUT_TGT_EMBED = 1,
    TF_DROPOUT_ENC_SELF = 16,
    TF_DROPOUT_ENC_FF = 18,
    TF_DROPOUT_DEC_SELF = 48,
    TF_DROPOUT_DEC_CROSS = 50,
    TF_DROPOUT_DEC_FF = 52,
    TF_DROPOUT_PER_LAYER = 64,
};

enum tf_attention_kind {
    TF_ATTENTION_ENCODER,
    TF_ATTENTION_DECODER,
    TF_ATTENTION_CROSS,
    TF_ATTENTION_KINDS
};

/* Elements of a row in the buffers of one sublayer. */
struct tf_widths {
    size_t in, o;  /* what its first map gives, and what its last map takes if that is elsewhere */
    size_t kept;   /* in place of o, if it is for the backward pass alone */
    size_t shared; /* or if that computes it again, into a buffer that all layers share */
    size_t stats;  /* STAT, for the backward pass alone */
    size_t cache;  /* what decoding keeps of a position */
};

/* One step of a stack: a sublayer f, an addition and a norm (params_plan.c). Parameters are indices
 * into the table, -1 for one that the configuration does not have. */
struct tf_step {
    const struct tf_sublayer *f; /* sublayer_private.h; NULL: a norm alone */
    int layer;
    bool decoder;
    enum tf_attention_kind attention; /* TF_ATTENTION_KINDS: f does not attend */
    enum tf_dropout_site site;
    int in_w, in_b, out_w, out_b; /* f's first and last map */
    int norm_g, norm_b;           /* [D] */
    bool x_is_sum;                /* the next step adds to this one's sum, not to its output */
    bool drops_output;            /* dropout at the site is that of y */
    struct tf_widths width;
    size_t cache_at; /* its columns in the cache begin here */
};

/* Encoder or decoder: embeddings, with positions added to them, and steps. */
struct tf_stack {
    int table;                 /* [V, D], the encoder's [source ids, D] */
    int pos;                   /* [max_positions, D], learned positions only */
    enum tf_dropout_site site; /* of the embeddings */
    struct tf_step *step;
    int n;
    bool ends_in_sum;      /* its output is the sum of the last step, not the norm's */
    struct tf_widths most; /* in, o or shared: of the widest sublayer; cache: of all */
};

/* All parameters of a model in order. The flat block has `size` elements, of which `count` are
 * parameters and the others padding, always zero. */
struct tf_params {
    struct tf_param *v;
    size_t n, size;
    uint64_t count;
    int project;   /* [V, D]: the decoder's table where tied */
    int project_b; /* [V] */
    /* [D, L * (H*dk + H*dv)]: keys and values of all decoder layers from the encoder's output */
    int cross_w, cross_b;
    struct tf_stack enc, dec;
    bool attends[TF_ATTENTION_KINDS]; /* Is there such attention? */
};

/* Is parameter i the encoder's, or its table of embeddings, which others may share? */
bool tf_params_of_encoder(const struct tf_params *p, size_t i);
/* May a file have this parameter in 8 bits (stream/stored.h)? */
static inline bool tf_param_takes_int8(const struct tf_param *p)
{
    return p->outputs >= 0;
}
/* Does decoding read this parameter in packed form alone? tables_packed: of tf_weights. */
static inline bool tf_param_is_packed(const struct tf_param *p, bool tables_packed)
{
    return p->outputs >= 0 && (!p->table || tables_packed);
}

/* config must have passed tf_config_check with vocab_size > 0 */
void tf_params_init(struct tf_params *p, const struct tf_config *c);
void tf_params_release(struct tf_params *p);
/* Leave the packed parameters and tables of embeddings out of the flat block. The offsets of the
 * former are then in a block of their own, of so many elements; each table is a block. */
size_t tf_params_without_packed(struct tf_params *p, bool tables_packed);
const struct tf_param *tf_params_find(const struct tf_params *p, const char *name); /* or NULL */
/* Initial values. Embeddings are normal with standard deviation D^-0.5, biases zero, gains of layer
 * norm one. Matrices are uniform with Glorot and Bengio's limit sqrt(6 / (fan in + fan out)):
 * glorot: each projection with its own fans;
 * fused, as tensor2tensor: the fused matrix of a layer (q, k and v; k and v) with the fans of the
 * whole, which gives smaller queries, keys and values;
 * scaled: fused, and the matrices that end a sublayer (o and the second of the feed-forward layer)
 * multiplied by 1/sqrt(2N) in a stack of N layers, as in GPT-2 (Radford et al. 2019).
 * They go into a flat host block of p->size floats. Parameter i takes random numbers from
 * tf_rng_new(seed, i), so none depends on another. */
void tf_params_fill(float *flat, const struct tf_params *p, uint64_t seed);

/* FLOP of forward and backward for a batch of so many source and target tokens in sentences of
 * these mean lengths: 2 FLOP per multiply-add, backward counts as twice forward. */
struct tf_batch_size {
    double src_tokens, tgt_tokens, src_len, tgt_len;
};
double tf_params_flop(const struct tf_params *p, const struct tf_config *c,
                      const struct tf_batch_size *n);

#endif
