/* norm.c - residual sum with dropout and layer normalisation (Ba, Kiros & Hinton 2016),
 * forward and backward:
 * n = (s - mean) rstd, y = n gain + bias; with g = dy gain, ds = rstd (g - mean(g) - n mean(g
 * n)). */
#include "ops/cpu/dropout_private.h"

/* s = res + x of one row; x NULL: res. */
static void sum_row(float *s, const float *x, const float *res, size_t D)
{
    for (size_t d = 0; d < D; d += 16) {
        size_t n = D - d;
        v16f v = v_load_n(res + d, n);
        if (x != NULL)
            v = v_add(v, v_load_n(x + d, n));
        v_store_n(s + d, v, n);
    }
}

static void dropout_sum_row(const struct dropout *dr, uint32_t row, float *s, const float *x,
                            const float *res, size_t D)
{
    v16f scale = v_set(dr->scale);
    for (size_t d = 0; d < D; d += 32) {
        size_t n = D - d;
        m32 m = dropout_mask(dr, row, (uint32_t)d);
        v_store_n(s + d,
                  v_add(v_load_n(res + d, n), v_keep(m.lo, v_mul(v_load_n(x + d, n), scale))), n);
        if (n > 16)
            v_store_n(s + d + 16,
                      v_add(v_load_n(res + d + 16, n - 16),
                            v_keep(m.hi, v_mul(v_load_n(x + d + 16, n - 16), scale))),
                      n - 16);
    }
}

static float sum_of(const float *s, size_t D)
{
    v16f a = v_set(0), b = v_set(0);
    size_t d = 0;
    for (; d + 32 <= D; d += 32) {
        a = v_add(a, v_load(s + d));
        b = v_add(b, v_load(s + d + 16));
    }
    for (; d < D; d += 16)
        a = v_add(a, v_load_n(s + d, D - d));
    return v_sum(v_add(a, b));
}

static void norm_row(float *y, float *mean_out, float *rstd_out, const float *s, const float *gain,
                     const float *bias, size_t D, float eps)
{
    float mean = sum_of(s, D) / (float)D;
    v16f mu = v_set(mean), a = v_set(0), b = v_set(0);
    size_t d = 0;
    for (; d + 32 <= D; d += 32) {
        v16f x = v_sub(v_load(s + d), mu), z = v_sub(v_load(s + d + 16), mu);
        a = v_fma(x, x, a);
        b = v_fma(z, z, b);
    }
    for (; d < D; d += 16) {
        size_t n = D - d;
        v16f x = v_keep(m_first(n), v_sub(v_load_n(s + d, n), mu));
        a = v_fma(x, x, a);
    }
    float rstd = 1 / __builtin_sqrtf(v_sum(v_add(a, b)) / (float)D + eps);
    v16f rs = v_set(rstd);
    for (d = 0; d < D; d += 16) {
        size_t n = D - d;
        v16f x = v_mul(v_sub(v_load_n(s + d, n), mu), rs);
        v_store_n(y + d, v_fma(x, v_load_n(gain + d, n), v_load_n(bias + d, n)), n);
    }
    if (mean_out != NULL)
        *mean_out = mean;
    if (rstd_out != NULL)
        *rstd_out = rstd;
}

void TF_CPU(add_norm_fwd)(struct tf_ctx *c, tf_mem_act *s, tf_mem_act *y, tf_mem_stat *mean,
                          tf_mem_stat *rstd, const tf_mem_act *x, const tf_mem_act *res,
                          const tf_mem_param *gain, const tf_mem_param *bias,
                          const struct tf_rows *r, int D, float eps, struct tf_dropout dropout)
{
    size_t width = (size_t)D, rows = tf_rows_count(r);
    struct dropout dr = dropout_of(c, dropout);
    float *row = tf_cpu_scratch(c, TF_CPU_ROW, width);
    for (size_t i = 0; i < rows; i++) {
        float *sum = s != NULL ? out(s, i * width) : row;
        if (x != NULL && dr.scale > 0)
            dropout_sum_row(&dr, r->off[0] + (uint32_t)i, sum, in(x, i * width), in(res, i * width),
                            width);
        else
            sum_row(sum, x != NULL ? in(x, i * width) : NULL, in(res, i * width), width);
        norm_row(out(y, i * width), mean != NULL ? out(mean, i) : NULL,
                 rstd != NULL ? out(rstd, i) : NULL, sum, gain, bias, width, eps);
    }
}

void TF_CPU(add_norm_rows)(struct tf_ctx *c, tf_mem_act *s, tf_mem_act *y, const tf_mem_act *x,
                           const tf_mem_act *res, const tf_mem_param *gain,
                           const tf_mem_param *bias, size_t rows, int D, float eps)
{
    size_t width = (size_t)D;
    float *row = tf_cpu_scratch(c, TF_CPU_ROW, width);
    for (size_t i = 0; i < rows; i++) {
        float *sum = s != NULL ? out(s, i * width) : row;
        sum_row(sum, x != NULL ? in(x, i * width) : NULL, in(res, i * width), width);
        norm_row(out(y, i * width), NULL, NULL, sum, gain, bias, width, eps);
    }
}

/* One row: ds, and dgain, dbias added to. */
static void norm_row_bwd(float *ds, float *dgain, float *dbias, const float *dy, const float *dsum,
                         const float *s, float mean, float rstd, const float *gain, size_t D)
{
    v16f mu = v_set(mean), rs = v_set(rstd), g1 = v_set(0), gn = v_set(0);
    for (size_t d = 0; d < D; d += 16) {
        size_t n = D - d;
        v16f dout = v_load_n(dy + d, n), g = v_mul(dout, v_load_n(gain + d, n)),
             x = v_mul(v_sub(v_load_n(s + d, n), mu), rs);
        g1 = v_add(g1, g);
        gn = v_fma(g, x, gn);
        v_store_n(dgain + d, v_fma(dout, x, v_load_n(dgain + d, n)), n);
        v_store_n(dbias + d, v_add(dout, v_load_n(dbias + d, n)), n);
    }
    v16f mg = v_set(v_sum(g1) / (float)D), mgn = v_set(v_sum(gn) / (float)D);
    for (size_t d = 0; d < D; d += 16) {
        size_t n = D - d;
        v16f g = v_mul(v_load_n(dy + d, n), v_load_n(gain + d, n)),
             x = v_mul(v_sub(v_load_n(s + d, n), mu), rs);
        v16f v = v_mul(rs, v_sub(v_sub(g, mg), v_mul(x, mgn)));
        if (dsum != NULL)
            v = v_add(v, v_load_n(dsum + d, n));
        v_store_n(ds + d, v, n);
    }
}

void TF_CPU(add_norm_bwd)(struct tf_ctx *c, tf_mem_act *ds, tf_mem_act *dx, tf_mem_param *dgain,
                          tf_mem_param *dbias, const tf_mem_act *dy, const tf_mem_act *dsum,
                          const tf_mem_act *s, const tf_mem_stat *mean, const tf_mem_stat *rstd,
                          const tf_mem_param *gain, const struct tf_rows *r, int D,
                          struct tf_dropout dropout)
{
    size_t width = (size_t)D, rows = tf_rows_count(r);
    struct dropout dr = dropout_of(c, dropout);
    if (dy != NULL) {
        memset(dgain, 0, width * sizeof(float));
        memset(dbias, 0, width * sizeof(float));
    }
    for (size_t i = 0; i < rows; i++) {
        size_t at = i * width;
        if (dy != NULL)
            norm_row_bwd(out(ds, at), dgain, dbias, in(dy, at), dsum != NULL ? in(dsum, at) : NULL,
                         in(s, at), *in(mean, i), *in(rstd, i), gain, width);
        else if (dsum == NULL)
            memset(out(ds, at), 0, width * sizeof(float));
        else if (dsum != ds)
            memcpy(out(ds, at), in(dsum, at), width * sizeof(float));
        if (dx == NULL)
            continue;
        if (dr.scale > 0)
            dropout_row(&dr, r->off[0] + (uint32_t)i, out(dx, at), in(ds, at), width);
        else
            memcpy(out(dx, at), in(ds, at), width * sizeof(float));
    }
}
