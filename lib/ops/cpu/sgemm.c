/* sgemm.c - the matrix products of training by OpenBLAS: linear maps, their gradients and the
 * projection to the vocabulary. Where rows are promised not to depend on their number, they are
 * multiplied TF_OPENBLAS_ROWS at a time, the last ones padded with zeros; sums over rows are over
 * chunks of a fixed size, in order. Everything around the products is as in linear.c, or
 * xent_private.h. */
#include "ops/cpu/dropout_private.h"
#include "ops/cpu/linear_private.h"
#include "ops/cpu/openblas.h"
#include "ops/cpu/xent_private.h"

#define TILE TF_OPENBLAS_ROWS
#define ROWS (4 * TILE) /* rows of the backward pass that are multiplied together */
#define BLOCK 480       /* vocabulary entries of a block */

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
    clear_gradients(dw, db, rows, n, k);
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

/* own: room for the last rows of a chunk as a whole tile. */
static void logits(const struct chunk *k, float *z, size_t v, size_t m)
{
    const size_t D = (size_t)k->x->D, whole = k->n / TILE * TILE;
    if (v == 0 && whole < k->n)
        padded(k->own, k->in + whole * D, k->n - whole, D);
    for (size_t r = 0; r < k->ld; r += TILE)
        tf_sgemm(&(struct tf_sgemm){.c = z + r,
                                    .ldc = k->ld,
                                    .a = in(k->x->e, v * D),
                                    .lda = D,
                                    .b = r < whole ? k->in + r * D : k->own,
                                    .ldb = D,
                                    .bt = true,
                                    .M = m,
                                    .N = TILE,
                                    .K = D});
}

static void multiply_out(const struct chunk *k, const float *dz, size_t v, size_t m)
{
    const size_t D = (size_t)k->x->D;
    tf_sgemm(&(struct tf_sgemm){.c = out(k->x->de, v * D),
                                .ldc = D,
                                .a = dz,
                                .lda = k->ld,
                                .b = k->in,
                                .ldb = D,
                                .M = m,
                                .N = D,
                                .K = k->n,
                                .add = k->first > 0});
    tf_sgemm(&(struct tf_sgemm){.c = out(k->x->dx, k->first * D),
                                .ldc = D,
                                .a = dz,
                                .lda = k->ld,
                                .at = true,
                                .b = in(k->x->e, v * D),
                                .ldb = D,
                                .M = k->n,
                                .N = D,
                                .K = m,
                                .add = v > 0});
}

void TF_CPU_SGEMM(xent)(struct tf_ctx *c, const struct tf_xent *x)
{
    const struct projection p = {BLOCK, TILE, logits, multiply_out};
    cross_entropy(c, x, &p, tf_cpu_scratch(c, TF_CPU_PANELS, TILE * (size_t)x->D));
}
