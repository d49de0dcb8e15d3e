/* weights.h - the weights of a model in backend memory. */
#ifndef TF_MODEL_WEIGHTS_H
#define TF_MODEL_WEIGHTS_H

#include "model/params.h"
#include "ops/backend.h"

/* pe [rows, D] = the configuration's table of positions, from its first one on.
 * paper (3.5): PE(pos, 2i) = sin(pos / 10000^(2i/D)), PE(pos, 2i+1) = cos(the same).
 * t2t: all sines, then all cosines, wavelengths 2 pi 10000^(i / (D/2 - 1)); an odd last column
 * stays 0. halves: the columns of t2t with the paper's wavelengths, 2 pi 10000^(i / (D/2)). */
void tf_sinusoids(float *pe, size_t rows, const struct tf_config *c);

/* Shared by all lanes. Owns its memory. */
struct tf_weights {
    const struct tf_backend *be;
    struct tf_ctx *ctx; /* a lane for its transfers; borrowed */
    struct tf_config config;
    struct tf_params params; /* the table; of a file without those that are packed */
    tf_mem *flat;            /* PARAM [params.size] */
    /* WEIGHT: of a file for forward passes, what decoding packs, where that is smaller than PARAM;
     * else NULL */
    tf_mem *narrow;
    bool tables_narrow; /* with the tables of embeddings */
    /* PARAM: of a file for decoding or forward passes, tables of embeddings that are not so, each
     * alone: a copy of flat for products (biases) then has none of them. By parameter; or NULL */
    tf_mem **table;
    tf_mem *sinusoids;  /* PARAM [pos_rows, D], NULL with learned positions */
    size_t pos_rows;
    bool encoder_is_frozen; /* training needs no gradient of it: they are 0 */
    bool tables_packed;        /* decoding looks embeddings up in packed tables */
    bool selects;              /* decoding needs some outputs of the model at a time only */
    struct tf_packed **packed; /* one per matrix of the table; NULL before they are packed */
    bool *loaded;              /* from a file: one per parameter of the table */
};

/* Copy `flat` (params.size host floats) to the backend; NULL: all 0. */
int tf_weights_init(struct tf_weights *w, const struct tf_backend *be, struct tf_ctx *ctx,
                    const struct tf_config *c, const float *flat, struct tf_err *err) TF_MUST_CHECK;
void tf_weights_release(struct tf_weights *w);
/* Is parameter p among the WEIGHTs? */
bool tf_weights_are_narrow(const struct tf_weights *w, const struct tf_param *p);
/* Parameter i of the table, which is not packed. */
tf_mem *tf_weights_at(const struct tf_weights *w, int i);
/* Make sure that positions 0 .. n-1 exist. Sinusoids grow; too few learned ones are an error. Not
 * while lanes run. */
int tf_weights_positions(struct tf_weights *w, size_t n, struct tf_err *err) TF_MUST_CHECK;

#endif
