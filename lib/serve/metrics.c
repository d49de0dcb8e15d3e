/* metrics.c - see metrics_private.h. The format: prometheus.io, exposition formats, text 0.0.4. */
#include "serve/metrics_private.h"
#include "base/parse.h"

static const double bounds[TF_BUCKETS] = {0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5,
                                          1,     2.5,  5,     10,   30,  60,   120};

void tf_metrics_took(struct tf_histogram *h, double seconds)
{
    for (int i = 0; i < TF_BUCKETS; i++)
        h->count[i] += seconds <= bounds[i];
    h->n++;
    h->sum += seconds;
}

void tf_metrics_describe(struct tf_buf *out, const char *name, const char *type, const char *help)
{
    tf_buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

void tf_metrics_write(const struct tf_metrics *m, struct tf_buf *out)
{
    const struct tf_histogram *h = &m->translate;
    char number[32];
    tf_metrics_describe(out, "tf_serve_requests_total", "counter",
                        "Answers by HTTP status; 499: the client left before.");
    for (int i = 0; i < 600; i++)
        if (m->status[i] > 0)
            tf_buf_printf(out, "tf_serve_requests_total{code=\"%d\"} %llu\n", i,
                          (unsigned long long)m->status[i]);
    tf_metrics_describe(out, "tf_serve_translate_seconds", "histogram",
                        "Seconds from a request to translate to its answer.");
    for (int i = 0; i < TF_BUCKETS; i++)
        tf_buf_printf(out, "tf_serve_translate_seconds_bucket{le=\"%s\"} %llu\n",
                      tf_format_real(number, bounds[i]), (unsigned long long)h->count[i]);
    tf_buf_printf(out, "tf_serve_translate_seconds_bucket{le=\"+Inf\"} %llu\n",
                  (unsigned long long)h->n);
    tf_buf_printf(out, "tf_serve_translate_seconds_sum %s\n", tf_format_real(number, h->sum));
    tf_buf_printf(out, "tf_serve_translate_seconds_count %llu\n", (unsigned long long)h->n);
}
