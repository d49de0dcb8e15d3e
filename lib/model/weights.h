/* weights.h - the weights of a model in backend memory. */
#ifndef TF_MODEL_WEIGHTS_H
#define TF_MODEL_WEIGHTS_H

#include "model/load.h"
#include "ops/backend.h"

/* n host floats to and from elements of a backend, which may be doubles. The source of an upload
 * must stay unchanged until the next sync. */
void tf_floats_up(const struct tf_backend *be, struct tf_ctx *ctx, tf_mem *dst, enum tf_elem e,
                  const float *src, size_t n);
int tf_floats_down(const struct tf_backend *be, struct tf_ctx *ctx, float *dst, enum tf_elem e,
                   const tf_mem *src, size_t n, struct tf_err *err) TF_MUST_CHECK;

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
    struct tf_params params; /* the table; by tf_weights_begin without those that are packed */
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
/* Pack matrices for decoding; required before tf_encode and tf_decode_step. */
int tf_weights_pack(struct tf_weights *w, struct tf_err *err) TF_MUST_CHECK;
/* The parameters of a file m: begin, take tensors of it as they are read, and end when all of it
 * has been. c: its configuration. Fails if m cannot have so many: of a pipe that is known when it
 * has been read. There is no copy of all of them but the backend's. */
enum tf_weights_use {
    TF_WEIGHTS_FORWARD,
    TF_WEIGHTS_DECODING,  /* those for decoding alone, packed */
    TF_WEIGHTS_SELECTING, /* the same, with tf_outputs for every decoding step (incremental.h) */
};
int tf_weights_begin(struct tf_weights *w, const struct tf_backend *be, struct tf_ctx *ctx,
                     const struct tf_config *c, const struct tf_model_file *m,
                     enum tf_weights_use use, struct tf_err *err) TF_MUST_CHECK;
/* Load what tensor t of m completes; what is wrong is left to the end. */
int tf_weights_take(struct tf_weights *w, const struct tf_model_file *m, const struct tf_tensor *t,
                    struct tf_err *err) TF_MUST_CHECK;
/* Once all that load m have taken t: free the data of what it completed. w: one of them. */
void tf_weights_taken(const struct tf_weights *w, struct tf_model_file *m,
                      const struct tf_tensor *t);
/* Load the others. */
int tf_weights_end(struct tf_weights *w, const struct tf_model_file *m,
                   struct tf_err *err) TF_MUST_CHECK;
void tf_weights_release(struct tf_weights *w);
/* Parameter i of the table, which is not packed. */
tf_mem *tf_weights_at(const struct tf_weights *w, int i);
/* Make sure that positions 0 .. n-1 exist. Sinusoids grow; too few learned ones are an error. Not
 * while lanes run. */
int tf_weights_positions(struct tf_weights *w, size_t n, struct tf_err *err) TF_MUST_CHECK;

#endif
