/* score.h - tf-score's stream: pairs, or sources and lists of targets, in, what the model thinks of
 * them out. */
#ifndef TF_DECODE_SCORE_H
#define TF_DECODE_SCORE_H

#include "decode/bad.h"
#include "decode/models.h"

enum tf_score_form { TF_SCORE_STREAM, TF_SCORE_TEXT, TF_SCORE_SUMMARY };

struct tf_score_opts {
    struct tf_strs models;
    const char *device, *precision; /* precision: NULL for the device's own */
    int64_t max_length, batch, window, threads; /* batch, window: 0 leaves them to the device */
    double alpha;  /* of the length penalty in the scores of lists */
    bool alpha_given;
    int form, bad; /* enum tf_score_form, enum tf_on_bad */
    bool token, force_vocab, quiet, progress;
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
