/* report.h - scores in sacreBLEU's words: signatures, lines of text, JSON objects, tables of
 * several systems. */
#ifndef TF_METRICS_REPORT_H
#define TF_METRICS_REPORT_H

#include "base/buf.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How a score was made: pairs such as tok:13a, each with its short form. Zero-initialise. */
struct tf_signature {
    struct {
        const char *key, *brief;
        char value[320];
    } pair[16];
    int n;
};
void tf_signature_add(struct tf_signature *s, const char *key, const char *brief, const char *fmt,
                      ...) TF_PRINTF(4, 5);
/* Append "nrefs:1|case:mixed|..." or, brief, "#:1|c:mixed|...". */
void tf_signature_text(struct tf_buf *out, const struct tf_signature *s, bool brief);

/* One score with its particulars. */
struct tf_result {
    const char *name; /* "BLEU" */
    double score;
    double mean, ci; /* of resampling, where mean > 0 */
    char verbose[160]; /* "p1/p2/p3/p4 (BP = ...)"; empty: none */
    const struct tf_signature *signature;
};

enum tf_report_format { TF_REPORT_JSON, TF_REPORT_TEXT, TF_REPORT_LATEX };
extern const char *const tf_report_formats[]; /* their names, NULL at the end */
struct tf_report_opts {
    enum tf_report_format format;
    int width;       /* decimal places */
    bool score_only; /* nothing but the number */
    bool brief;      /* short signature, in text only */
};

/* Append the text line of a score, with LF. */
void tf_report_line(struct tf_buf *out, const struct tf_result *r, const struct tf_report_opts *o);
/* Append the scores of one system under n metrics: JSON objects, or lines aligned at their first
 * "=". */
void tf_report_single(struct tf_buf *out, const struct tf_result *r, size_t n,
                      const struct tf_report_opts *o);

/* ---- several systems ---- */

struct tf_resample;
struct tf_systems {
    const char *const *names; /* ns, as the user gave them */
    const struct tf_result *results; /* ns * nm, by system */
    /* likewise, of a paired test against the first system; or NULL */
    const struct tf_resample *tests;
    size_t ns, nm;
    bool bootstrap; /* the test: bootstrap, else randomization */
    int64_t trials; /* as the user asked for them */
};
void tf_report_systems(struct tf_buf *out, const struct tf_systems *s,
                       const struct tf_report_opts *o);

/* Append x as Python's repr has it. */
void tf_report_real(struct tf_buf *out, double x);

#endif
