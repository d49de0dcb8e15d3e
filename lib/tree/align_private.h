/* align_private.h - alignment of two sequences of words by their longest common subsequence (E.
 * Myers, "An O(ND) difference algorithm and its variations", 1986). */
#ifndef TF_TREE_ALIGN_PRIVATE_H
#define TF_TREE_ALIGN_PRIVATE_H

#include "tree/tree_private.h"

/* Words may differ in so many places (those of one that the other lacks, counted in both). Beyond
 * it only what the sequences share at their beginning and end is aligned, so that the cost of a
 * line stays O((na + nb) * TF_ALIGN_MAX) in time and O(TF_ALIGN_MAX^2) in memory. */
enum { TF_ALIGN_MAX = 200 };

/* For each a[i] set match[i] to the index of the same word in b, or SIZE_MAX if it has none there;
 * matches increase. Returns the number of matches. */
size_t tf_align(const struct tf_text *a, size_t na, const struct tf_text *b, size_t nb,
                size_t *match);

#endif
