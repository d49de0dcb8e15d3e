/* tree_private.h - constituency trees in brackets: "(S (NP (DT the) (NN cat)) (VP (VBZ sleeps)))".
 * A tree is a flat list of openings, words and closings in the order of the text, so that no
 * function here recurses, however deep the tree. */
#ifndef TF_TREE_TREE_PRIVATE_H
#define TF_TREE_TREE_PRIVATE_H

#include "base/buf.h"
#include "base/input.h"
#include "base/output.h"
#include "text/text.h"
#include <stdint.h>

enum tf_tree_kind { TF_TREE_OPEN, TF_TREE_LEAF, TF_TREE_CLOSE };

struct tf_tree_node {
    enum tf_tree_kind kind;
    struct tf_text label; /* of a constituent (may be empty), or the tag of a leaf */
    struct tf_text word;  /* of a leaf; may be several words with white space between */
    size_t mate;          /* of an opening the index of its closing, and vice versa */
};

/* Balanced: the last node closes what the first one opens. Zero-initialise. Texts are views of the
 * parsed text. */
struct tf_tree {
    struct tf_tree_node *v;
    size_t n, cap;
};
void tf_tree_release(struct tf_tree *t);
/* Append a node, without its mate. */
void tf_tree_add(struct tf_tree *t, enum tf_tree_kind kind, struct tf_text label,
                 struct tf_text word);

/* Parse s, which must be exactly one tree. Errors give the reason and the byte: brackets that don't
 * match, a word without a tag, a word next to a bracket, text outside of the tree. */
int tf_tree_parse(struct tf_tree *t, const char *s, size_t n, struct tf_err *err) TF_MUST_CHECK;
/* Append the tree on one line, without LF, with single spaces. Brackets within words (which
 * tf_tree_parse never produces) become -LRB- and -RRB-. */
void tf_tree_write(struct tf_buf *out, const struct tf_tree *t);

/* Remove constituents without words. A tree without words keeps only its outermost one. */
void tf_tree_drop_empty(struct tf_tree *t);
/* Remove traces (-NONE-) and constituents that contain nothing else, and cut labels at the first -
 * or = after their first character, except those that begin with -. Any other constituent without
 * words is an error, because its label may be a word: "(NP (Fido))". A tree that is only a root
 * (tf_tree_is_root) stays. */
int tf_tree_clean(struct tf_tree *t, const char *root, struct tf_err *err) TF_MUST_CHECK;
/* Whether the outermost constituent is only a root: without label, or TOP, ROOT, S1 or `root`. */
bool tf_tree_is_root(const struct tf_tree *t, const char *root);
/* Put a constituent `root` around the whole tree. The text of `root` must outlive the tree. */
void tf_tree_wrap(struct tf_tree *t, const char *root);
/* Rename the root to `root`, or wrap a tree that has no root. */
void tf_tree_reroot(struct tf_tree *t, const char *root);

/* Correct the Penn Treebank's punctuation tags (, . : `` '') by the words: words that are always
 * punctuation get their tag, words that may be keep what they have, and all others that have such a
 * tag get `other`, whose text must outlive the tree. A double quote gets '' unless it has ``. */
void tf_tree_punctuate(struct tf_tree *t, const char *other);

/* Whether `tag` is one of those five punctuation tags, and whether a word always has one. */
bool tf_tree_punctuation_tag(struct tf_text tag);
bool tf_tree_punctuation_word(struct tf_text word);

/* The layout of trees in a file. */
enum tf_tree_layout {
    TF_TREE_AUTO,   /* as LINES until the first tree of several lines, then as PRETTY; after empty
                       lines at the beginning also if the first tree has several lines, or an outer
                       bracket without a label */
    TF_TREE_LINES,  /* one tree per line; an empty line is a bad tree */
    TF_TREE_PRETTY, /* a tree not closed on its line continues on following lines that begin with
                       white space or ")"; empty lines between trees are skipped */
};

struct tf_tree_reader {
    struct tf_in *in;
    enum tf_tree_layout layout;
    size_t max;         /* the most bytes of a tree */
    struct tf_out *out[2]; /* flushed before a read that would block; or NULL */
    uint64_t line;      /* last line read */
    uint64_t first;     /* line on which the last tree began */
    struct tf_buf text; /* of a tree of several lines */
    struct tf_err why;  /* what is wrong with a bad tree */
};
/* Read the next tree, valid until the next call. Returns 1; 0 at the end; 2 for a bad tree
 * (r->why), after which reading continues; -1 when reading or flushing fails. */
int tf_tree_read(struct tf_tree_reader *r, struct tf_tree *t, struct tf_err *err) TF_MUST_CHECK;
void tf_tree_reader_release(struct tf_tree_reader *r);

#endif
