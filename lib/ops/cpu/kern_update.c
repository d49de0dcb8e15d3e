/* kern_update.c - sums over flat blocks, Adam (Kingma & Ba 2015) and the moving average of
 * weights. */
#include "ops/cpu/kern.h"
#include "ops/cpu/vec.h"

#include <math.h>

void TF_CPU(add)(float *a, const float *b, size_t n)
{
    for (size_t i = 0; i < n; i += 16)
        v_store_n(a + i, v_add(v_load_n(a + i, n - i), v_load_n(b + i, n - i)), n - i);
}

double TF_CPU(sumsq)(const float *x, size_t n)
{
    d8 sum[2] = {{{0}}};
    size_t i = 0;
    for (; i + 32 <= n; i += 32) {
        v16f a = v_load(x + i), b = v_load(x + i + 16);
        d_add(&sum[0], a, a);
        d_add(&sum[1], b, b);
    }
    for (; i < n; i += 16) {
        v16f a = v_load_n(x + i, n - i);
        d_add(&sum[0], a, a);
    }
    double total = 0;
    for (int l = 0; l < 8; l++)
        total += sum[0].lane[l] + sum[1].lane[l];
    return total;
}

void TF_CPU(adam)(float *p, float *m, float *v, const float *g, size_t n, const double *norm2,
                  const struct tf_adam *h)
{
    double norm = sqrt(*norm2), scale = h->gscale;
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
    v16f tiny = v_set(0x1p-120f);
    for (size_t i = 0; i < n; i += 16) {
        size_t k = n - i;
        v16f g1 = v_mul(v_load_n(g + i, k), gs);
        v16f m1 = v_fma(b1, v_load_n(m + i, k), v_mul(a1, g1));
        v16f v1 = v_fma(b2, v_load_n(v + i, k), v_mul(a2, v_mul(g1, g1)));
        /* Rows of an embedding that are never seen decay for ever: stop before the numbers get
         * subnormal and slow. */
        m1 = v_pick(m_gt(tiny, v_max(m1, v_sub(v_set(0), m1))), v_set(0), m1);
        v1 = v_pick(m_gt(tiny, v1), v_set(0), v1);
        v16f down = v_add(v_sqrt(v_mul(v1, rt)), eps);
        v_store_n(m + i, m1, k);
        v_store_n(v + i, v1, k);
        v_store_n(p + i, v_sub(v_load_n(p + i, k), v_div(v_mul(lr, m1), down)), k);
    }
}

void TF_CPU(ema)(float *e, const float *p, size_t n, double decay)
{
    v16f keep = v_set((float)decay), take = v_set((float)(1 - decay));
    for (size_t i = 0; i < n; i += 16) {
        size_t k = n - i;
        v_store_n(e + i, v_fma(keep, v_load_n(e + i, k), v_mul(take, v_load_n(p + i, k))), k);
    }
}
