/* evaluate.h - a whole evaluation: read systems and references side by side, count, score,
 * report. */
#ifndef TF_METRICS_EVALUATE_H
#define TF_METRICS_EVALUATE_H

#include "base/file.h"
#include "metrics/rows.h"
#include "metrics/tally.h"

enum tf_eval_test { TF_TEST_NONE, TF_TEST_CONFIDENCE, TF_TEST_BOOTSTRAP, TF_TEST_RANDOMIZE };

struct tf_eval_opts {
    struct tf_metric_opts metric;
    enum tf_metric_kind kinds[TF_METRICS]; /* in the user's order, each once */
    size_t nkinds;
    struct tf_report_opts report;
    bool sentence; /* a line of text for every segment, with effective order */
    bool force;    /* no warning about hypotheses that look tokenized */
    enum tf_eval_test test;
    int64_t samples; /* of the test */
    const char *seed; /* decimal; "none": from the system; NULL: 12345 */
    bool stats;       /* in place of a report, the counts of the one system as a stream */
    const struct tf_opt *table; /* the tool's options, for that stream's provenance */
};

/* What sacreBLEU takes from the environment: SACREBLEU_SEED is the seed, SACREBLEU_FORMAT goes over
 * the format of the report. */
void tf_eval_environment(struct tf_eval_opts *o);

/* Refuse what can't be asked for together, in the words of tf-bleu's options: several metrics by
 * the sentence, tests by the sentence, chrF without any order. */
int tf_eval_check(const struct tf_eval_opts *o, struct tf_err *err) TF_MUST_CHECK;

/* Score the systems in in->systems against the references, and write the report. A line of memory
 * at a time, unless a test keeps the counts. */
int tf_evaluate(struct tf_out *out, const struct tf_eval_opts *o, const struct tf_inputs *in,
                struct tf_err *err) TF_MUST_CHECK;

/* The same from streams of counts, one for each system (stdin without any): metrics and their
 * settings are theirs. */
int tf_evaluate_stats(struct tf_out *out, const struct tf_eval_opts *o, const char *const *names,
                      size_t n, struct tf_err *err) TF_MUST_CHECK;

#endif
