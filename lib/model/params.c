/* params.c - the table of parameters of a configuration, and their initial values. */
#include "model/params.h"
#include "base/memory.h"

#include "base/err.h"
#include "base/rng.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Put q at the end of the flat block. */
static void place(struct tf_params *p, struct tf_param *q)
{
    q->offset = p->size;
    p->size += (q->n + 15) / 16 * 16;
}

/* Append a row. rank 1: cols 0. */
static int add(struct tf_params *p, int64_t rows, int64_t cols, enum tf_init init, double scale,
               const char *fmt, ...) TF_PRINTF(6, 7);

static int add(struct tf_params *p, int64_t rows, int64_t cols, enum tf_init init, double scale,
               const char *fmt, ...)
{
    p->v = tf_xarray(p->v, p->n + 1, sizeof *p->v);
    struct tf_param *q = &p->v[p->n];
    memset(q, 0, sizeof *q);
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(q->name, sizeof q->name, fmt, ap);
    va_end(ap);
    q->rank = cols ? 2 : 1;
    q->dims[0] = rows;
    q->dims[1] = cols ? cols : 1;
    q->n = (size_t)rows * (size_t)q->dims[1];
    q->outputs = cols ? 1 : -1;
    q->init = init;
    q->scale = q->scale2 = scale;
    q->period = q->split = q->dims[1];
    p->count += q->n;
    place(p, q);
    return (int)p->n++;
}

/* Glorot and Bengio 2010: uniform with limit sqrt(6 / (fan in + fan out)). */
static double glorot(int64_t in, int64_t out)
{
    return sqrt(6.0 / (double)(in + out));
}

/* A fused matrix of n_k query or key projections and n_v value projections, for `repeat` layers. */
static int add_fused(struct tf_params *p, const struct tf_config *c, int64_t n_k, int64_t n_v,
                     int64_t repeat, const char *name)
{
    int64_t k = c->heads * c->d_k, v = c->heads * c->d_v, cols = n_k * k + n_v * v;
    int i = add(p, c->d_model, repeat * cols, TF_INIT_GLOROT, glorot(c->d_model, cols), "%s", name);
    if (c->initializer == TF_INITIALIZER_GLOROT) {
        p->v[i].period = cols;
        p->v[i].split = n_k * k;
        p->v[i].scale = glorot(c->d_model, k);
        p->v[i].scale2 = glorot(c->d_model, v);
    }
    return i;
}

static void add_norm(struct tf_params *p, const struct tf_config *c, int *g, int *b,
                     const char *name)
{
    *g = add(p, c->d_model, 0, TF_INIT_ONE, 0, "%s.norm.g", name);
    *b = add(p, c->d_model, 0, TF_INIT_ZERO, 0, "%s.norm.b", name);
}

/* A matrix that ends a sublayer, in a stack of so many layers. */
static int add_output(struct tf_params *p, const struct tf_config *c, int64_t rows, int64_t layers,
                      const char *name)
{
    double limit = glorot(rows, c->d_model);
    if (c->initializer == TF_INITIALIZER_SCALED)
        limit /= sqrt(2 * (double)layers);
    return add(p, rows, c->d_model, TF_INIT_GLOROT, limit, "%s", name);
}

static void add_attention(struct tf_params *p, const struct tf_config *c,
                          struct tf_attention_params *a, bool cross, int64_t layers,
                          const char *name)
{
    int64_t k = c->heads * c->d_k, v = c->heads * c->d_v;
    char w[40], out[40];
    snprintf(w, sizeof w, "%s.%s.w", name, cross ? "q" : "qkv");
    snprintf(out, sizeof out, "%s.o.w", name);
    a->in_w = cross ? add_fused(p, c, 1, 0, 1, w) : add_fused(p, c, 2, 1, 1, w);
    a->in_b = a->out_b = -1;
    if (c->attention_bias)
        a->in_b =
            add(p, cross ? k : 2 * k + v, 0, TF_INIT_ZERO, 0, "%s.%s.b", name, cross ? "q" : "qkv");
    a->out_w = add_output(p, c, v, layers, out);
    if (c->attention_bias)
        a->out_b = add(p, c->d_model, 0, TF_INIT_ZERO, 0, "%s.o.b", name);
    add_norm(p, c, &a->norm_g, &a->norm_b, name);
}

/* The recurrent unit in place of the decoder's self-attention. */
static void add_ssru(struct tf_params *p, const struct tf_config *c, struct tf_attention_params *a,
                     const char *name)
{
    const int64_t D = c->d_model, out = c->initializer == TF_INITIALIZER_GLOROT ? D : 2 * D;
    a->in_w = add(p, D, 2 * D, TF_INIT_GLOROT, glorot(D, out), "%s.ssru.w", name);
    a->in_b = add(p, D, 0, TF_INIT_ZERO, 0, "%s.ssru.b", name);
    a->out_w = a->out_b = -1;
    add_norm(p, c, &a->norm_g, &a->norm_b, name);
}

static void add_ff(struct tf_params *p, const struct tf_config *c, struct tf_ff_params *f,
                   int64_t layers, const char *name)
{
    char out[40];
    snprintf(out, sizeof out, "%s.2.w", name);
    f->w1 =
        add(p, c->d_model, c->d_ff, TF_INIT_GLOROT, glorot(c->d_model, c->d_ff), "%s.1.w", name);
    f->b1 = add(p, c->d_ff, 0, TF_INIT_ZERO, 0, "%s.1.b", name);
    f->w2 = add_output(p, c, c->d_ff, layers, out);
    f->b2 = add(p, c->d_model, 0, TF_INIT_ZERO, 0, "%s.2.b", name);
    add_norm(p, c, &f->norm_g, &f->norm_b, name);
}

void tf_params_init(struct tf_params *p, const struct tf_config *c)
{
    *p = (struct tf_params){.src_pos = -1,
                            .tgt_pos = -1,
                            .project_b = -1,
                            .cross_b = -1,
                            .enc_norm_g = -1,
                            .enc_norm_b = -1,
                            .dec_norm_g = -1,
                            .dec_norm_b = -1};
    double sd = pow((double)c->d_model, -0.5);
    int64_t V = c->vocab_size, D = c->d_model;
    if (c->tie == TF_TIE_ALL) {
        p->src_embed = p->tgt_embed = p->project = add(p, V, D, TF_INIT_NORMAL, sd, "embed");
    } else {
        p->src_embed = add(p, tf_config_source_ids(c), D, TF_INIT_NORMAL, sd, "enc.embed");
        p->tgt_embed = p->project = add(p, V, D, TF_INIT_NORMAL, sd, "dec.embed");
        if (c->tie == TF_TIE_NONE)
            p->project = add(p, V, D, TF_INIT_NORMAL, sd, "dec.project");
    }
    if (c->positions == TF_POS_LEARNED) {
        p->src_pos = add(p, c->max_positions, D, TF_INIT_NORMAL, sd, "enc.pos");
        p->tgt_pos = add(p, c->max_positions, D, TF_INIT_NORMAL, sd, "dec.pos");
    }
    p->enc = tf_xcalloc((size_t)c->encoder_layers, sizeof *p->enc);
    p->dec = tf_xcalloc((size_t)c->decoder_layers, sizeof *p->dec);
    char name[32];
    for (int l = 0; l < c->encoder_layers; l++) {
        snprintf(name, sizeof name, "enc.%d.self", l);
        add_attention(p, c, &p->enc[l].self, false, c->encoder_layers, name);
        snprintf(name, sizeof name, "enc.%d.ff", l);
        add_ff(p, c, &p->enc[l].ff, c->encoder_layers, name);
    }
    if (c->final_norm)
        add_norm(p, c, &p->enc_norm_g, &p->enc_norm_b, "enc");
    p->cross_w = add_fused(p, c, 1, 1, c->decoder_layers, "dec.cross.kv.w");
    if (c->attention_bias)
        p->cross_b = add(p, c->decoder_layers * c->heads * (c->d_k + c->d_v), 0, TF_INIT_ZERO, 0,
                         "dec.cross.kv.b");
    for (int l = 0; l < c->decoder_layers; l++) {
        snprintf(name, sizeof name, "dec.%d.self", l);
        if (c->decoder_self == TF_DECODER_SSRU)
            add_ssru(p, c, &p->dec[l].self, name);
        else
            add_attention(p, c, &p->dec[l].self, false, c->decoder_layers, name);
        snprintf(name, sizeof name, "dec.%d.cross", l);
        add_attention(p, c, &p->dec[l].cross, true, c->decoder_layers, name);
        snprintf(name, sizeof name, "dec.%d.ff", l);
        add_ff(p, c, &p->dec[l].ff, c->decoder_layers, name);
    }
    if (c->final_norm)
        add_norm(p, c, &p->dec_norm_g, &p->dec_norm_b, "dec");
    if (c->output_bias)
        p->project_b = add(p, V, 0, TF_INIT_ZERO, 0, "dec.project.b");
    p->v[p->src_embed].table = p->v[p->tgt_embed].table = true;
    p->v[p->src_embed].outputs = p->v[p->tgt_embed].outputs = p->v[p->project].outputs = 0;
    if (p->src_pos >= 0)
        p->v[p->src_pos].outputs = p->v[p->tgt_pos].outputs = -1;
}

void tf_params_without_packed(struct tf_params *p, bool tables_packed)
{
    p->size = 0;
    for (size_t i = 0; i < p->n; i++)
        if (!tf_param_is_packed(&p->v[i], tables_packed))
            place(p, &p->v[i]);
}

void tf_params_release(struct tf_params *p)
{
    free(p->v);
    free(p->enc);
    free(p->dec);
    *p = (struct tf_params){0};
}

const struct tf_param *tf_params_find(const struct tf_params *p, const char *name)
{
    for (size_t i = 0; i < p->n; i++)
        if (strcmp(p->v[i].name, name) == 0)
            return &p->v[i];
    return NULL;
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
