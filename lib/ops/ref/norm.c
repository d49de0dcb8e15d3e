/* norm.c - residual sum with dropout and layer normalisation (Ba, Kiros & Hinton 2016), forward and
 * backward:
 * n = (s - mean) rstd, y = n gain + bias; with g = dy gain, ds = rstd (g - mean(g) - n mean(g
 * n)). */
#include "ops/ref/ref.h"

#include <math.h>

/* y, and s where wanted, of one row; sum is scratch [D]. */
static void normalise(tf_real *s, tf_real *y, tf_real *mean_out, tf_real *rstd_out, double *sum,
                      const tf_real *gain, const tf_real *bias, size_t D, float eps)
{
    double mean = 0, var = 0;
    for (size_t d = 0; d < D; d++) {
        sum[d] = (tf_real)sum[d]; /* the value that s holds for the way back */
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

void TF_REF(add_norm_fwd)(struct tf_ctx *c, tf_mem *s, tf_mem *y, tf_mem *mean, tf_mem *rstd,
                          const tf_mem *x, const tf_mem *res, const tf_mem *gain,
                          const tf_mem *bias, const struct tf_rows *r, int D, float eps,
                          struct tf_dropout dropout)
{
    size_t width = (size_t)D, rows = tf_rows_count(r);
    double *sum = TF_REF(scratch)(c, width);
    tf_real *out = y, *s_out = s, *mean_out = mean, *rstd_out = rstd;
    const tf_real *in = x, *skip = res;
    for (size_t i = 0; i < rows; i++) {
        for (size_t d = 0; d < width; d++) {
            sum[d] = (double)skip[i * width + d];
            if (in != NULL)
                sum[d] += (double)in[i * width + d] * TF_REF(keep)(c, dropout, r->off[0] + i, d);
        }
        normalise(s_out != NULL ? s_out + i * width : NULL, out + i * width,
                  mean_out != NULL ? mean_out + i : NULL, rstd_out != NULL ? rstd_out + i : NULL,
                  sum, gain, bias, width, eps);
    }
}

void TF_REF(add_norm_rows)(struct tf_ctx *c, tf_mem *s, tf_mem *y, const tf_mem *x,
                           const tf_mem *res, const tf_mem *gain, const tf_mem *bias, size_t rows,
                           int D, float eps)
{
    size_t width = (size_t)D;
    double *sum = TF_REF(scratch)(c, width);
    tf_real *out = y, *s_out = s;
    const tf_real *in = x, *skip = res;
    for (size_t i = 0; i < rows; i++) {
        for (size_t d = 0; d < width; d++)
            sum[d] = (double)skip[i * width + d] + (in != NULL ? (double)in[i * width + d] : 0);
        normalise(s_out != NULL ? s_out + i * width : NULL, out + i * width, NULL, NULL, sum, gain,
                  bias, width, eps);
    }
}

void TF_REF(add_norm_bwd)(struct tf_ctx *c, tf_mem *ds, tf_mem *dx, tf_mem *dgain, tf_mem *dbias,
                          const tf_mem *dy, const tf_mem *dsum, const tf_mem *s, const tf_mem *mean,
                          const tf_mem *rstd, const tf_mem *gain, const struct tf_rows *r, int D,
                          struct tf_dropout dropout)
{
    size_t width = (size_t)D, rows = tf_rows_count(r);
    tf_real *dres = ds, *din = dx, *dg = dgain, *db = dbias;
    const tf_real *dout = dy, *more = dsum, *sum = s, *mu = mean, *rs = rstd, *g = gain;
    double *gsum = TF_REF(scratch)(c, 2 * width), *bsum = gsum + width;
    for (size_t d = 0; d < width; d++)
        gsum[d] = bsum[d] = 0;

    for (size_t i = 0; i < rows; i++) {
        size_t at = i * width;
        double mean_g = 0, mean_gn = 0;
        if (dout != NULL)
            for (size_t d = 0; d < width; d++) {
                double n = ((double)sum[at + d] - (double)mu[i]) * (double)rs[i];
                double gy = (double)dout[at + d] * (double)g[d];
                mean_g += gy / (double)width;
                mean_gn += gy * n / (double)width;
                gsum[d] += (double)dout[at + d] * n;
                bsum[d] += (double)dout[at + d];
            }
        for (size_t d = 0; d < width; d++) {
            double v = more != NULL ? (double)more[at + d] : 0;
            if (dout != NULL) {
                double n = ((double)sum[at + d] - (double)mu[i]) * (double)rs[i];
                v += (double)rs[i] * ((double)dout[at + d] * (double)g[d] - mean_g - n * mean_gn);
            }
            dres[at + d] = (tf_real)v;
            if (din != NULL)
                din[at + d] = (tf_real)(v * TF_REF(keep)(c, dropout, r->off[0] + i, d));
        }
    }
    if (dout == NULL)
        return;
    for (size_t d = 0; d < width; d++) {
        dg[d] = (tf_real)gsum[d];
        db[d] = (tf_real)bsum[d];
    }
}
