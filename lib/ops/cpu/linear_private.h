/* linear_private.h - what linear maps do besides products: the start of gradients, the mask of ReLU
 * and the gradient of a bias. */
#ifndef TF_OPS_CPU_LINEAR_PRIVATE_H
#define TF_OPS_CPU_LINEAR_PRIVATE_H

#include "ops/cpu/cpu_private.h"
#include "ops/cpu/vec_private.h"

/* Before sums over blocks of rows: db [N] starts at 0; dw [K, N] is overwritten by the first block,
 * if there is one. Either may be NULL. */
static void clear_gradients(float *dw, float *db, size_t rows, size_t N, size_t K)
{
    if (db != NULL)
        memset(db, 0, N * sizeof *db);
    if (dw != NULL && rows == 0)
        memset(dw, 0, K * N * sizeof *dw);
}

/* dx = dx * scale where x > 0, else 0: x is 0 where ReLU or dropout cut it. */
static void mask_rows(float *dx, const float *x, size_t n, float scale)
{
    v16f s = v_set(scale), zero = v_set(0);
    for (size_t i = 0; i < n; i += 16) {
        size_t left = n - i;
        v_store_n(dx + i,
                  v_keep(m_gt(v_load_n(x + i, left), zero), v_mul(v_load_n(dx + i, left), s)),
                  left);
    }
}

/* sum [N] += the rows of x [rows, N]. */
static void add_columns(float *sum, const float *x, size_t rows, size_t N)
{
    for (size_t j = 0; j < N; j += 16) {
        size_t n = N - j;
        v16f s = v_load_n(sum + j, n);
        for (size_t i = 0; i < rows; i++)
            s = v_add(s, v_load_n(x + i * N + j, n));
        v_store_n(sum + j, s, n);
    }
}

#endif
