/* swish.c - y = x / (1 + exp(-x)), with dropout, and its gradient. */
#include "ops/cpu/kernels_private.h"
#include "ops/cpu/dropout_private.h"
#include "ops/cpu/vec_private.h"

/* y may be x. */
static void swish(float *y, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i += 16) {
        const v16f v = v_load_n(x + i, n - i);
        v_store_n(y + i, v_mul(v, v_sigmoid(v)), n - i);
    }
}

/* dx = dy (s + x s (1 - s)), s = v_sigmoid(x); dx may be dy. */
static void gradient(float *dx, const float *dy, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i += 16) {
        const v16f v = v_load_n(x + i, n - i), s = v_sigmoid(v);
        const v16f slope = v_mul(s, v_fma(v, v_sub(v_set(1), s), v_set(1)));
        v_store_n(dx + i, v_mul(v_load_n(dy + i, n - i), slope), n - i);
    }
}

void TF_CPU(swish_fwd)(struct tf_ctx *c, tf_mem_act *y, const tf_mem_act *x,
                       const struct tf_rows *r, int N, struct tf_dropout dropout)
{
    const size_t n = (size_t)N, rows = tf_rows_count(r);
    const struct dropout dr = dropout_of(c, dropout);
    for (size_t i = 0; i < rows; i++) {
        float *yi = out(y, i * n);
        swish(yi, in(x, i * n), n);
        if (dr.scale > 0)
            dropout_row(&dr, r->off[0] + (uint32_t)i, yi, yi, n);
    }
}

void TF_CPU(swish_bwd)(struct tf_ctx *c, tf_mem_act *dx, const tf_mem_act *dy, const tf_mem_act *x,
                       const struct tf_rows *r, int N, struct tf_dropout dropout)
{
    const size_t n = (size_t)N, rows = tf_rows_count(r);
    const struct dropout dr = dropout_of(c, dropout);
    for (size_t i = 0; i < rows; i++) {
        float *di = out(dx, i * n);
        const float *from = in(dy, i * n);
        if (dr.scale > 0) {
            dropout_row(&dr, r->off[0] + (uint32_t)i, di, from, n);
            from = di;
        }
        gradient(di, from, in(x, i * n), n);
    }
}

void TF_CPU(swish_rows)(struct tf_ctx *c, tf_mem_act *y, const tf_mem_act *x, size_t rows, int N)
{
    (void)c;
    for (size_t i = 0; i < rows; i++)
        swish(out(y, i * (size_t)N), in(x, i * (size_t)N), (size_t)N);
}
