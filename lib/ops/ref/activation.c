/* activation.c - swish (Ramachandran et al. 2017, "Searching for Activation Functions", with beta
 * 1; SiLU of Elfwing et al. 2018) and gelu, with dropout, and their gradients. */
#include "ops/ref/ref_private.h"

#include <math.h>

static double factor(enum tf_function f, double x)
{
    return f == TF_SWISH ? sigmoid(x) : f == TF_GELU ? erfc(-x / sqrt(2)) / 2 : 1;
}

static double gradient(enum tf_function f, double dy, double x)
{
    const double g = factor(f, x);
    if (f == TF_IDENTITY)
        return dy;
    return f == TF_SWISH ? dy * g * (1 + x * (1 - g))
                         : dy * (g + x * exp(-x * x / 2) / sqrt(2 * M_PI));
}

void TF_REF(activation_fwd)(struct tf_ctx *c, tf_mem_act *y, const tf_mem_act *x,
                            const struct tf_rows *r, int N, enum tf_function f,
                            struct tf_dropout dropout)
{
    const size_t width = (size_t)N, rows = tf_rows_count(r);
    for (size_t i = 0; i < rows; i++)
        for (size_t n = 0; n < width; n++) {
            const double v = (double)*in(x, i * width + n);
            *out(y, i * width + n) =
                (tf_real)(v * factor(f, v) * TF_REF(dropout_factor)(c, dropout, r->off[0] + i, n));
        }
}

void TF_REF(activation_bwd)(struct tf_ctx *c, tf_mem_act *dx, const tf_mem_act *dy,
                            const tf_mem_act *x, const struct tf_rows *r, int N, enum tf_function f,
                            struct tf_dropout dropout)
{
    const size_t width = (size_t)N, rows = tf_rows_count(r);
    for (size_t i = 0; i < rows; i++)
        for (size_t n = 0; n < width; n++) {
            const size_t at = i * width + n;
            *out(dx, at) = (tf_real)(gradient(f, (double)*in(dy, at), (double)*in(x, at)) *
                                     TF_REF(dropout_factor)(c, dropout, r->off[0] + i, n));
        }
}

void TF_REF(activation_rows)(struct tf_ctx *c, tf_mem_act *y, const tf_mem_act *x, size_t rows,
                             int N, enum tf_function f)
{
    (void)c;
    for (size_t i = 0; i < rows * (size_t)N; i++) {
        const double v = (double)*in(x, i);
        *out(y, i) = (tf_real)(v * factor(f, v));
    }
}
