/* linear.c - y = x w + b, optionally with ReLU and dropout, its gradients, and the same over
 * weights packed once for decoding. */
#include "base/memory.h"
#include "ops/cpu/dropout_private.h"
#include "ops/cpu/embed_private.h"
#include "ops/cpu/gemm_private.h"
#include "ops/cpu/linear_private.h"

#include <stdlib.h>

/* rows that are masked, packed and multiplied together, so that they stay in cache */
#define ROWS 240

struct tf_packed {
    size_t K, N;
    float *panels;
};

void TF_CPU(linear_fwd)(struct tf_ctx *c, tf_mem_act *y, const tf_mem_act *x, const tf_mem_param *w,
                        const tf_mem_param *b, const struct tf_rows *r, int N, int K,
                        unsigned flags, struct tf_dropout dropout)
{
    size_t n = (size_t)N, k = (size_t)K, rows = tf_rows_count(r);
    float *panels = tf_cpu_scratch(c, TF_CPU_PANELS, tf_cpu_panels_size(k, n));
    struct dropout dr = dropout_of(c, flags & TF_LIN_RELU ? dropout : (struct tf_dropout){0});
    TF_CPU(panels)(panels, w, n, k, n);
    for (size_t i = 0; i < rows; i += ROWS) {
        struct tf_cpu_gemm g = {.c = out(y, i * n),
                                .ldc = n,
                                .a = in(x, i * k),
                                .ras = k,
                                .kas = 1,
                                .b = panels,
                                .ldb = TF_NR,
                                .panel = k * TF_NR,
                                .M = least(ROWS, rows - i),
                                .N = n,
                                .K = k,
                                .bias = b,
                                .relu = (flags & TF_LIN_RELU) != 0};
        TF_CPU(gemm)(&g);
        if (dr.scale > 0)
            for (size_t j = i; j < i + g.M; j++)
                dropout_row(&dr, r->off[0] + (uint32_t)j, out(y, j * n), in(y, j * n), n);
    }
}

void TF_CPU(linear_bwd)(struct tf_ctx *c, tf_mem_act *dx, tf_mem_param *dw, tf_mem_param *db,
                        tf_mem_act *dy, const tf_mem_act *x, const tf_mem_param *w,
                        const struct tf_rows *r, int N, int K, unsigned flags,
                        struct tf_dropout dropout)
{
    size_t n = (size_t)N, k = (size_t)K, rows = tf_rows_count(r);
    float scale = dropout.p > 0 ? (float)(1 / (1 - (double)dropout.p)) : 1;
    float *panels = NULL, *block = NULL, *slices = NULL;
    if (dx != NULL) {
        panels = tf_cpu_scratch(c, TF_CPU_PANELS, tf_cpu_panels_size(n, k));
        TF_CPU(panels_t)(panels, w, n, n, k);
    }
    if (dw != NULL) {
        block = tf_cpu_scratch(c, TF_CPU_BLOCK, tf_cpu_panels_size(ROWS, n));
        slices = tf_cpu_scratch(c, TF_CPU_TILE, tf_cpu_slices_size(ROWS, k));
    }
    clear_gradients(dw, db, rows, n, k);

    for (size_t i = 0; i < rows; i += ROWS) {
        size_t m = least(ROWS, rows - i);
        const float *dyi = in(dy, i * n);
        if (db != NULL)
            add_columns(db, dyi, m, n);
        if (dx != NULL)
            product((struct tf_cpu_gemm){.c = out(dx, i * k),
                                         .ldc = k,
                                         .a = dyi,
                                         .ras = n,
                                         .kas = 1,
                                         .b = panels,
                                         .ldb = TF_NR,
                                         .panel = n * TF_NR,
                                         .M = m,
                                         .N = k,
                                         .K = n,
                                         .add = (flags & TF_LIN_ADD_DX) != 0});
        if (dx != NULL && flags & TF_LIN_FROM_RELU)
            mask_rows(out(dx, i * k), in(x, i * k), m * k, scale);
        if (dw != NULL) {
            TF_CPU(panels)(block, dyi, n, m, n);
            struct tf_cpu_gemm g = {.c = dw,
                                    .ldc = n,
                                    .a = in(x, i * k),
                                    .ras = 1,
                                    .kas = k,
                                    .b = block,
                                    .ldb = TF_NR,
                                    .panel = m * TF_NR,
                                    .M = k,
                                    .N = n,
                                    .K = m,
                                    .add = i > 0};
            if (n >= 4 * TF_NR) { /* enough panels to pay for the copy */
                TF_CPU(slices)(slices, g.a, k, m, k);
                g.a = slices;
                g.slice = tf_cpu_slice(m);
            }
            TF_CPU(gemm)(&g);
        }
    }
}

struct tf_packed *TF_CPU(pack_new)(struct tf_ctx *c, int K, int N, struct tf_err *err)
{
    (void)c;
    size_t k = (size_t)K, n = (size_t)N;
    struct tf_packed *p = tf_try_alloc(sizeof *p, err);
    if (p == NULL)
        return NULL;
    *p = (struct tf_packed){.K = k,
                            .N = n,
                            .panels = tf_try_alloc(tf_cpu_panels_size(k, n) * sizeof(float), err)};
    if (p->panels == NULL) {
        free(p);
        return NULL;
    }
    return p;
}

void TF_CPU(pack)(struct tf_ctx *c, struct tf_packed *p, const tf_mem_param *w, size_t ld,
                  bool transposed, size_t first, size_t n)
{
    (void)c;
    float *to = p->panels + first * p->K;
    if (transposed)
        TF_CPU(panels_t)(to, w, p->K, p->K, n);
    else
        TF_CPU(panels)(to, w, ld, p->K, n);
}

void TF_CPU(pack_free)(struct tf_ctx *c, struct tf_packed *p)
{
    (void)c;
    if (p == NULL)
        return;
    free(p->panels);
    free(p);
}

void TF_CPU(linear_packed)(struct tf_ctx *c, tf_mem *y, const tf_mem_act *x,
                           const struct tf_packed *w, const tf_mem_param *b, size_t rows,
                           unsigned flags)
{
    (void)c;
    product((struct tf_cpu_gemm){.c = y,
                                 .ldc = w->N,
                                 .a = x,
                                 .ras = w->K,
                                 .kas = 1,
                                 .b = w->panels,
                                 .ldb = TF_NR,
                                 .panel = w->K * TF_NR,
                                 .M = rows,
                                 .N = w->N,
                                 .K = w->K,
                                 .bias = b,
                                 .relu = (flags & TF_LIN_RELU) != 0});
}

static void row_of(float *e, const struct tf_packed *w, size_t id)
{
    const float *from = w->panels + id / TF_NR * TF_NR * w->K + id % TF_NR;
    for (size_t k = 0; k < w->K; k++)
        e[k] = from[k * TF_NR];
}

void TF_CPU(embed_packed)(struct tf_ctx *c, tf_mem_act *x, const tf_mem_u32 *ids,
                          const tf_mem_u32 *at, const struct tf_packed *w, const tf_mem_param *pos,
                          size_t rows, float scale)
{
    (void)c;
    embed_packed_rows(x, ids, at, w, pos, rows, w->K, scale, row_of);
}
