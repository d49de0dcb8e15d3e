/* update.c - sums over flat blocks, Adam (Kingma & Ba 2015) and the moving average of weights. */
#include "ops/ref/ref.h"

#include <math.h>

void TF_REF(add)(struct tf_ctx *c, tf_mem *a, const tf_mem *b, size_t n)
{
    (void)c;
    tf_real *x = a;
    const tf_real *y = b;
    for (size_t i = 0; i < n; i++)
        x[i] += y[i];
}

void TF_REF(sumsq)(struct tf_ctx *c, tf_mem *dst, const tf_mem *x, size_t n)
{
    (void)c;
    const tf_real *v = x;
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (double)v[i] * (double)v[i];
    *(double *)dst = sum;
}

void TF_REF(sum)(struct tf_ctx *c, tf_mem *dst, const tf_mem *src, size_t n)
{
    (void)c;
    const double *v = src;
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += v[i];
    *(double *)dst = sum;
}

void TF_REF(adam)(struct tf_ctx *c, tf_mem *p, tf_mem *m, tf_mem *v, const tf_mem *g, size_t n,
                  const tf_mem *norm2, const struct tf_adam *h)
{
    (void)c;
    tf_real *param = p, *first = m, *second = v;
    const tf_real *grad = g;
    double norm = sqrt(*(const double *)norm2);
    if (!isfinite(norm))
        return;
    double scale = h->gscale;
    if (h->clip > 0 && norm * h->gscale > h->clip)
        scale *= h->clip / (norm * h->gscale);
    double c1 = 1 - pow(h->beta1, (double)h->t), c2 = 1 - pow(h->beta2, (double)h->t);
    for (size_t i = 0; i < n; i++) {
        double gi = (double)grad[i] * scale;
        double mi = h->beta1 * (double)first[i] + (1 - h->beta1) * gi;
        double vi = h->beta2 * (double)second[i] + (1 - h->beta2) * gi * gi;
        double step = h->eps_hat ? sqrt(c2) / c1 * mi / (sqrt(vi) + h->eps)
                                 : (mi / c1) / (sqrt(vi / c2) + h->eps);
        first[i] = (tf_real)mi;
        second[i] = (tf_real)vi;
        param[i] = (tf_real)((double)param[i] - h->lr * step);
    }
}

void TF_REF(ema)(struct tf_ctx *c, tf_mem *e, const tf_mem *p, size_t n, double decay)
{
    (void)c;
    tf_real *mean = e;
    const tf_real *param = p;
    for (size_t i = 0; i < n; i++)
        mean[i] = (tf_real)(decay * (double)mean[i] + (1 - decay) * (double)param[i]);
}
