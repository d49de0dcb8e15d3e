/* validate.h - how well the model does on a finite batch stream in a file, without dropout. */
#ifndef TF_TRAIN_VALIDATE_H
#define TF_TRAIN_VALIDATE_H

#include "train/step.h"
#include "stream/stream.h"
#include <signal.h>

/* Perplexity exp(nll / tokens) and accuracy correct / tokens, over target tokens with EOS, without
 * label smoothing. */
double tf_sums_ppl(const struct tf_sums *s);
double tf_sums_acc(const struct tf_sums *s);

/* All that may be wrong with the file, said before there is any work to lose: it is a regular one
 * and a whole batch stream of the vocabulary of `train`, for a model of that configuration.
 * sha: of its sentences, batch by batch. */
int tf_validate_check(uint8_t sha[32], const char *path, const struct tf_header *train,
                      const struct tf_config *c, struct tf_err *err) TF_MUST_CHECK;
/* The whole file. Returns 1 when *stop became true before the end: *sums is of no use then. */
int tf_validate(struct tf_sums *sums, struct tf_stepper *s, const char *path,
                const struct tf_header *train, const volatile sig_atomic_t *stop,
                struct tf_err *err) TF_MUST_CHECK;

#endif
