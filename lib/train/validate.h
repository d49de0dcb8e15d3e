/* validate.h - how well the model does on a finite batch stream in a file, without dropout. */
#ifndef TF_TRAIN_VALIDATE_H
#define TF_TRAIN_VALIDATE_H

#include "train/step.h"
#include "wire/stream.h"
#include <signal.h>

/* Perplexity exp(nll / tokens) and accuracy correct / tokens, over target tokens with EOS, without label smoothing. */
double tf_sums_ppl(const struct tf_sums *s);
double tf_sums_acc(const struct tf_sums *s);

/* Early and cheap: the file is a regular one, a batch stream, of the vocabulary of `train`. */
int tf_validate_check(const char *path, const struct tf_header *train, struct tf_err *err) TF_MUST_CHECK;
/* The whole file. Returns 1 when *stop became true before the end: *sums is of no use then. */
int tf_validate(struct tf_sums *sums, struct tf_stepper *s, const char *path, const struct tf_header *train, const volatile sig_atomic_t *stop, struct tf_err *err) TF_MUST_CHECK;

#endif
