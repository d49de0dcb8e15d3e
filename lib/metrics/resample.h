/* resample.h - confidence intervals and p-values from the counts of segments, sample by sample as
 * sacreBLEU 2.6 draws them with numpy 2.
 *
 * Sources: bootstrap: Koehn, "Statistical significance tests for machine translation evaluation",
 * EMNLP 2004; approximate randomization: Riezler and Maxwell, "On some pitfalls in automatic
 * evaluation and significance testing for MT", 2005. */
#ifndef TF_METRICS_RESAMPLE_H
#define TF_METRICS_RESAMPLE_H

#include "metrics/tally.h"

struct tf_resample {
    double p;        /* of the system against the first one */
    double mean, ci; /* of the samples; half of the interval that holds 95 of 100 */
    bool has_p, has_mean;
};

/* `samples` times as many segments as there are, drawn with replacement, the same for all systems.
 * out is indexed as the tally is. With d the absolute differences between a system and the first, p
 * = (1 + how often d - mean(d) exceeds the real one) / (samples + 1).
 * exact: the mean as Python's statistics.mean has it, else as numpy's. */
int tf_bootstrap(struct tf_resample *out, const struct tf_tally *t, size_t samples,
                 const char *seed, bool exact, struct tf_err *err) TF_MUST_CHECK;
/* `trials` times, each segment changes sides between the first system and another by a coin; p = (1
 * + how often the difference exceeds the real one) / (trials + 1). */
int tf_randomize(struct tf_resample *out, const struct tf_tally *t, size_t trials, const char *seed,
                 struct tf_err *err) TF_MUST_CHECK;

#endif
