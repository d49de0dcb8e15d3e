/* sacrebleu_float32.c - see sacrebleu_float32.h. */
#include "metrics/sacrebleu_float32.h"
#include <string.h>

static double pairwise_sum(const double *x, size_t n, bool float32)
{
    double sum = 0;
    if (n < 8) {
        for (size_t i = 0; i < n; i++)
            sum = tf_float32_round(sum + x[i], float32);
        return sum;
    }
    if (n <= 128) {
        double r[8];
        size_t i;
        memcpy(r, x, sizeof r);
        for (i = 8; i < n - n % 8; i += 8)
            for (int k = 0; k < 8; k++)
                r[k] = tf_float32_round(r[k] + x[i + (size_t)k], float32);
        for (int step = 1; step < 8; step *= 2)
            for (int k = 0; k < 8; k += 2 * step)
                r[k] = tf_float32_round(r[k] + r[k + step], float32);
        for (sum = r[0]; i < n; i++)
            sum = tf_float32_round(sum + x[i], float32);
        return sum;
    }
    size_t half = n / 2;
    half -= half % 8;
    return tf_float32_round(pairwise_sum(x, half, float32) +
                                pairwise_sum(x + half, n - half, float32),
                            float32);
}

double tf_float32_mean(const double *x, size_t n, bool float32)
{
    return tf_float32_round(pairwise_sum(x, n, float32) / (double)n, float32);
}

double tf_float32_exact_mean(const double *x, size_t n, bool float32)
{
    long double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += x[i];
    return tf_float32_round((double)(sum / (long double)n), float32);
}
