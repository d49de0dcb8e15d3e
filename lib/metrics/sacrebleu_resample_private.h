/* sacrebleu_resample_private.h - confidence intervals and p-values from the counts of segments.
 * Samples are drawn exactly as sacreBLEU 2.6 draws them with numpy 2, so that the same seed gives
 * the same numbers.
 *
 * Sources: bootstrap: Koehn, "Statistical significance tests for machine translation evaluation",
 * EMNLP 2004; approximate randomisation: Riezler and Maxwell, "On some pitfalls in automatic
 * evaluation and significance testing for MT", 2005. */
#ifndef TF_METRICS_SACREBLEU_RESAMPLE_PRIVATE_H
#define TF_METRICS_SACREBLEU_RESAMPLE_PRIVATE_H

#include "metrics/tally_private.h"

enum tf_sacrebleu_test {
    TF_TEST_NONE,
    TF_TEST_CONFIDENCE, /* interval of one system, by bootstrap */
    TF_TEST_BOOTSTRAP,  /* paired: each system against the first */
    TF_TEST_RANDOMIZE,  /* the same by approximate randomisation */
};

struct tf_sacrebleu_resampling {
    enum tf_sacrebleu_test test;
    int64_t samples;  /* 0 or less in a paired test: sacreBLEU's default */
    const char *seed; /* decimal; "none": from the system; NULL: 12345 */
};
bool tf_sacrebleu_paired(const struct tf_sacrebleu_resampling *r);
/* What sacreBLEU reports: the number of samples, and the seed. Paired tests report the seed as a
 * number, intervals as it was given. The seed is valid as long as r->seed. */
int64_t tf_sacrebleu_samples(const struct tf_sacrebleu_resampling *r);
const char *tf_sacrebleu_seed(const struct tf_sacrebleu_resampling *r);

struct tf_resample {
    double p;        /* of the system against the first one */
    double mean, ci; /* of the samples; half the width of the 95 % interval */
    bool has_p, has_mean;
};

/* Run the test on a tally with counts; out is indexed like tally.sums. Errors: a seed that is not a
 * number, too many segments. */
int tf_sacrebleu_resample(struct tf_resample *out, const struct tf_tally *t,
                          const struct tf_sacrebleu_resampling *r,
                          struct tf_err *err) TF_MUST_CHECK;

/* ---- the two procedures ---- */

enum { TF_RESAMPLE_LINES = 1 << 30 }; /* the most segments */

/* `samples` times, draw as many segments as there are, with replacement, the same for all systems.
 * With d the absolute differences between a system and the first one,
 * p = (1 + number of samples with d - mean(d) above the real difference) / (samples + 1).
 * exact: compute means as Python's statistics.mean, else as numpy's. seed NULL: from the system. */
int tf_sacrebleu_bootstrap(struct tf_resample *out, const struct tf_tally *t, size_t samples,
                           const char *seed, bool exact, struct tf_err *err) TF_MUST_CHECK;
/* `trials` times, swap each segment between the first system and another with probability 1/2.
 * p = (1 + number of trials with a difference above the real one) / (trials + 1). */
int tf_sacrebleu_randomize(struct tf_resample *out, const struct tf_tally *t, size_t trials,
                           const char *seed, struct tf_err *err) TF_MUST_CHECK;

#endif
