/* params.h - the one table of parameters: storage, names in files, counts, initialisation and tests
 * all come from it. */
#ifndef TF_MODEL_PARAMS_H
#define TF_MODEL_PARAMS_H

#include "model/config.h"
#include <stddef.h>

enum tf_init { TF_INIT_GLOROT, TF_INIT_NORMAL, TF_INIT_ONE, TF_INIT_ZERO };

struct tf_param {
    char name[40];     /* "enc.0.self.qkv.w"; in files with "p/" in front */
    int rank;          /* 1 or 2 */
    int64_t dims[2];   /* matrices [inputs, outputs]; embeddings [V, D] */
    size_t offset, n;  /* elements, in the flat block; offsets are multiples of 16 */
    enum tf_init init;
    double scale;      /* GLOROT: uniform in +-scale; NORMAL: standard deviation */
    /* columns of fused matrices: column c takes scale when c % period < split, else scale2 */
    int64_t period, split;
    double scale2;
};

/* Where the parts of a layer are in the table: indices, -1 for what the configuration does not
 * have. */
struct tf_attention_params {
    int norm_g, norm_b;          /* [D]: of this sublayer */
    int in_w, in_b;              /* self: [D, 2*H*dk + H*dv] for q, k, v; cross: [D, H*dk] for q */
    int out_w, out_b;            /* [H*dv, D] */
};
struct tf_ff_params {
    int norm_g, norm_b;
    int w1, b1, w2, b2;          /* [D, F] [F] [F, D] [D] */
};
struct tf_layer_params {
    struct tf_attention_params self, cross; /* cross: decoder only */
    struct tf_ff_params ff;
};

/* All parameters of a model in order. The flat block has `size` elements (padding included, always
 * zero); `count` are real. */
struct tf_params {
    struct tf_param *v;
    size_t n, size;
    uint64_t count;
    int src_embed, tgt_embed, project; /* [V, D]; the same index where tied */
    int src_pos, tgt_pos;              /* [max_positions, D], learned positions only */
    struct tf_layer_params *enc, *dec;
    int enc_norm_g, enc_norm_b, dec_norm_g, dec_norm_b; /* final norms, pre-norm only */
    /* [D, L * (H*dk + H*dv)]: keys and values of all decoder layers from the encoder's output */
    int cross_w, cross_b;
};

/* config must have passed tf_config_check with vocab_size > 0 */
void tf_params_init(struct tf_params *p, const struct tf_config *c);
void tf_params_release(struct tf_params *p);
const struct tf_param *tf_params_find(const struct tf_params *p, const char *name); /* or NULL */
/* Initial values into a flat host block (size floats): tf_rng(seed, index of the parameter), so no
 * parameter depends on another. */
void tf_params_fill(float *flat, const struct tf_params *p, uint64_t seed);

/* Dropout sites, frozen: 0 source embedding, 1 target embedding; layer l (0-based) of the encoder
 * 64*l + 16 + {0 self-attention weights, 1 its output, 2 relu, 3 feed-forward output}; of the
 * decoder 64*l + 48 + {0 self weights, 1 self output, 2 cross weights, 3 cross output, 4 relu, 5
 * feed-forward output}. */
enum { TF_SITE_SRC = 0, TF_SITE_TGT = 1, TF_SITE_ENC = 16, TF_SITE_DEC = 48, TF_SITE_LAYER = 64 };

#endif
