/* tally.h - counts of several systems under several metrics: what a text is worth once it has been
 * compared with its references. */
#ifndef TF_METRICS_TALLY_H
#define TF_METRICS_TALLY_H

#include "metrics/metric.h"

/* Arrays over systems and metrics are indexed [system * nmetrics + metric]. */
struct tf_tally {
    struct tf_metric metrics[TF_METRICS]; /* in the user's order */
    size_t nmetrics, nsystems, nlines;
    char **names;     /* of the systems; owned */
    double **sums;    /* of values, metric.width each */
    uint32_t **counts; /* nlines * width each, when they are kept */
    size_t room;      /* lines that counts have room for */
    bool keep;        /* every segment's counts: for resampling */
};
/* With metrics, nmetrics and keep set. */
void tf_tally_systems(struct tf_tally *t, size_t n);
/* Room for one more line of counts, where they are kept; then nlines may grow. */
void tf_tally_grow(struct tf_tally *t);
/* Add a segment's counts, which go to line nlines of the system where they are kept. */
void tf_tally_add(struct tf_tally *t, size_t system, size_t metric, const uint32_t *counts);
void tf_tally_release(struct tf_tally *t);

#endif
