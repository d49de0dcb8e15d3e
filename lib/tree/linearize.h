/* linearize.h - trees as sequences for a sequence-to-sequence model, and back (Vinyals et al.,
 * "Grammar as a Foreign Language", 2015): brackets and tags in the order of the tree, words left
 * out, the root left out. One tag a word: where several words stand under one tag, those behind the
 * first have the tag "+". */
#ifndef TF_TREE_LINEARIZE_H
#define TF_TREE_LINEARIZE_H

#include "tree/tree.h"

enum tf_brackets {
    TF_BRACKETS_SLASH, /* "S NP DT NN /NP VP VBZ /VP /S", of tensor2tensor */
    TF_BRACKETS_PAREN, /* "(S (NP DT NN )NP (VP VBZ )VP )S", of Vinyals et al. */
};
extern const char *const tf_brackets_names[]; /* NULL-terminated */

/* Append the words and the sequence, with spaces between; the root goes if tf_tree_is_root. -1 for
 * a tree that would not come back: a constituent without words (the root may be), without label, a
 * tag "+", or, with SLASH, a constituent "+", a label or tag that begins with "/", or a tag that
 * reads as its own constituent's opening. */
int tf_linearize(const struct tf_tree *t, enum tf_brackets style, const char *root,
                 struct tf_buf *words, struct tf_buf *sequence, struct tf_err *err) TF_MUST_CHECK;

/* What a sequence had to be told. */
enum {
    TF_REPAIR_BRACKETS = 1, /* closed, opened or ignored brackets, empty constituents */
    TF_REPAIR_TAGS = 2,     /* more or fewer tags than words */
};

/* The tree of a sequence over these words (separated by white space), with `root` around it: always
 * a valid tree whose leaves are the words. Returns the repairs made, 0 for none. - A closing
 * bracket closes the innermost constituent of its label with all that is open inside; where none is
 * open it is ignored. What is open at the end is closed. - Constituents without words go. Tags
 * behind the last word go. Words behind the last tag get `tag`, at the end of the last outermost
 * constituent. - A "+" that follows no word in its constituent is a missing tag.
 *  - With SLASH, where the sequence as it stands is no tree of that many words: a token opens a
 *  constituent when a closing of its label follows or when it is a constituent's label in
 *    the Penn Treebank or CRAFT; it is a tag otherwise.
 * Texts of the tree are views of sequence, words, root and tag. */
unsigned tf_delinearize(struct tf_tree *t, enum tf_brackets style, struct tf_text sequence,
                        struct tf_text words, const char *root, const char *tag);

#endif
