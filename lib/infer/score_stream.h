/* score_stream.h - the job of tf-score: a stream of pairs, or sources with targets or n-best lists,
 * to the log-probabilities that the model gives them, in the order of the input. */
#ifndef TF_INFER_SCORE_STREAM_H
#define TF_INFER_SCORE_STREAM_H

#include "base/opt.h"
#include "infer/session.h"

enum tf_score_form { TF_SCORE_STREAM, TF_SCORE_TEXT, TF_SCORE_SUMMARY };

struct tf_score_opts {
    struct tf_session_opts run;
    double alpha, normalize; /* of the length penalty, for the scores of n-best lists */
    const char *penalty;     /* the option that was given, or NULL */
    bool token; /* also write the log-probability of every token */
    int form;   /* enum tf_score_form */
};

/* Run the whole job. inputs: one path (pairs or batches) or two (sources; targets or n-best lists),
 * "-" for stdin. table: the tool's options, for provenance. Returns 0, TF_PARTIAL when records were
 * bad (see --bad), or -1. */
int tf_score_stream(const struct tf_score_opts *o, const char *const *inputs, size_t n,
                    const char *output, const struct tf_opt *table,
                    struct tf_err *err) TF_MUST_CHECK;

#endif
