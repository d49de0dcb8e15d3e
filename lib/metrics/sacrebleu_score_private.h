/* sacrebleu_score_private.h - scores of resampled sums. sacreBLEU applies the formulas of its
 * metrics to numpy 2 arrays, whose numbers are float32 (bootstrap) or int64 (randomisation) and
 * stay so when combined with Python's constants; the results differ from tf_metric_score in the
 * last digits. */
#ifndef TF_METRICS_SACREBLEU_SCORE_PRIVATE_H
#define TF_METRICS_SACREBLEU_SCORE_PRIVATE_H

#include "metrics/metric.h"

/* The score of sums of float32: a float32, too, except for BLEU, whose exp makes a Python float. */
double tf_sacrebleu_score_float32(const struct tf_metric *m, const double *sums);
/* The score of sums of int64. Only add-k smoothing differs: what it stores back into the counts
 * loses its fraction. */
double tf_sacrebleu_score_int64(const struct tf_metric *m, const double *sums);
/* (1 + number of x - shift above limit) / (n + 1) */
double tf_sacrebleu_p(const double *x, size_t n, double shift, double limit);

#endif
