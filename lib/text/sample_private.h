/* sample_private.h - subword regularisation: random segmentations of a text. Each line has a random
 * generator of its own, so that the result does not depend on threads and chunks; SentencePiece's
 * sampler, with one generator per thread, can't do that.
 *
 * Sources: unigram: Kudo, "Subword regularization", ACL 2018; BPE: Provilkov et al., "BPE-dropout",
 * ACL 2020. */
#ifndef TF_TEXT_SAMPLE_PRIVATE_H
#define TF_TEXT_SAMPLE_PRIVATE_H

#include "base/rng.h"
#include "text/sp_private.h"

struct tf_sampler; /* read-only once created; may be shared between threads */

/* sp is borrowed. Errors: a vocabulary that is neither unigram nor BPE. */
int tf_sampler_new(struct tf_sampler **s, const struct tf_sp *sp, struct tf_err *err) TF_MUST_CHECK;
void tf_sampler_free(struct tf_sampler *s);

/* Draw one segmentation of text (valid UTF-8) and append it to ids.
 * Unigram: P(x) is proportional to p(x)^alpha over all segmentations (nbest 0), with user-defined
 * symbols whole, or over the `nbest` most probable ones (2 to 512). BPE: each merge is skipped with
 * probability alpha (0 to 1); nbest is ignored. */
int tf_sample(const struct tf_sampler *s, const char *text, size_t n, double alpha, int nbest,
              struct tf_rng *rng, struct tf_ids *ids, struct tf_err *err) TF_MUST_CHECK;

/* The length of the longest user-defined symbol at the start of the text, and its id; or 0. */
size_t tf_sample_user(const struct tf_sampler *s, const char *text, size_t n, uint32_t *id);

/* ---- for sample.c: the ways to sample ---- */

/* Unigram, from all segmentations. text is normalised, at most 64 MB. */
void tf_sample_unigram(const struct tf_sampler *s, const char *text, size_t n, double alpha,
                       struct tf_rng *rng, struct tf_ids *ids);
/* Unigram, from the nbest most probable ones. text is not normalised. */
int tf_sample_nbest(const struct tf_sampler *s, const char *text, size_t n, double alpha, int nbest,
                    struct tf_rng *rng, struct tf_ids *ids, struct tf_err *err) TF_MUST_CHECK;
/* BPE with dropout. text is normalised, at most 64 MB. */
void tf_sample_bpe(const struct tf_sampler *s, const char *text, size_t n, double alpha,
                   struct tf_rng *rng, struct tf_ids *ids);

#endif
