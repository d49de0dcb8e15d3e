/* activation.c - swish and gelu, with dropout, and their gradients. */
#include "ops/cpu/kernels_private.h"
#include "ops/cpu/dropout_private.h"
#include "ops/cpu/vec_private.h"

#include <string.h>

/* (1 + erf(x / sqrt(2))) / 2, within 1e-7 (Abramowitz and Stegun 1964, 26.2.17); e = exp(-x^2 /
 * 2). */
static v16f normal(v16f x, v16f e)
{
    const v16f size = v_max(x, v_sub(v_set(0), x)),
               t = v_div(v_set(1), v_fma(size, v_set(0.23164189f), v_set(1)));
    v16f p = v_set(0.5307027145f);
    p = v_fma(p, t, v_set(-0.7265760135f));
    p = v_fma(p, t, v_set(0.7107068705f));
    p = v_fma(p, t, v_set(-0.142248368f));
    p = v_fma(p, t, v_set(0.1274147960f));
    const v16f tail = v_mul(v_mul(p, t), e);
    return v_pick(m_gt(v_set(0), x), tail, v_sub(v_set(1), tail));
}

static v16f bell(v16f x)
{
    return v_exp(v_mul(v_set(-0.5f), v_mul(x, x)));
}

/* y may be x. */
static void activate(float *y, const float *x, size_t n, enum tf_function f)
{
    if (f == TF_IDENTITY) {
        memmove(y, x, n * sizeof *y);
        return;
    }
    for (size_t i = 0; i < n; i += 16) {
        const v16f v = v_load_n(x + i, n - i);
        const v16f g = f == TF_SWISH ? v_sigmoid(v) : normal(v, bell(v));
        v_store_n(y + i, v_mul(v, g), n - i);
    }
}

static v16f swish_slope(v16f x)
{
    const v16f s = v_sigmoid(x);
    return v_mul(s, v_fma(x, v_sub(v_set(1), s), v_set(1)));
}

static v16f gelu_slope(v16f x)
{
    const v16f e = bell(x);
    return v_fma(v_mul(x, v_set(0.3989422804f)), e, normal(x, e));
}

/* dx = dy slope(x); dx may be dy. */
static void gradient(float *dx, const float *dy, const float *x, size_t n, enum tf_function f)
{
    if (f == TF_IDENTITY) {
        memmove(dx, dy, n * sizeof *dx);
        return;
    }
    for (size_t i = 0; i < n; i += 16) {
        const v16f v = v_load_n(x + i, n - i),
                   slope = f == TF_SWISH ? swish_slope(v) : gelu_slope(v);
        v_store_n(dx + i, v_mul(v_load_n(dy + i, n - i), slope), n - i);
    }
}

void TF_CPU(activation_fwd)(struct tf_ctx *c, tf_mem_act *y, const tf_mem_act *x,
                            const struct tf_rows *r, int N, enum tf_function f,
                            struct tf_dropout dropout)
{
    const size_t n = (size_t)N, rows = tf_rows_count(r);
    const struct dropout dr = dropout_of(c, dropout);
    for (size_t i = 0; i < rows; i++) {
        float *yi = out(y, i * n);
        activate(yi, in(x, i * n), n, f);
        if (dr.scale > 0)
            dropout_row(&dr, r->off[0] + (uint32_t)i, yi, yi, n);
    }
}

void TF_CPU(activation_bwd)(struct tf_ctx *c, tf_mem_act *dx, const tf_mem_act *dy,
                            const tf_mem_act *x, const struct tf_rows *r, int N, enum tf_function f,
                            struct tf_dropout dropout)
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
        gradient(di, from, in(x, i * n), n, f);
    }
}

void TF_CPU(activation_rows)(struct tf_ctx *c, tf_mem_act *y, const tf_mem_act *x, size_t rows,
                             int N, enum tf_function f)
{
    (void)c;
    for (size_t i = 0; i < rows; i++)
        activate(out(y, i * (size_t)N), in(x, i * (size_t)N), (size_t)N, f);
}
