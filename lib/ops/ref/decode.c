/* decode.c - for decoding only: cache rows into their slots, log-probabilities, mixtures of models.
 */
#include "ops/ref/ref_private.h"

#include <math.h>

void TF_REF(scatter_rows)(struct tf_ctx *c, tf_mem_act *dst, size_t ld_dst, const tf_mem_act *src,
                          size_t ld_src, const tf_mem_u32 *slot, size_t rows, size_t n)
{
    (void)c;
    const uint32_t *to = slot;
    for (size_t r = 0; r < rows; r++)
        for (size_t i = 0; i < n; i++)
            *out(dst, to[r] * ld_dst + i) = *in(src, r * ld_src + i);
}

/* log(exp a + exp b) */
static double log_add(double a, double b)
{
    double max = a > b ? a : b;
    return max == -INFINITY ? max : max + log1p(exp(-fabs(a - b)));
}

void TF_REF(log_softmax)(struct tf_ctx *c, tf_mem_stat *z, tf_mem_stat *acc, size_t rows, int V,
                         float weight)
{
    (void)c;
    size_t width = (size_t)V;
    for (size_t r = 0; r < rows; r++) {
        tf_real *x = out(z, r * width);
        double max = -INFINITY, sum = 0;
        for (size_t j = 0; j < width; j++)
            max = (double)x[j] > max ? (double)x[j] : max;
        for (size_t j = 0; j < width; j++)
            sum += exp((double)x[j] - max);
        double lse = max + log(sum);
        tf_real *mix = acc != NULL ? out(acc, r * width) : NULL;
        for (size_t j = 0; j < width; j++)
            if (mix != NULL)
                mix[j] = (tf_real)log_add(log(1 - (double)weight) + (double)mix[j],
                                          log((double)weight) + ((double)x[j] - lse));
            else
                x[j] = (tf_real)((double)x[j] - lse);
    }
}
