/* sample.h - subword regularisation: random segmentations of a text, drawn from a generator that
 * belongs to the line, so that threads and chunks can't change them. SentencePiece can sample too,
 * but from one generator per thread that is seeded once. Unigram vocabularies: Kudo, "Subword
 * regularization", ACL 2018 (forward filtering, backward sampling; or a choice among the n best).
 * BPE vocabularies: Provilkov et al., "BPE-dropout", ACL 2020. */
#ifndef TF_TEXT_SAMPLE_H
#define TF_TEXT_SAMPLE_H

#include "base/rng.h"
#include "text/sp.h"

struct tf_sampler; /* read-only once made; may be shared between threads */

/* Errors: a vocabulary that can be sampled neither way (word or character models). sp is
 * borrowed. */
int tf_sampler_new(struct tf_sampler **s, const struct tf_sp *sp, struct tf_err *err) TF_MUST_CHECK;
void tf_sampler_free(struct tf_sampler *s);

/* Draw one segmentation of text (valid UTF-8), appended to ids.
 * Unigram: P(x) in proportion to p(x)^alpha over all segmentations (nbest 0) or over the `nbest`
 * most probable (2 to 512). BPE: each merge is left out with probability alpha (0 to 1); nbest is
 * ignored. */
int tf_sample(const struct tf_sampler *s, const char *text, size_t n, double alpha, int nbest,
              struct tf_rng *rng, struct tf_ids *ids, struct tf_err *err) TF_MUST_CHECK;

#endif
