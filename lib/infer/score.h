/* score.h - tf-score's stream: pairs, or sources and lists of targets, in, what the model thinks of
 * them out. */
#ifndef TF_INFER_SCORE_H
#define TF_INFER_SCORE_H

#include "infer/stage.h"

enum tf_score_form { TF_SCORE_STREAM, TF_SCORE_TEXT, TF_SCORE_SUMMARY };

struct tf_score_opts {
    struct tf_stage_opts run;
    double alpha; /* of the length penalty in the scores of lists */
    bool alpha_given;
    bool token; /* log-probabilities of every token, too */
    int form;   /* enum tf_score_form */
};

/* Over all good pairs. Tokens count EOS. */
struct tf_score_sum {
    uint64_t pairs, tokens, correct;
    double logp; /* natural logarithm, summed over tokens in the order of the input */
};

/* The whole job of tf-score: one input (pairs or batches) or two (source tokens, and target tokens
 * or n-best lists). 0, TF_PARTIAL or -1. */
int tf_score_run(const struct tf_score_opts *o, const char *const *inputs, size_t n,
                 const char *output, const struct tf_opt *table, struct tf_err *err) TF_MUST_CHECK;

#endif
