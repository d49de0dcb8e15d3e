/* metric.h - one interface to BLEU, chrF and TER: counts of a segment, score of sums of
 * counts.
 *
 * A metric maps each segment to `width` counts. The score of a text is a function of the sums of
 * its counts, so that counts can be kept, resampled, and added up elsewhere. */
#ifndef TF_METRICS_METRIC_H
#define TF_METRICS_METRIC_H

#include "metrics/bleu.h"
#include "metrics/chrf_private.h"
#include "metrics/ter_private.h"

/* In the order of sacreBLEU's reports. */
enum tf_metric_kind { TF_BLEU, TF_CHRF, TF_TER };
extern const char *const tf_metric_names[]; /* "bleu", "chrf", "ter", NULL */

enum {
    TF_METRICS = TF_TER + 1,
    TF_METRIC_WIDTH = TF_CHRF_WIDTH, /* the most counts of a segment */
};

struct tf_metric_opts {
    struct tf_bleu_opts bleu;
    struct tf_chrf_opts chrf;
    struct tf_ter_opts ter;
};

struct tf_metric {
    enum tf_metric_kind kind;
    char name[96]; /* in reports: "BLEU", "chrF2++", "TER" */
    size_t width;  /* counts per segment */
    size_t nrefs;  /* references per segment */
    union {
        struct tf_bleu bleu;
        struct tf_chrf chrf;
        struct tf_ter ter;
    } u;
};
void tf_metric_init(struct tf_metric *m, enum tf_metric_kind kind, const struct tf_metric_opts *o,
                    size_t nrefs);
void tf_metric_release(struct tf_metric *m);

/* Set counts[0 .. width) to those of one hypothesis against its references. Text is checked UTF-8.
 * -1 when the segment is too long for the metric. */
int tf_metric_segment(struct tf_metric *m, uint32_t *counts, struct tf_text hyp,
                      const struct tf_text *refs, struct tf_err *err) TF_MUST_CHECK;
/* What a count adds to the sums: itself, except that TER's sum of reference lengths becomes their
 * mean. */
static inline double tf_metric_value(const struct tf_metric *m, size_t i, uint32_t count)
{
    return m->kind == TF_TER && i == 1 ? (double)count / (double)m->nrefs : count;
}
/* The score of sums[0 .. width) of values. */
double tf_metric_score(const struct tf_metric *m, const double *sums);

/* Metrics by name, each once, in the order of their first mention; BLEU for an empty list. kinds
 * has room for TF_METRICS. An unknown name is a usage error. */
int tf_metric_choose(enum tf_metric_kind *kinds, size_t *n, const char *const *names, size_t nnames,
                     struct tf_err *err) TF_MUST_CHECK;

#endif
