/* tree_vote_private.h - one tree of several over the same words: the constituents that most of them
 * have (Henderson and Brill, "Exploiting Diversity in Natural Language Processing: Combining
 * Parsers", 1999: constituent voting). Two constituents that have more than half of the votes are
 * together in a tree, so they do not cross. */
#ifndef TF_TREE_TREE_VOTE_PRIVATE_H
#define TF_TREE_TREE_VOTE_PRIVATE_H

#include "tree/tree_private.h"

/* Zero-initialise. */
struct tf_tree_vote {
    struct tf_tree_ballot *v; /* a constituent of a tree */
    size_t n, cap, trees;
    double total; /* weight */
};

/* Add the constituents of a tree. Texts of labels must outlive the vote. */
void tf_tree_vote_add(struct tf_tree_vote *v, const struct tf_tree *t, double weight);
/* Make the tree of the constituents that have more than half of the weight, over the leaves of one
 * of the trees, without those that begin or end within one of its leaves. Constituents are the same
 * if they have the same words, the same label, and as many of both around them. Those of the same
 * words are ordered by how many there are around them, on average. The vote
 * is empty then. */
void tf_tree_vote_count(struct tf_tree_vote *v, const struct tf_tree *leaves, struct tf_tree *t);
void tf_tree_vote_release(struct tf_tree_vote *v);

#endif
