/* diverse_private.h - diverse beam search (A. K. Vijayakumar et al., "Diverse Beam Search: Decoding
 * Diverse Solutions from Neural Sequence Models", 2016), with Hamming diversity. CPU only.
 *
 * A beam of K is G groups of K / G. Each group is a search of its own over the same source by the
 * rule of ops/search_state.h, except that a step takes the groups in order, and in group g, where
 * the prefix and the limit force nothing, logp of a candidate with id v is
 *
 *     logp of its row + x - strength * c(v)
 *
 * where c(v) counts the hypotheses of groups before g that continued with v in this step and stay
 * live. So do the authors' program and transformers; what ends does not count. Penalties add up in
 * logp of a row, and ends are finished, and hypotheses dropped, by these numbers.
 *
 * The outputs of all groups are ranked by score = log P / lp(len), without penalties and at the
 * limit by point 6 of that rule, in the order of the groups where equal; of equal outputs the first
 * stays. */
#ifndef TF_INFER_DIVERSE_PRIVATE_H
#define TF_INFER_DIVERSE_PRIVATE_H

#include "ops/search_state.h"
#include "stream/record.h"

struct tf_diverse {
    size_t groups;   /* >= 2 */
    double strength; /* >= 0 */
};

/* In place of search_step, with log-probabilities lp. The `groups` sentences from i *
 * groups on are the groups of sentence i, and opts.K and opts.N are those of a group. */
void tf_diverse_step(const struct tf_diverse *d, struct tf_search *q, tf_mem *lp);

/* Rank the outputs of all groups, in their order: set logp and score of each from token_logp.
 * n_prefix: tokens of the forced prefix. limit: of the sentence. Returns how many are left. */
size_t tf_diverse_rank(struct tf_hyp *hyps, size_t n, const struct tf_search_opts *o,
                       size_t n_prefix, size_t limit);

#endif
