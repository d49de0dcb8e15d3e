/* sacrebleu_float32.h - float32 arithmetic as numpy 2 does it. sacreBLEU's own scores are doubles,
 * but its resampled ones come from numpy arrays of float32, where every operation rounds. The
 * published p-values and intervals depend on these roundings. */
#ifndef TF_METRICS_SACREBLEU_FLOAT32_H
#define TF_METRICS_SACREBLEU_FLOAT32_H

#include <stdbool.h>
#include <stddef.h>

/* Round x to float32 if the value would be one in numpy. For + - * / on two float32 values,
 * rounding the double result gives the float32 result. */
static inline double tf_float32_round(double x, bool float32)
{
    return float32 ? (double)(float)x : x;
}

/* numpy's mean: pairwise summation (numpy/core/src/umath/loops_utils.h.src), each sum rounded. */
double tf_float32_mean(const double *x, size_t n, bool float32);
/* The mean of Python's statistics.mean, which sums exactly. */
double tf_float32_exact_mean(const double *x, size_t n, bool float32);

#endif
