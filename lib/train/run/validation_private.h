/* validation_private.h - perplexity and accuracy of the model on a finite batch stream in a file,
 * without dropout. */
#ifndef TF_TRAIN_RUN_VALIDATION_PRIVATE_H
#define TF_TRAIN_RUN_VALIDATION_PRIVATE_H

#include "train/run/collapse_private.h"
#include "train/run/env.h"
#include "train/step/stepper.h"

/* Perplexity exp(nll / tokens) and accuracy correct / tokens, over target tokens with EOS, without
 * label smoothing. */
double tf_sums_ppl(const struct tf_sums *s);
double tf_sums_acc(const struct tf_sums *s);

/* The validation data. */
struct tf_valid_data {
    uint8_t sha[32]; /* hash of its sentences, batch by batch */
    struct tf_token_stats tokens;
};
/* Check the whole file before there is work to lose: it must be a regular file and a complete batch
 * stream, with the vocabulary of `train` and for a model of that configuration. */
int tf_validate_check(struct tf_valid_data *data, const char *path, const struct tf_header *train,
                      const struct tf_config *c, struct tf_err *err) TF_MUST_CHECK;
/* Evaluate the whole file, whose hash must be sha. 1: a signal stopped it before the end, and *sums
 * is incomplete. */
int tf_validate(struct tf_sums *sums, struct tf_stepper *s, const char *path, const uint8_t sha[32],
                const struct tf_header *train, const struct tf_run_env *env,
                struct tf_err *err) TF_MUST_CHECK;

#endif
