/* sample_private.h - subword regularisation: random segmentations of a text. Each line has a random
 * generator of its own, so that the result does not depend on threads and chunks; SentencePiece's
 * sampler, with one generator per thread, can't do that.
 *
 * Sources: unigram: Kudo, "Subword regularization", ACL 2018; BPE: Provilkov et al., "BPE-dropout",
 * ACL 2020. */
#ifndef TF_TEXT_SAMPLE_PRIVATE_H
#define TF_TEXT_SAMPLE_PRIVATE_H

#include "base/rng.h"
#include "text/normal_private.h"
#include "text/pieces_private.h"

struct tf_sampler; /* read-only once created; may be shared between threads */

/* For the vocabulary sp, which has the n bytes that tf_sp_check accepts; both are borrowed. Errors:
 * one that is neither unigram nor BPE, or whose pieces are too many for a trie
 * (piece_trie_private.h). */
int tf_sampler_new(struct tf_sampler **s, const struct tf_sp *sp, const void *bytes, size_t n,
                   struct tf_err *err) TF_MUST_CHECK;
void tf_sampler_free(struct tf_sampler *s);

/* Draw one segmentation of text (valid UTF-8) and append it to ids.
 * Unigram: P(x) is proportional to p(x)^alpha over all segmentations (nbest 0), with user-defined
 * symbols whole, or over the `nbest` most probable ones (2 to 512). BPE: each merge is skipped with
 * probability alpha (0 to 1); nbest is ignored. */
int tf_sample(const struct tf_sampler *s, const char *text, size_t n, double alpha, int nbest,
              struct tf_rng *rng, struct tf_ids *ids, struct tf_err *err) TF_MUST_CHECK;

/* ---- for the files sample*.c ---- */

struct tf_sampler {
    struct tf_pieces pieces; /* of unigram models also read backward */
    struct tf_normal normal;
    double unknown_score;
    uint32_t nested; /* most pieces that begin with each other */
};

/* Unigram, from all segmentations. text is normalised, at most 64 MB. */
void tf_sample_unigram(const struct tf_sampler *s, const char *text, size_t n, double alpha,
                       struct tf_rng *rng, struct tf_ids *ids);
/* Unigram, from the nbest most probable ones. text is not normalised. */
int tf_sample_nbest(const struct tf_sampler *s, const char *text, size_t n, double alpha, int nbest,
                    struct tf_rng *rng, struct tf_ids *ids, struct tf_err *err) TF_MUST_CHECK;

#endif
