/* metric.h - BLEU, chrF and TER under one face: counts of a segment, the score of sums of counts,
 * the signature. */
#ifndef TF_METRICS_METRIC_H
#define TF_METRICS_METRIC_H

#include "metrics/arith.h"
#include "metrics/bleu.h"
#include "metrics/chrf.h"
#include "metrics/report.h"
#include "metrics/ter.h"

/* in the order of sacreBLEU's reports */
enum tf_metric_kind { TF_BLEU, TF_CHRF, TF_TER, TF_METRICS };
extern const char *const tf_metric_names[];                   /* as -m has them, NULL at the end */

struct tf_metric_opts {
    struct tf_bleu_opts bleu;
    struct tf_chrf_opts chrf;
    struct tf_ter_opts ter;
};

struct tf_metric {
    enum tf_metric_kind kind;
    char name[96];       /* in reports: "BLEU", "chrF2++", "TER" */
    size_t width, nrefs; /* counts in a segment; references */
    union {
        struct tf_bleu bleu;
        struct tf_chrf chrf;
        struct tf_ter ter;
    } u;
};
void tf_metric_init(struct tf_metric *m, enum tf_metric_kind kind, const struct tf_metric_opts *o,
                    size_t nrefs);
void tf_metric_release(struct tf_metric *m);

/* The counts of one hypothesis against nrefs references. */
int tf_metric_segment(struct tf_metric *m, uint32_t *counts, struct tf_text hyp,
                      const struct tf_text *refs, struct tf_err *err) TF_MUST_CHECK;
/* A count as it enters the sums: of TER's reference lengths, the mean. */
static inline double tf_metric_value(const struct tf_metric *m, size_t i, uint32_t count)
{
    return m->kind == TF_TER && i == 1 ? (double)count / (double)m->nrefs : count;
}
/* The score of sums of values. `single` is set when numpy would give a float32. */
double tf_metric_score(const struct tf_metric *m, const double *sums, enum tf_arith a,
                       bool *single);
/* The same with its particulars, for a report. */
void tf_metric_result(const struct tf_metric *m, const double *sums, const struct tf_signature *s,
                      struct tf_result *r);

/* How the metric was computed. Resampling: counts of samples, or 0; seed NULL without. */
struct tf_resampled {
    int64_t bootstrap, randomized;
    const char *seed;
};
void tf_metric_signature(const struct tf_metric *m, struct tf_signature *s,
                         const struct tf_resampled *how);

/* Metrics by name, each once, in that order; BLEU without any. kinds has room for TF_METRICS. An
 * unknown name is a mistake of usage. */
int tf_metric_choose(enum tf_metric_kind *kinds, size_t *n, const char *const *names, size_t nnames,
                     struct tf_err *err) TF_MUST_CHECK;

#endif
