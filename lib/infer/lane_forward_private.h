/* lane_forward_private.h - what one lane does with given targets: a forward pass over a group of
 * pairs, for log-probabilities or for attention weights. */
#ifndef TF_INFER_LANE_FORWARD_PRIVATE_H
#define TF_INFER_LANE_FORWARD_PRIVATE_H

#include "infer/lanes_private.h"
#include "model/transformer.h"

/* A pair, and the result. Ids have no EOS and are borrowed. */
struct tf_forward_pair {
    const uint32_t *src, *tgt; /* neighbours of a group with the same src are encoded once */
    uint32_t n_src, n_tgt;
    /* out: n_tgt + 1 log-probabilities, EOS last; the caller's memory */
    float *token_logp;
    /* out: [watched layers, heads, rows, columns], for the caller to free(); NULL: not watched */
    float *weights[TF_ATTENTION_KINDS];
};

/* Budget of a group, in tokens, as tf_lanes_new takes it. */
size_t tf_forward_budget(const struct tf_ensemble *m);
/* watch: which attention weights the pass stores, NULL: none. */
struct tf_lane_item tf_forward_item(struct tf_forward_pair *p, const struct tf_ensemble *m,
                                    const struct tf_watch *watch);

struct tf_lane_forward;
/* One for each lane. */
struct tf_lane_forward **tf_lane_forward_new(const struct tf_lanes *l);
void tf_lane_forward_free(struct tf_lane_forward **f, const struct tf_lanes *l);
/* Both take groups whose items are struct tf_forward_pair; a result does not depend on the other
 * pairs. */
/* token_logp of every pair; of an ensemble the logarithm of the mean probability. */
int tf_lane_forward_logp(struct tf_lane_forward *f, const struct tf_lane_item *group, size_t n,
                         struct tf_err *err) TF_MUST_CHECK;
/* Since the last call of this: target tokens that had the highest probability at their place. For
 * one model. */
uint64_t tf_lane_forward_take_correct(struct tf_lane_forward *f);
/* weights of every pair, from the first model. */
int tf_lane_forward_attention(struct tf_lane_forward *f, const struct tf_watch *watch,
                              const struct tf_lane_item *group, size_t n,
                              struct tf_err *err) TF_MUST_CHECK;

#endif
