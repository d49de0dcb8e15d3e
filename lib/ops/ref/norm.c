/* norm.c - residual sum with dropout and layer normalisation (Ba, Kiros & Hinton 2016), forward and
 * backward:
 * n = (s - mean) rstd, y = n gain + bias; with g = dy gain, ds = rstd (g - mean(g) - n mean(g
 * n)). */
#include "ops/ref/ref_private.h"

#include <math.h>

/* y, and s where wanted, of one row; sum is scratch [D]. */
static void normalise(tf_real *s, tf_real *y, tf_real *mean_out, tf_real *rstd_out, double *sum,
                      const tf_real *gain, const tf_real *bias, size_t D, float eps)
{
    double mean = 0, var = 0;
    for (size_t d = 0; d < D; d++) {
        sum[d] = (tf_real)sum[d]; /* the value that s has in the backward pass */
        if (s != NULL)
            s[d] = (tf_real)sum[d];
        mean += sum[d];
    }
    mean /= (double)D;
    for (size_t d = 0; d < D; d++)
        var += (sum[d] - mean) * (sum[d] - mean);
    double rstd = 1 / sqrt(var / (double)D + (double)eps);
    for (size_t d = 0; d < D; d++)
        y[d] = (tf_real)((sum[d] - mean) * rstd * (double)gain[d] + (double)bias[d]);
    if (mean_out != NULL)
        *mean_out = (tf_real)mean;
    if (rstd_out != NULL)
        *rstd_out = (tf_real)rstd;
}

void TF_REF(add_norm_fwd)(struct tf_ctx *c, tf_mem_act *s, tf_mem_act *y, tf_mem_stat *mean,
                          tf_mem_stat *rstd, const tf_mem_act *x, const tf_mem_act *res,
                          const tf_mem_param *gain, const tf_mem_param *bias,
                          const struct tf_rows *r, int D, float eps, struct tf_dropout dropout)
{
    size_t width = (size_t)D, rows = tf_rows_count(r);
    double *sum = tf_ref_scratch(c, width);
    for (size_t i = 0; i < rows; i++) {
        for (size_t d = 0; d < width; d++) {
            sum[d] = (double)*in(res, i * width + d);
            if (x != NULL)
                sum[d] += (double)*in(x, i * width + d) *
                          TF_REF(dropout_factor)(c, dropout, r->off[0] + i, d);
        }
        normalise(s != NULL ? out(s, i * width) : NULL, out(y, i * width),
                  mean != NULL ? out(mean, i) : NULL, rstd != NULL ? out(rstd, i) : NULL, sum, gain,
                  bias, width, eps);
    }
}

void TF_REF(add_norm_rows)(struct tf_ctx *c, tf_mem_act *s, tf_mem_act *y, const tf_mem_act *x,
                           const tf_mem_act *res, const tf_mem_param *gain,
                           const tf_mem_param *bias, size_t rows, int D, float eps)
{
    size_t width = (size_t)D;
    double *sum = tf_ref_scratch(c, width);
    for (size_t i = 0; i < rows; i++) {
        for (size_t d = 0; d < width; d++)
            sum[d] =
                (double)*in(res, i * width + d) + (x != NULL ? (double)*in(x, i * width + d) : 0);
        normalise(s != NULL ? out(s, i * width) : NULL, out(y, i * width), NULL, NULL, sum, gain,
                  bias, width, eps);
    }
}

void TF_REF(add_norm_bwd)(struct tf_ctx *c, tf_mem_act *ds, tf_mem_act *dx, tf_mem_param *dgain,
                          tf_mem_param *dbias, const tf_mem_act *dy, const tf_mem_act *dsum,
                          const tf_mem_act *s, const tf_mem_stat *mean, const tf_mem_stat *rstd,
                          const tf_mem_param *gain, const struct tf_rows *r, int D,
                          struct tf_dropout dropout)
{
    size_t width = (size_t)D, rows = tf_rows_count(r);
    double *gsum = tf_ref_scratch(c, 2 * width), *bsum = gsum + width;
    for (size_t d = 0; d < width; d++)
        gsum[d] = bsum[d] = 0;

    for (size_t i = 0; i < rows; i++) {
        size_t at = i * width;
        double mean_g = 0, mean_gn = 0, mu = 0, rs = 0;
        if (dy != NULL) {
            mu = (double)*in(mean, i);
            rs = (double)*in(rstd, i);
            for (size_t d = 0; d < width; d++) {
                double n = ((double)*in(s, at + d) - mu) * rs;
                double gy = (double)*in(dy, at + d) * (double)*in(gain, d);
                mean_g += gy / (double)width;
                mean_gn += gy * n / (double)width;
                gsum[d] += (double)*in(dy, at + d) * n;
                bsum[d] += (double)*in(dy, at + d);
            }
        }
        for (size_t d = 0; d < width; d++) {
            double v = dsum != NULL ? (double)*in(dsum, at + d) : 0;
            if (dy != NULL) {
                double n = ((double)*in(s, at + d) - mu) * rs;
                v += rs * ((double)*in(dy, at + d) * (double)*in(gain, d) - mean_g - n * mean_gn);
            }
            *out(ds, at + d) = (tf_real)v;
            if (dx != NULL)
                *out(dx, at + d) =
                    (tf_real)(v * TF_REF(dropout_factor)(c, dropout, r->off[0] + i, d));
        }
    }
    if (dy == NULL)
        return;
    for (size_t d = 0; d < width; d++) {
        *out(dgain, d) = (tf_real)gsum[d];
        *out(dbias, d) = (tf_real)bsum[d];
    }
}
