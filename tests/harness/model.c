/* model.c - small models for tests: see model.h. */
#include "model.h"
#include "base/memory.h"
#include "base/rng.h"
#include "model/load.h"
#include "stream.h"

#include <stdlib.h>

struct tf_config small_config(void)
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
        .source_eos = true,
        .bos = 2,
        .eos = 3,
        .pad = 0,
    };
}

void small_model_open(struct small_model *m, const struct tf_backend *be, const struct tf_config *c,
                      const float *flat)
{
    struct tf_err err = {0};
    *m = (struct small_model){.be = be};
    must(tf_config_check(c, &err), &err);
    m->ctx = be->open(&(struct tf_ctx_opts){.threads = 1}, &err);
    must(m->ctx ? 0 : -1, &err);
    must(tf_weights_init(&m->w, be, m->ctx, c, flat, &err), &err);
    must(tf_weights_positions(&m->w, 8, &err), &err);
    m->k = tf_work_new(&m->w, m->ctx);
    m->grads = be->alloc(m->ctx, TF_ELEM_PARAM, m->w.params.size, &err);
    must(m->grads ? 0 : -1, &err);
}

void small_model_close(struct small_model *m)
{
    tf_work_free(m->k);
    m->be->free(m->ctx, m->grads);
    tf_weights_release(&m->w);
    m->be->close(m->ctx);
}

void small_model_get(const struct small_model *m, double *dst, enum tf_elem e, const tf_mem *src,
                     size_t n)
{
    struct tf_err err = {0};
    if (m->be->elem_size[e] == sizeof(double)) {
        must(m->be->download(m->ctx, dst, e, src, n, &err), &err);
        return;
    }
    float *x = malloc(n * sizeof *x);
    must(m->be->download(m->ctx, x, e, src, n, &err), &err);
    for (size_t i = 0; i < n; i++)
        dst[i] = (double)x[i];
    free(x);
}

void small_model_put(const struct small_model *m, size_t i, double x)
{
    float f = (float)x;
    const void *src =
        m->be->elem_size[TF_ELEM_PARAM] == sizeof x ? (const void *)&x : (const void *)&f;
    m->be->upload(m->ctx, tf_at(m->be, TF_ELEM_PARAM, m->w.flat, i), TF_ELEM_PARAM, src, 1);
}

void small_pairs(struct tf_pairs *p, const struct tf_config *c)
{
    static const uint32_t src[] = {4, 7, 5, 9, 5, 6, 7, 8, 9, 10}, src_off[] = {0, 3, 4, 4, 10};
    static const uint32_t tgt[] = {6, 8, 10, 4, 5, 7, 6, 5}, tgt_off[] = {0, 2, 7, 8, 8};
    struct tf_err err = {0};
    must(tf_pairs_set(p, c, 4, src, src_off, tgt, tgt_off, &err), &err);
}

float *small_weights(const struct tf_config *c, uint64_t seed)
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

void run_backward(struct tf_work *k, tf_mem *grads, struct tf_sums *sums, const struct tf_pairs *p,
                  size_t from, size_t to, const struct tf_rng_state *step)
{
    struct tf_err err = {0};
    double sum[4];
    tf_mem *acc = k->be->alloc(k->ctx, TF_ELEM_F64, 4, &err);
    must(acc != NULL ? 0 : -1, &err);
    must(tf_queue_backward(k, grads, acc, p, from, to, step, &err), &err);
    must(k->be->download(k->ctx, sum, TF_ELEM_F64, acc, 4, &err), &err);
    const struct tf_sums more = tf_sums_of(sum);
    tf_sums_add(sums, &more);
    k->be->free(k->ctx, acc);
}

/* ---- models in files ---- */

struct tf_config decode_config(void)
{
    return (struct tf_config){.encoder_layers = 2,
                              .decoder_layers = 2,
                              .d_model = 32,
                              .d_ff = 48,
                              .heads = 4,
                              .d_k = 8,
                              .d_v = 8,
                              .vocab_size = TOKEN_LINE_V,
                              .norm_eps = 1e-6,
                              .source_eos = true,
                              .bos = 2,
                              .eos = 3,
                              .pad = 0};
}

void write_random_model(const char *path, const struct tf_config *c, uint64_t seed, float sharpness)
{
    struct tf_err err = {0};
    struct tf_params p;
    struct tf_arena a = {0};
    must(tf_config_check(c, &err), &err);
    tf_params_init(&p, c);
    float *flat = tf_xcalloc(p.size, sizeof *flat);
    tf_params_fill(flat, &p, seed);
    for (size_t i = 0; i < p.n; i++)
        if (p.v[i].dims[0] == c->vocab_size)
            for (size_t j = 0; j < p.v[i].n; j++)
                flat[p.v[i].offset + j] *= sharpness;
    struct tf_header h;
    plain_header(&h, "model", 7, c->vocab_size);
    h.config = tf_config_map(c, &a);
    must(write_model(path, &h, NULL, 0, NULL, 0, tf_model_tensors(&a, &p, flat, "p/"), p.n, &err),
         &err);
    tf_params_release(&p);
    tf_arena_release(&a);
    free(flat);
}
