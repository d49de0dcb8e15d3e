/* metrics_private.h - what the service counts, as text for Prometheus. */
#ifndef TF_SERVE_METRICS_PRIVATE_H
#define TF_SERVE_METRICS_PRIVATE_H

#include "base/buf.h"

enum { TF_BUCKETS = 14 };

/* Seconds that requests took: how many at most those of each bucket. */
struct tf_histogram {
    uint64_t count[TF_BUCKETS];
    uint64_t n;
    double sum;
};

struct tf_metrics {
    uint64_t status[600];          /* answers of each status; 499: the client left before */
    struct tf_histogram translate; /* of requests to translate, from their last byte */
};

void tf_metrics_took(struct tf_histogram *h, double seconds);
void tf_metrics_write(const struct tf_metrics *m, struct tf_buf *out);
/* The lines that describe a metric. */
void tf_metrics_describe(struct tf_buf *out, const char *name, const char *type, const char *help);

#endif
