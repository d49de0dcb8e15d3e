/* params.c - the table of parameters, and their initial values. */
#include "base/memory.h"
#include "base/rng.h"
#include "model/params_private.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Give q its place, at the end of a block of *size elements. */
static void append_to_block(size_t *size, struct tf_param *q)
{
    q->offset = *size;
    *size += (q->n + 15) / 16 * 16;
}

int tf_add_param(struct tf_params *p, int64_t rows, int64_t cols, enum tf_init init, double scale,
                 const char *name, const char *part)
{
    p->v = tf_xarray(p->v, p->n + 1, sizeof *p->v);
    struct tf_param *q = &p->v[p->n];
    memset(q, 0, sizeof *q);
    snprintf(q->name, sizeof q->name, part[0] != 0 ? "%s.%s" : "%s", name, part);
    q->rank = cols ? 2 : 1;
    q->dims[0] = rows;
    q->dims[1] = cols ? cols : 1;
    q->n = (size_t)rows * (size_t)q->dims[1];
    q->outputs = cols ? 1 : -1;
    q->init = init;
    q->scale = q->scale2 = scale;
    q->period = q->split = q->dims[1];
    p->count += q->n;
    append_to_block(&p->size, q);
    return (int)p->n++;
}

double tf_glorot(int64_t in, int64_t out)
{
    return sqrt(6.0 / (double)(in + out));
}

int tf_add_fused(struct tf_params *p, const struct tf_config *c, int64_t n_k, int64_t n_v,
                 int64_t layers, const char *name, const char *part)
{
    int64_t k = c->heads * c->d_k, v = c->heads * c->d_v, cols = n_k * k + n_v * v;
    int i = tf_add_param(p, c->d_model, layers * cols, TF_INIT_GLOROT, tf_glorot(c->d_model, cols),
                         name, part);
    if (c->initializer == TF_INITIALIZER_GLOROT) {
        p->v[i].period = cols;
        p->v[i].split = n_k * k;
        p->v[i].scale = tf_glorot(c->d_model, k);
        p->v[i].scale2 = tf_glorot(c->d_model, v);
    }
    return i;
}

int tf_add_output(struct tf_params *p, const struct tf_config *c, int64_t rows, bool decoder,
                  const char *name, const char *part)
{
    double limit = tf_glorot(rows, c->d_model);
    if (c->initializer == TF_INITIALIZER_SCALED)
        limit /= sqrt(2 * (double)(decoder ? c->decoder_layers : c->encoder_layers));
    return tf_add_param(p, rows, c->d_model, TF_INIT_GLOROT, limit, name, part);
}

size_t tf_params_without_packed(struct tf_params *p, bool tables_packed)
{
    size_t apart = p->size = 0;
    for (size_t i = 0; i < p->n; i++) {
        const bool packed = tf_param_is_packed(&p->v[i], tables_packed);
        size_t alone = 0;
        append_to_block(packed ? &apart : p->v[i].table ? &alone : &p->size, &p->v[i]);
    }
    return apart;
}

void tf_params_release(struct tf_params *p)
{
    free(p->v);
    free(p->enc.step);
    free(p->dec.step);
    *p = (struct tf_params){0};
}

const struct tf_param *tf_params_find(const struct tf_params *p, const char *name)
{
    for (size_t i = 0; i < p->n; i++)
        if (strcmp(p->v[i].name, name) == 0)
            return &p->v[i];
    return NULL;
}

bool tf_params_of_encoder(const struct tf_params *p, size_t i)
{
    return (int)i == p->enc.table || strncmp(p->v[i].name, "enc.", 4) == 0;
}

void tf_params_fill(float *flat, const struct tf_params *p, uint64_t seed)
{
    memset(flat, 0, p->size * sizeof *flat);
    for (size_t i = 0; i < p->n; i++) {
        const struct tf_param *q = &p->v[i];
        struct tf_rng rng = tf_rng_new(seed, i);
        float *x = flat + q->offset;
        for (size_t j = 0; j < q->n; j++) {
            switch (q->init) {
            case TF_INIT_GLOROT: {
                int64_t column = (int64_t)(j % (size_t)q->dims[1]) % q->period;
                double limit = column < q->split ? q->scale : q->scale2;
                x[j] = (float)((2 * tf_rng_real(&rng) - 1) * limit);
                break;
            }
            case TF_INIT_NORMAL:
                x[j] = (float)(tf_rng_normal(&rng) * q->scale);
                break;
            case TF_INIT_ONE:
                x[j] = 1;
                break;
            case TF_INIT_ZERO:
                break;
            }
        }
    }
}
