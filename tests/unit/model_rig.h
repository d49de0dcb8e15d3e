/* model_rig.h - a small model on a backend, for tests: open, weights, pairs, close. */
#ifndef TF_TESTS_MODEL_RIG_H
#define TF_TESTS_MODEL_RIG_H

#include "base/rng.h"
#include "model/work.h"
#include "../tap.h"

#include <stdlib.h>
#include <string.h>

struct rig {
    const struct tf_backend *be;
    struct tf_ctx *ctx;
    struct tf_weights w;
    struct tf_work *k;
    tf_mem *grads;
};

static inline void rig_must(int rc, const struct tf_err *err)
{
    if (rc < 0) {
        printf("Bail out! %s\n", err->msg);
        exit(1);
    }
}

/* A configuration small enough for central differences, with every width different from the
 * others. */
static inline struct tf_config rig_config(void)
{
    return (struct tf_config){
        .encoder_layers = 2,
        .decoder_layers = 2,
        .d_model = 6,
        .d_ff = 10,
        .heads = 2,
        .d_k = 3,
        .d_v = 5,
        .vocab_size = 11,
        .norm_eps = 1e-6,
        .label_smoothing = 0.1,
        .bos = 2,
        .eos = 3,
        .pad = 0,
    };
}

static inline void rig_open(struct rig *r, const struct tf_backend *be, const struct tf_config *c,
                            const float *flat)
{
    struct tf_err err = {0};
    *r = (struct rig){.be = be};
    rig_must(tf_config_check(c, &err), &err);
    r->ctx = be->open(&(struct tf_open){.threads = 1}, &err);
    rig_must(r->ctx ? 0 : -1, &err);
    rig_must(tf_weights_init(&r->w, be, r->ctx, c, flat, &err), &err);
    rig_must(tf_weights_positions(&r->w, 8, &err), &err);
    r->k = tf_work_new(&r->w, r->ctx);
    r->grads = be->alloc(r->ctx, TF_ELEM_PARAM, r->w.params.size, &err);
    rig_must(r->grads ? 0 : -1, &err);
}

static inline void rig_close(struct rig *r)
{
    tf_work_free(r->k);
    r->be->free(r->ctx, r->grads);
    tf_weights_release(&r->w);
    r->be->close(r->ctx);
}

/* Backend PARAMs or ACTs as doubles. */
static inline void rig_get(const struct rig *r, double *dst, enum tf_elem e, const tf_mem *src,
                           size_t n)
{
    struct tf_err err = {0};
    if (r->be->elem_size[e] == sizeof(double)) {
        rig_must(r->be->download(r->ctx, dst, e, src, n, &err), &err);
        return;
    }
    float *x = malloc(n * sizeof *x);
    rig_must(r->be->download(r->ctx, x, e, src, n, &err), &err);
    for (size_t i = 0; i < n; i++)
        dst[i] = (double)x[i];
    free(x);
}

/* One weight, set. */
static inline void rig_put(const struct rig *r, size_t i, double x)
{
    float f = (float)x;
    const void *src =
        r->be->elem_size[TF_ELEM_PARAM] == sizeof x ? (const void *)&x : (const void *)&f;
    r->be->upload(r->ctx, tf_at(r->be, TF_ELEM_PARAM, r->w.flat, i), TF_ELEM_PARAM, src, 1);
}

/* Four pairs: ordinary, long target, empty source, empty target. */
static inline void rig_pairs(struct tf_pairs *p, const struct tf_config *c)
{
    static const uint32_t src[] = {4, 7, 5, 9, 5, 6, 7, 8, 9, 10}, src_off[] = {0, 3, 4, 4, 10};
    static const uint32_t tgt[] = {6, 8, 10, 4, 5, 7, 6, 5}, tgt_off[] = {0, 2, 7, 8, 8};
    struct tf_err err = {0};
    rig_must(tf_pairs_set(p, c, 4, src, src_off, tgt, tgt_off, &err), &err);
}

/* Weights with all gradients alive: initial values plus noise (norm gains away from 1, biases away
 * from 0). */
static inline float *rig_weights(const struct tf_config *c, uint64_t seed)
{
    struct tf_params p;
    tf_params_init(&p, c);
    float *flat = calloc(p.size, sizeof *flat);
    tf_params_fill(flat, &p, seed);
    struct tf_rng rng = tf_rng_new(seed, 1000);
    for (size_t i = 0; i < p.n; i++)
        for (size_t j = 0; j < p.v[i].n; j++)
            flat[p.v[i].offset + j] += (float)(0.1 * tf_rng_normal(&rng));
    tf_params_release(&p);
    return flat;
}

/* tf_queue_backward, waited for: adds to *sums. */
static inline void rig_backward(struct tf_work *k, tf_mem *grads, struct tf_sums *sums,
                                const struct tf_pairs *p, size_t from, size_t to,
                                const struct tf_step *step)
{
    struct tf_err err = {0};
    double sum[4];
    tf_mem *acc = k->be->alloc(k->ctx, TF_ELEM_F64, 4, &err);
    rig_must(acc != NULL ? 0 : -1, &err);
    rig_must(tf_queue_backward(k, grads, acc, p, from, to, step, &err), &err);
    rig_must(k->be->download(k->ctx, sum, TF_ELEM_F64, acc, 4, &err), &err);
    const struct tf_sums more = tf_sums_of(sum);
    tf_sums_add(sums, &more);
    k->be->free(k->ctx, acc);
}

#endif
