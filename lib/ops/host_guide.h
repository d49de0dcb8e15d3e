/* host_guide.h - guided alignment, for backends on host memory: a loss that makes one head of
 * cross-attention point from each token of a target to those of the source that links name.
 *
 * For a target row t with n > 0 links, of whose weights p_s = softmax_s(q_t k_s' / sqrt(dk)):
 *     loss_t = -1/n sum over its links s of log(p_s + 1e-6)
 * the cross-entropy of Marian's guided alignment (src/layers/guided_alignment.h, "ce"; W. Chen et
 * al., Guided Alignment Training for Topic-Aware Neural Machine Translation, 2016). */
#ifndef TF_OPS_HOST_GUIDE_H
#define TF_OPS_HOST_GUIDE_H

#include "ops/backend.h"

/* Links of packed target rows: row r has those to positions at[off[r] .. off[r + 1]) of its source.
 * The rows of a sentence have one weight; NULL: 1. */
struct tf_links_of {
    const uint32_t *off, *at;
    const float *weights;
};

/* The loss of a head times the rows' weights, summed over the rows of a, before dropout. Its
 * gradient times `weight` is added to a->dq and a->dk_, which attention_bwd has written. */
double tf_host_guide(const struct tf_backend *be, const struct tf_attention *a, int head,
                     struct tf_links_of links, double weight);

#endif
