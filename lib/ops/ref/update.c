/* update.c - sums over flat blocks, Adam (Kingma & Ba 2015) and the moving average of weights. */
#include "ops/ref/ref_private.h"

#include <math.h>

void TF_REF(add)(struct tf_ctx *c, tf_mem_param *a, const tf_mem_param *b, size_t n)
{
    (void)c;
    for (size_t i = 0; i < n; i++)
        *out(a, i) += *in(b, i);
}

void TF_REF(sumsq)(struct tf_ctx *c, tf_mem_f64 *dst, const tf_mem_param *x, size_t n, size_t chunk)
{
    (void)c;
    double *sums = dst;
    for (size_t i = 0; i < n; i++) {
        double square = (double)*in(x, i) * (double)*in(x, i);
        sums[i / chunk] = i % chunk == 0 ? square : sums[i / chunk] + square;
    }
}

void TF_REF(sum)(struct tf_ctx *c, tf_mem_f64 *dst, const tf_mem_f64 *src, size_t n)
{
    (void)c;
    const double *v = src;
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += v[i];
    *(double *)dst = sum;
}

void TF_REF(adam)(struct tf_ctx *c, tf_mem_param *p, tf_mem_param *m, tf_mem_param *v,
                  const tf_mem_param *g, size_t n, const tf_mem_f64 *norm2, const struct tf_adam *h)
{
    (void)c;
    double norm = sqrt(*(const double *)norm2);
    if (!isfinite(norm))
        return;
    double scale = h->gscale;
    if (h->clip > 0 && norm * h->gscale > h->clip)
        scale *= h->clip / (norm * h->gscale);
    double c1 = 1 - pow(h->beta1, (double)h->t), c2 = 1 - pow(h->beta2, (double)h->t);
    for (size_t i = 0; i < n; i++) {
        double gi = (double)*in(g, i) * scale;
        double mi = h->beta1 * (double)*in(m, i) + (1 - h->beta1) * gi;
        double vi = h->beta2 * (double)*in(v, i) + (1 - h->beta2) * gi * gi;
        double step = h->eps_hat ? sqrt(c2) / c1 * mi / (sqrt(vi) + h->eps)
                                 : (mi / c1) / (sqrt(vi / c2) + h->eps);
        *out(m, i) = (tf_real)mi;
        *out(v, i) = (tf_real)vi;
        double pi = (double)*in(p, i);
        *out(p, i) = (tf_real)(pi - h->lr * h->decay * pi - h->lr * step);
    }
}

void TF_REF(ema)(struct tf_ctx *c, tf_mem_param *e, const tf_mem_param *p, size_t n, double decay)
{
    (void)c;
    for (size_t i = 0; i < n; i++)
        *out(e, i) = (tf_real)(decay * (double)*in(e, i) + (1 - decay) * (double)*in(p, i));
}
