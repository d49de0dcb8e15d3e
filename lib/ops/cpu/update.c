/* update.c - sums over flat blocks, Adam (Kingma & Ba 2015) and the moving average of
 * weights. */
#include "ops/cpu/kernels_private.h"
#include "ops/cpu/vec_private.h"

#include <math.h>

void TF_CPU(add)(struct tf_ctx *c, tf_mem_param *a, const tf_mem_param *b, size_t n)
{
    (void)c;
    for (size_t i = 0; i < n; i += 16)
        v_store_n(out(a, i), v_add(v_load_n(in(a, i), n - i), v_load_n(in(b, i), n - i)), n - i);
}

static double sum_of_squares(const tf_mem_param *x, size_t n)
{
    d8 sum[2] = {{{0}}};
    size_t i = 0;
    for (; i + 32 <= n; i += 32) {
        v16f a = v_load(in(x, i)), b = v_load(in(x, i + 16));
        d_add(&sum[0], a, a);
        d_add(&sum[1], b, b);
    }
    for (; i < n; i += 16) {
        v16f a = v_load_n(in(x, i), n - i);
        d_add(&sum[0], a, a);
    }
    double total = 0;
    for (int l = 0; l < 8; l++)
        total += sum[0].lane[l] + sum[1].lane[l];
    return total;
}

void TF_CPU(sumsq)(struct tf_ctx *c, tf_mem_f64 *dst, const tf_mem_param *x, size_t n, size_t chunk)
{
    (void)c;
    double *to = dst;
    for (size_t i = 0; i < n; i += chunk)
        *to++ = sum_of_squares(in(x, i), n - i < chunk ? n - i : chunk);
}

void TF_CPU(sum)(struct tf_ctx *c, tf_mem_f64 *dst, const tf_mem_f64 *src, size_t n)
{
    (void)c;
    const double *x = src;
    double total = 0;
    for (size_t i = 0; i < n; i++)
        total += x[i];
    *(double *)dst = total;
}

void TF_CPU(adam)(struct tf_ctx *c, tf_mem_param *p, tf_mem_param *m, tf_mem_param *v,
                  const tf_mem_param *g, size_t n, const tf_mem_f64 *norm2, const struct tf_adam *h)
{
    (void)c;
    double norm = sqrt(*(const double *)norm2), scale = h->gscale;
    if (!isfinite(norm))
        return;
    if (h->clip > 0 && norm * h->gscale > h->clip)
        scale *= h->clip / (norm * h->gscale);
    double c1 = 1 - pow(h->beta1, (double)h->t), c2 = 1 - pow(h->beta2, (double)h->t);
    /* step = rate m / (sqrt(v * root) + eps) in both forms */
    double rate = h->eps_hat ? h->lr * sqrt(c2) / c1 : h->lr / c1, root = h->eps_hat ? 1 : 1 / c2;
    v16f gs = v_set((float)scale), b1 = v_set((float)h->beta1), b2 = v_set((float)h->beta2);
    v16f a1 = v_set((float)(1 - h->beta1)), a2 = v_set((float)(1 - h->beta2));
    v16f lr = v_set((float)rate), rt = v_set((float)root), eps = v_set((float)h->eps);
    v16f tiny = v_set(0x1p-120f), fade = v_set((float)(0 - h->lr * h->decay));
    for (size_t i = 0; i < n; i += 16) {
        size_t k = n - i;
        v16f g1 = v_mul(v_load_n(in(g, i), k), gs);
        v16f m1 = v_fma(b1, v_load_n(in(m, i), k), v_mul(a1, g1));
        v16f v1 = v_fma(b2, v_load_n(in(v, i), k), v_mul(a2, v_mul(g1, g1)));
        /* Moments of embedding rows that never occur decay for ever: flush them to 0 before they
         * become subnormal, which is slow. */
        m1 = v_pick(m_gt(tiny, v_max(m1, v_sub(v_set(0), m1))), v_set(0), m1);
        v1 = v_pick(m_gt(tiny, v1), v_set(0), v1);
        v16f p1 = v_load_n(in(p, i), k);
        p1 = v_fma(fade, p1, p1); /* without decay exactly p */
        v16f down = v_add(v_sqrt(v_mul(v1, rt)), eps);
        v_store_n(out(m, i), m1, k);
        v_store_n(out(v, i), v1, k);
        v_store_n(out(p, i), v_sub(p1, v_div(v_mul(lr, m1), down)), k);
    }
}

void TF_CPU(ema)(struct tf_ctx *c, tf_mem_param *e, const tf_mem_param *p, size_t n, double decay)
{
    (void)c;
    v16f keep = v_set((float)decay), take = v_set((float)(1 - decay));
    for (size_t i = 0; i < n; i += 16) {
        size_t k = n - i;
        v_store_n(out(e, i), v_fma(keep, v_load_n(in(e, i), k), v_mul(take, v_load_n(in(p, i), k))),
                  k);
    }
}
