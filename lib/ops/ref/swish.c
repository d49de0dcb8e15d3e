/* swish.c - y = x / (1 + exp(-x)), with dropout, and its gradient (Ramachandran et al. 2017,
 * "Searching for Activation Functions", with beta 1; SiLU of Elfwing et al. 2018). */
#include "ops/ref/ref_private.h"

#include <math.h>

void TF_REF(swish_fwd)(struct tf_ctx *c, tf_mem_act *y, const tf_mem_act *x,
                       const struct tf_rows *r, int N, struct tf_dropout dropout)
{
    const size_t width = (size_t)N, rows = tf_rows_count(r);
    for (size_t i = 0; i < rows; i++)
        for (size_t n = 0; n < width; n++) {
            const double v = (double)*in(x, i * width + n);
            *out(y, i * width + n) =
                (tf_real)(v * sigmoid(v) * TF_REF(dropout_factor)(c, dropout, r->off[0] + i, n));
        }
}

/* With s = sigmoid(x), the derivative of x s is s + x s (1 - s). */
void TF_REF(swish_bwd)(struct tf_ctx *c, tf_mem_act *dx, const tf_mem_act *dy, const tf_mem_act *x,
                       const struct tf_rows *r, int N, struct tf_dropout dropout)
{
    const size_t width = (size_t)N, rows = tf_rows_count(r);
    for (size_t i = 0; i < rows; i++)
        for (size_t n = 0; n < width; n++) {
            const size_t at = i * width + n;
            const double v = (double)*in(x, at), s = sigmoid(v);
            *out(dx, at) = (tf_real)((double)*in(dy, at) * s * (1 + v * (1 - s)) *
                                     TF_REF(dropout_factor)(c, dropout, r->off[0] + i, n));
        }
}

void TF_REF(swish_rows)(struct tf_ctx *c, tf_mem_act *y, const tf_mem_act *x, size_t rows, int N)
{
    (void)c;
    for (size_t i = 0; i < rows * (size_t)N; i++) {
        const double v = (double)*in(x, i);
        *out(y, i) = (tf_real)(v * sigmoid(v));
    }
}
