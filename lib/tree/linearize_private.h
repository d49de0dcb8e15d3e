/* linearize_private.h - trees as sequences for a sequence-to-sequence model, and back (Vinyals et
 * al., "Grammar as a Foreign Language", 2015): brackets and tags in the order of the tree, without
 * the words and without the root. There is one tag per word: where several words share a tag, those
 * after the first have the tag "+". Or brackets and words, without the tags: a model that copies
 * the words does not lose count of them. */
#ifndef TF_TREE_LINEARIZE_PRIVATE_H
#define TF_TREE_LINEARIZE_PRIVATE_H

#include "tree/tree_private.h"

enum tf_brackets {
    TF_BRACKETS_SLASH, /* "S NP DT NN /NP VP VBZ /VP /S", as in tensor2tensor */
    TF_BRACKETS_PAREN, /* "(S (NP DT NN )NP (VP VBZ )VP )S", as in Vinyals et al. */
    TF_BRACKETS_WORDS, /* "(S (NP the cat )NP (: - ): (VP sleeps )VP )S": only a
                        * punctuation tag that the word alone does not tell is kept, in brackets */
};
extern const char *const tf_brackets_names[]; /* NULL-terminated */

/* Append the words and the sequence, separated by spaces; a root (tf_tree_is_root) is left out. -1
 * for a tree that could not be restored (with WORDS, but for tags and leaves of several words): one
 * with a constituent without words (except the root) or without label, a tag "+", with WORDS a
 * constituent that has the label of a punctuation tag, or, with SLASH, a constituent "+", a label
 * or tag that begins with "/", or a tag that reads like the opening of its own constituent. */
int tf_linearize(const struct tf_tree *t, enum tf_brackets style, const char *root,
                 struct tf_buf *words, struct tf_buf *sequence, struct tf_err *err) TF_MUST_CHECK;

/* Kinds of repairs. */
enum {
    TF_REPAIR_BRACKETS = 1, /* brackets closed, opened or ignored; empty constituents removed */
    TF_REPAIR_LEAVES = 2,   /* more or fewer tags than words; WORDS: others than the words */
};

/* Build the tree of a sequence over these words (separated by white space), with `root` around it.
 * The result is always a valid tree whose leaves are the words. Returns the repairs made, 0 for
 * none:
 * - A closing bracket closes the innermost constituent with its label and all that is open inside;
 *   if there is none, it is ignored. What is open at the end is closed.
 * - Constituents without words and tags after the last word are removed. Words after the last tag
 *   get `tag`, at the end of the last outermost constituent.
 * - A "+" that follows no word in its constituent counts as a missing tag.
 * - With WORDS, the words of the sequence are aligned with the given ones (tf_align); what lies
 *   between two that match is paired in order. Given words that are left over follow the one before
 *   them (at the beginning, precede the first) in its constituent; others of the sequence are
 *   removed. Words get their punctuation tag if the sequence has one, and `tag` otherwise; so
 *   do those left over, unless they are the word that they follow (or precede) once more.
 * - With SLASH, if the sequence is not a tree of that many words as it stands: a token opens a
 *   constituent if a closing of its label follows, or if it is a constituent label of the Penn
 *   Treebank or CRAFT; otherwise it is a tag.
 * Texts of the tree are views of sequence, words, root and tag. */
unsigned tf_delinearize(struct tf_tree *t, enum tf_brackets style, struct tf_text sequence,
                        struct tf_text words, const char *root, const char *tag);

#endif
