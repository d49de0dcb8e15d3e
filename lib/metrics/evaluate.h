/* evaluate.h - a whole evaluation as sacreBLEU does it: read systems and references side by side,
 * count, score, report. */
#ifndef TF_METRICS_EVALUATE_H
#define TF_METRICS_EVALUATE_H

#include "metrics/sacrebleu_report_private.h"
#include "metrics/segments.h"

/* What an evaluation works on: text to a report, text to a stream of counts, such streams to a
 * report, or text to its tokens. Flags, as modes of tf-bleu. */
enum tf_eval_mode {
    TF_EVAL_SCORE = 1,
    TF_EVAL_STATS = 2,
    TF_EVAL_FROM_STATS = 4,
    TF_EVAL_PRINT = 8
};

struct tf_eval_opts {
    struct tf_metric_opts metric;
    enum tf_metric_kind kinds[TF_METRICS]; /* in the user's order, each once */
    size_t nkinds;
    struct tf_report_opts report;
    struct tf_sacrebleu_resampling resampling;
    bool sentence; /* a line of text for every segment, with effective order */
    bool force;    /* no warning about hypotheses that look tokenized */
    bool quiet;    /* no warning about the model of a tokenizer */
    bool stats;    /* instead of a report, write the counts of the one system as a stream */
    const struct tf_opt *table; /* the tool's options, for the provenance of that stream */
};

/* Apply sacreBLEU's environment variables: SACREBLEU_SEED sets the seed, SACREBLEU_FORMAT overrides
 * the format of the report. A usage error for a format that there is not. */
int tf_eval_environment(struct tf_eval_opts *o, struct tf_err *err) TF_MUST_CHECK;

/* Usage errors: several metrics or a significance test with sentence scores, chrF without any
 * order. */
int tf_eval_check(const struct tf_eval_opts *o, struct tf_err *err) TF_MUST_CHECK;

/* Usage errors of the operands, which are in->refs, and of --input, the systems: how many the mode
 * takes, and "-" more than once. single: the name of an option that takes one system, or NULL.
 * spm_model: a file that is read besides, or NULL. */
int tf_eval_check_files(const struct tf_segment_files *in, enum tf_eval_mode mode,
                        const char *single, const char *spm_model,
                        struct tf_err *err) TF_MUST_CHECK;

/* Score the systems of `in` against its references and write the report. Only one segment is in
 * memory at a time, unless a test needs the counts of all. */
int tf_evaluate(struct tf_out *out, const struct tf_eval_opts *o, const struct tf_segment_files *in,
                struct tf_err *err) TF_MUST_CHECK;

/* The same from streams of counts, one for each system (stdin if there are none). The metrics and
 * their settings are those of the streams. */
int tf_evaluate_stats(struct tf_out *out, const struct tf_eval_opts *o, const char *const *names,
                      size_t n, struct tf_err *err) TF_MUST_CHECK;

#endif
