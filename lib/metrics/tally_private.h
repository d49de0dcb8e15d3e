/* tally_private.h - the counts of several systems under several metrics: their sums, and for
 * resampling also those of every segment. */
#ifndef TF_METRICS_TALLY_PRIVATE_H
#define TF_METRICS_TALLY_PRIVATE_H

#include "metrics/metric.h"

/* Arrays over systems and metrics are indexed [system * nmetrics + metric]. */
struct tf_tally {
    struct tf_metric metrics[TF_METRICS]; /* in the user's order */
    size_t nmetrics, nsystems, nlines;
    char **names;      /* of the systems; owned */
    double **sums;     /* of tf_metric_value, metric.width each */
    uint32_t **counts; /* with keep: nlines * metric.width each */
    size_t room;       /* lines that counts have room for */
    bool keep;         /* keep the counts of every segment */
};
/* Make room for n systems; metrics, nmetrics and keep are set, names are for the caller to fill. */
void tf_tally_systems(struct tf_tally *t, size_t n);
/* Make room for the counts of one more line. After adding to all cells, increment nlines. */
void tf_tally_grow(struct tf_tally *t);
/* Add the counts of segment nlines of a system under a metric. */
void tf_tally_add(struct tf_tally *t, size_t system, size_t metric, const uint32_t *counts);
void tf_tally_release(struct tf_tally *t);

#endif
