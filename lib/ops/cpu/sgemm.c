/* sgemm.c - the matrix products of training by OpenBLAS: linear maps, their gradients and the
 * projection to the vocabulary. Where rows are promised not to depend on their number, they are
 * multiplied TF_OPENBLAS_ROWS at a time, the last ones padded with zeros; sums over rows are over
 * chunks of a fixed size, in order. Everything around the products is as in linear.c and xent.c. */
#include "ops/cpu/dropout.h"
#include "ops/cpu/linear.h"
#include "ops/cpu/openblas.h"
#include "ops/cpu/xent.h"

#define TILE TF_OPENBLAS_ROWS
#define ROWS (4 * TILE) /* rows of the backward pass that are multiplied together */
#define VB 480          /* vocabulary entries of a block */

/* x [n, width] as a whole tile: x itself, or a copy in `room` with zeros below. */
static const float *padded(float *room, const float *x, size_t n, size_t width)
{
    if (n == TILE)
        return x;
    memcpy(room, x, n * width * sizeof *x);
    memset(room + n * width, 0, (TILE - n) * width * sizeof *x);
    return room;
}

/* y = y + b, with ReLU if requested. */
static void finish_row(float *y, const float *b, size_t n, bool relu)
{
    const v16f zero = v_set(0);
    for (size_t i = 0; i < n; i += 16) {
        size_t left = n - i;
        v16f v = v_load_n(y + i, left);
        if (b != NULL)
            v = v_add(v, v_load_n(b + i, left));
        v_store_n(y + i, relu ? v_max(zero, v) : v, left);
    }
}

void TF_CPU_SGEMM(linear_fwd)(struct tf_ctx *c, tf_mem_act *y, const tf_mem_act *x,
                              const tf_mem_param *w, const tf_mem_param *b, const struct tf_rows *r,
                              int N, int K, unsigned flags, struct tf_dropout dropout)
{
    const size_t n = (size_t)N, k = (size_t)K, rows = tf_rows_count(r);
    const bool relu = (flags & TF_LIN_RELU) != 0;
    const struct dropout dr = dropout_of(c, relu ? dropout : (struct tf_dropout){0});
    float *room = tf_cpu_scratch(c, TF_CPU_TILE, TILE * (k + n));
    for (size_t i = 0; i < rows; i += TILE) {
        const size_t m = least(TILE, rows - i);
        float *yi = out(y, i * n), *to = m == TILE ? yi : room + TILE * k;
        tf_sgemm(&(struct tf_sgemm){.c = to,
                                    .ldc = n,
                                    .a = padded(room, in(x, i * k), m, k),
                                    .lda = k,
                                    .b = w,
                                    .ldb = n,
                                    .M = TILE,
                                    .N = n,
                                    .K = k});
        if (to != yi)
            memcpy(yi, to, m * n * sizeof *yi);
        for (size_t j = 0; j < m; j++) {
            float *row = yi + j * n;
            if (b != NULL || relu)
                finish_row(row, b, n, relu);
            if (dr.scale > 0)
                dropout_row(&dr, r->off[0] + (uint32_t)(i + j), row, row, n);
        }
    }
}

void TF_CPU_SGEMM(linear_bwd)(struct tf_ctx *c, tf_mem_act *dx, tf_mem_param *dw, tf_mem_param *db,
                              tf_mem_act *dy, const tf_mem_act *x, const tf_mem_param *w,
                              const struct tf_rows *r, int N, int K, unsigned flags,
                              struct tf_dropout dropout)
{
    (void)c;
    const size_t n = (size_t)N, k = (size_t)K, rows = tf_rows_count(r);
    const float scale = dropout.p > 0 ? (float)(1 / (1 - (double)dropout.p)) : 1;
    if (db != NULL)
        memset(db, 0, n * sizeof(float));
    if (dw != NULL && rows == 0)
        memset(dw, 0, k * n * sizeof(float));
    for (size_t i = 0; i < rows; i += ROWS) {
        const size_t m = least(ROWS, rows - i);
        const float *dyi = in(dy, i * n), *xi = in(x, i * k);
        if (db != NULL)
            add_columns(db, dyi, m, n);
        if (dx != NULL)
            tf_sgemm(&(struct tf_sgemm){.c = out(dx, i * k),
                                        .ldc = k,
                                        .a = dyi,
                                        .lda = n,
                                        .b = w,
                                        .ldb = n,
                                        .bt = true,
                                        .M = m,
                                        .N = k,
                                        .K = n,
                                        .add = (flags & TF_LIN_ADD_DX) != 0});
        if (dx != NULL && flags & TF_LIN_FROM_RELU)
            mask_rows(out(dx, i * k), xi, m * k, scale);
        if (dw != NULL)
            tf_sgemm(&(struct tf_sgemm){.c = dw,
                                        .ldc = n,
                                        .a = xi,
                                        .lda = k,
                                        .at = true,
                                        .b = dyi,
                                        .ldb = n,
                                        .M = k,
                                        .N = n,
                                        .K = m,
                                        .add = i > 0});
    }
}

void TF_CPU_SGEMM(xent)(struct tf_ctx *c, const struct tf_xent *x)
{
    const size_t V = (size_t)x->V, D = (size_t)x->D, rows = tf_rows_count(x->rows);
    const float *e = x->e;
    float *de = x->de;
    const bool back = x->dx != NULL;
    /* As in xent.c, in whole tiles. */
    const size_t rc = (D <= 256 ? RC_MAX : RC_MAX / 2) / TILE * TILE;
    const size_t chunk = (least(rows, rc) + TILE - 1) / TILE * TILE;
    float *room = tf_cpu_scratch(c, TF_CPU_PANELS, TILE * D);
    float *z = tf_cpu_scratch(c, TF_CPU_TILE, (back ? V : VB) * chunk);
    float *dz = back ? tf_cpu_scratch(c, TF_CPU_BLOCK, VB * chunk) : NULL;
    if (back && rows == 0)
        memset(de, 0, V * D * sizeof *de);

    for (size_t i = 0; i < rows; i += rc) {
        const size_t n = least(rc, rows - i), ld = (n + TILE - 1) / TILE * TILE, whole = n / TILE;
        const float *in = (const float *)x->x + i * D;
        const float *last =
            whole * TILE < n ? padded(room, in + whole * TILE * D, n % TILE, D) : NULL;
        const uint32_t *targets = (const uint32_t *)x->targets + i;
        struct stats s;
        float lse[RC_MAX] = {0};
        for (size_t r = 0; r < n; r++)
            TF_ASSERT(targets[r] < V);
        start(&s, ld);
        for (size_t v = 0; v < V; v += VB) {
            const size_t m = least(VB, V - v);
            float *block = z + (back ? v * ld : 0);
            for (size_t r = 0; r < ld; r += TILE)
                tf_sgemm(&(struct tf_sgemm){.c = block + r,
                                            .ldc = ld,
                                            .a = e + v * D,
                                            .lda = D,
                                            .b = r < whole * TILE ? in + r * D : last,
                                            .ldb = D,
                                            .bt = true,
                                            .M = m,
                                            .N = TILE,
                                            .K = D});
            gather(&s, block, ld, m, (uint32_t)v, targets, n);
        }
        losses(x, lse, &s, targets, i, n);
        if (!back)
            continue;

        for (size_t v = 0; v < V; v += VB) {
            const size_t m = least(VB, V - v);
            gradients(x, dz, z + v * ld, lse, ld, m, (uint32_t)v, targets, n);
            tf_sgemm(&(struct tf_sgemm){.c = de + v * D,
                                        .ldc = D,
                                        .a = dz,
                                        .lda = ld,
                                        .b = in,
                                        .ldb = D,
                                        .M = m,
                                        .N = D,
                                        .K = n,
                                        .add = i > 0});
            tf_sgemm(&(struct tf_sgemm){.c = (float *)x->dx + i * D,
                                        .ldc = D,
                                        .a = dz,
                                        .lda = ld,
                                        .at = true,
                                        .b = e + v * D,
                                        .ldb = D,
                                        .M = n,
                                        .N = D,
                                        .K = m,
                                        .add = v > 0});
        }
    }
}
