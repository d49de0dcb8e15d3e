/* utility_private.h - the expected utility of each hypothesis of a list, for minimum Bayes risk
 * decoding (Kumar and Byrne, "Minimum Bayes-risk decoding for statistical machine translation",
 * NAACL 2004; Eikema and Aziz, "Is MAP decoding all you need?", COLING 2020): the mean of its
 * sentence score with each hypothesis of the list, itself included, as the reference,
 *
 *     U(h) = sum over j of w_j score(h, h_j)
 *
 * where score is sentence-level chrF, or BLEU with effective order, as tf-bleu computes them. The
 * n-grams of a hypothesis are counted once; a pair takes the sum of the lesser counts. */
#ifndef TF_METRICS_UTILITY_PRIVATE_H
#define TF_METRICS_UTILITY_PRIVATE_H

#include "metrics/metric.h"

enum { TF_UTILITY_BYTES = 2 << 20 }; /* of different texts in one list */

struct tf_utility;
/* kind: TF_BLEU or TF_CHRF, with its options. */
struct tf_utility *tf_utility_new(enum tf_metric_kind kind, const struct tf_metric_opts *o);
void tf_utility_free(struct tf_utility *u);
/* utility[i] = U(hyps[i]), 0 to 100 for weights that sum to 1; equal texts count as often as they
 * come. Text is checked UTF-8. -1 where the texts have more than TF_UTILITY_BYTES. */
int tf_utility_of(struct tf_utility *u, double *utility, const struct tf_text *hyps,
                  const double *weight, size_t n, struct tf_err *err) TF_MUST_CHECK;

#endif
