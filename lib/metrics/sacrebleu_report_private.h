/* sacrebleu_report_private.h - scores as sacreBLEU prints them, byte for byte except for the
 * version in the signature: lines of text, JSON objects, tables of several systems. */
#ifndef TF_METRICS_SACREBLEU_REPORT_PRIVATE_H
#define TF_METRICS_SACREBLEU_REPORT_PRIVATE_H

#include "base/output.h"
#include "metrics/sacrebleu_resample_private.h"
#include "metrics/sacrebleu_signature_private.h"

enum tf_report_format { TF_REPORT_JSON, TF_REPORT_TEXT, TF_REPORT_LATEX };
extern const char *const tf_report_formats[]; /* NULL-terminated */
struct tf_report_opts {
    int format;      /* enum tf_report_format */
    int64_t width;   /* decimal places of scores */
    bool score_only; /* nothing but the number */
    bool brief;      /* short signature, in text only */
};

/* Write the report on the systems of a tally, which has counts if r->test is a test. Errors: those
 * of tf_sacrebleu_resample and of writing. */
int tf_sacrebleu_report(struct tf_out *out, const struct tf_tally *t,
                        const struct tf_sacrebleu_resampling *r, const struct tf_report_opts *o,
                        struct tf_err *err) TF_MUST_CHECK;

/* One score. */
struct tf_result {
    const char *name; /* of the metric */
    double score;
    double mean, ci;   /* of resampling, if mean > 0 */
    char verbose[160]; /* "p1/p2/p3/p4 (BP = ...)" or empty */
    const struct tf_signature *signature;
};
/* The result for sums of a metric's values. It points to m and s. */
void tf_result_of(struct tf_result *r, const struct tf_metric *m, const double *sums,
                  const struct tf_signature *s);
/* Append the result as a line of text. */
void tf_result_line(struct tf_buf *out, const struct tf_result *r, const struct tf_report_opts *o);

/* ---- parts of tf_sacrebleu_report ---- */

/* Append n results of one system: JSON objects, or lines aligned at their first "=". */
void tf_report_one(struct tf_buf *out, const struct tf_result *results, size_t n,
                   const struct tf_report_opts *o);

struct tf_systems {
    const char *const *names;        /* [n] */
    const struct tf_result *results; /* [n * nmetrics], indexed [system * nmetrics + metric] */
    const struct tf_resample *tests; /* the same, of a paired test; NULL for none */
    size_t n, nmetrics;
    bool bootstrap; /* kind of the test: bootstrap, else randomisation */
    int64_t trials; /* of the test, as given by the user */
};
/* Append a table or JSON array of several systems. */
void tf_report_many(struct tf_buf *out, const struct tf_systems *s, const struct tf_report_opts *o);

#endif
