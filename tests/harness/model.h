/* model.h - small models for tests: one on a backend, and random ones in files. */
#ifndef TF_TESTS_MODEL_H
#define TF_TESTS_MODEL_H

#include "model/acts_private.h"
#include "model/transformer.h"
#include "tap.h"

/* ---- a model on a backend ---- */

struct small_model {
    const struct tf_backend *be;
    struct tf_ctx *ctx;
    struct tf_weights w;
    struct tf_work *k;
    tf_mem *grads; /* w.params.size PARAMs */
};

/* A configuration small enough for central differences, in which all widths differ. */
struct tf_config small_config(void);
/* Weights whose gradients are all nonzero: initial values plus noise, so that gains differ from 1
 * and biases from 0. The caller frees them. */
float *small_weights(const struct tf_config *c, uint64_t seed);
/* Four pairs: ordinary, long target, empty source, empty target. */
void small_pairs(struct tf_pairs *p, const struct tf_config *c);

/* Open be with one thread and upload these weights. */
void small_model_open(struct small_model *m, const struct tf_backend *be, const struct tf_config *c,
                      const float *weights);
void small_model_close(struct small_model *m);
/* Download n elements (PARAM or ACT) as doubles; set weight number i. */
void small_model_get(const struct small_model *m, double *dst, enum tf_elem e, const tf_mem *src,
                     size_t n);
void small_model_put(const struct small_model *m, size_t i, double x);

/* The backward pass of pairs [from, to), finished: adds to the gradients and to *sums. */
void run_backward(struct tf_work *k, tf_mem *grads, struct tf_sums *sums, const struct tf_pairs *p,
                  size_t from, size_t to, const struct tf_rng_state *step);

/* ---- models in files ---- */

/* For decoding and scoring: a vocabulary of TOKEN_LINE_V (harness/stream.h). */
struct tf_config decode_config(void);
/* A model with random weights. Embeddings are multiplied by `sharpness`: the larger, the more
 * certain the model is. */
void write_random_model(const char *path, const struct tf_config *c, uint64_t seed,
                        float sharpness);

#endif
