/* pairs.h - a batch as the model sees it: packed ids, EOS appended, the decoder's input
 * shifted. */
#ifndef TF_MODEL_PAIRS_H
#define TF_MODEL_PAIRS_H

#include "base/err.h"
#include "model/config.h"
#include <stddef.h>
#include <stdint.h>

/* Guided alignment (ops/host_guide.h): which head of which layer of the decoder, from 0, and the
 * weight of its loss beside the cross-entropy of the targets. */
struct tf_guide {
    double weight;
    int layer, head;
};

/* Source and target sentences; sentence i has rows off[i] .. off[i + 1] - 1. Owns its arrays. */
struct tf_pairs {
    size_t n;                             /* sentences */
    uint32_t *src, *src_off;              /* ids, + EOS if source_eos; n + 1 offsets */
    uint32_t *tgt_in, *tgt_out, *tgt_off; /* start + ids; ids + EOS; n + 1 offsets */
    size_t longest;                       /* rows of the longest side of any sentence */
    /* NULL, or borrowed [n]: sentence i has the source of sentence same[i] <= i, which tf_forward
     * then encodes once. tf_pairs_set clears it. */
    const uint32_t *same;
    size_t cap_n, cap_src, cap_tgt;
    /* Of target row r the links to positions link_at[link_off[r] .. link_off[r + 1]) of its source,
     * for guided alignment; guide.weight 0: none, and tf_pairs_set clears it. */
    struct tf_guide guide;
    uint32_t *link_off, *link_at;
    /* If weighted, target row r counts weights[r] times in the loss, else once; tf_pairs_set
     * clears it. */
    bool weighted;
    float *weights;
};

/* Room for n sentences with so many rows; what is there stays. */
void tf_pairs_reserve(struct tf_pairs *p, size_t n, size_t n_src, size_t n_tgt);
/* Fill from ids (no EOS) with offsets; memory is reused. Ids >= V are an error. */
int tf_pairs_set(struct tf_pairs *p, const struct tf_config *c, size_t n, const uint32_t *src,
                 const uint32_t *src_off, const uint32_t *tgt, const uint32_t *tgt_off,
                 struct tf_err *err) TF_MUST_CHECK;
/* Give pairs that tf_pairs_set has filled their links, and the ends of both sides one to each other
 * (with source_eos): of pair i source and target positions in turn, links[off[i] .. off[i + 1]),
 * as tf_batch_check_links accepts them. */
void tf_pairs_link(struct tf_pairs *p, const struct tf_config *c, const struct tf_guide *guide,
                   const uint32_t *links, const uint32_t *off);
/* Give pairs that tf_pairs_set has filled their weights in the loss, [n]. */
void tf_pairs_weigh(struct tf_pairs *p, const float *weights);
void tf_pairs_release(struct tf_pairs *p);
/* Cut sentences 0..n into `parts` ranges of about equal cost: cut[0] = 0 <= ... <= cut[parts] = n.
 * Depends on the offsets alone. */
void tf_pairs_cut(size_t *cut, size_t parts, const struct tf_pairs *p);

/* The decoder's first input: bos, or TF_NO_ID for a zero vector. */
uint32_t tf_start_id(const struct tf_config *c);

#endif
