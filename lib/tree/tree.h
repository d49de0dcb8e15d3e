/* tree.h - constituency trees in brackets: "(S (NP (DT the) (NN cat)) (VP (VBZ sleeps)))". A tree
 * is a flat list of openings, words and closings in the order of the text, so that nothing here
 * recurses, however deep a tree is. */
#ifndef TF_TREE_TREE_H
#define TF_TREE_TREE_H

#include "base/buf.h"
#include "base/file.h"
#include "text/text.h"
#include <stdint.h>

enum tf_tree_kind { TF_TREE_OPEN, TF_TREE_LEAF, TF_TREE_CLOSE };

struct tf_tree_node {
    enum tf_tree_kind kind;
    /* of a constituent (may be empty), or the tag of a word; of a closing: its constituent's */
    struct tf_text label;
    struct tf_text word;  /* of a leaf; may be several words with white space between */
    size_t mate;          /* opening and closing: the other's place */
};

/* Balanced; the first node opens what the last one closes. Zero-initialise. Texts are views of what
 * was parsed. */
struct tf_tree {
    struct tf_tree_node *v;
    size_t n, cap;
};
void tf_tree_release(struct tf_tree *t);
/* Append a node; mate is set by tf_tree_mate. */
void tf_tree_add(struct tf_tree *t, enum tf_tree_kind kind, struct tf_text label,
                 struct tf_text word);
void tf_tree_mate(struct tf_tree *t); /* after changes: find the mates again */
size_t tf_tree_words(const struct tf_tree *t);

/* One tree, all of s. Errors say what is wrong and at which byte: brackets that don't match, a word
 * without tag, a word and a bracket side by side, text beside the tree. */
int tf_tree_parse(struct tf_tree *t, const char *s, size_t n, struct tf_err *err) TF_MUST_CHECK;
/* On one line, without LF, with single spaces. Brackets within words (none come from tf_tree_parse)
 * become -LRB- and -RRB-. */
void tf_tree_write(struct tf_buf *out, const struct tf_tree *t);

/* Drop constituents that hold no word. A tree without words keeps its outermost one alone. */
void tf_tree_drop_empty(struct tf_tree *t);
/* Traces (-NONE-) and what they leave empty go; labels are cut at the first - or = after their
 * first character, except those that begin with -. */
void tf_tree_clean(struct tf_tree *t);
/* Is the outermost constituent only a root: one without label, or TOP, ROOT, S1 or `root`? */
bool tf_tree_is_root(const struct tf_tree *t, const char *root);
/* A constituent `root` around all of it, whatever that is. The text of `root` must outlive the
 * tree. */
void tf_tree_wrap(struct tf_tree *t, const char *root);
/* Rename the root to `root`; a tree without one is wrapped. */
void tf_tree_reroot(struct tf_tree *t, const char *root);

/* Tags of the Penn Treebank for punctuation (, . : `` '') go by the words: those that are always
 * punctuation get theirs, those that may be keep what they have, and all others that have such a
 * tag get `other`, whose text must outlive the tree. A double quote is '' unless it has ``. */
void tf_tree_punctuate(struct tf_tree *t, const char *other);

/* How trees lie in a file. */
enum tf_tree_layout {
    /* a tree that is open at the end of its line goes on in following lines that begin with white
     * space or ")"; from the first such tree on as PRETTY, before as LINES */
    TF_TREE_AUTO,
    TF_TREE_LINES,  /* one a line; an empty line is a bad tree */
    TF_TREE_PRETTY, /* as AUTO; empty lines between trees are passed over */
};

struct tf_tree_reader {
    struct tf_in *in;
    enum tf_tree_layout layout;
    size_t max;         /* bytes of a tree */
    struct tf_out *out[2]; /* flushed before a read that would wait; or NULL */
    uint64_t line;      /* last line read */
    uint64_t first;     /* line on which the last tree began */
    struct tf_buf text; /* of a tree of several lines */
    struct tf_err why;  /* of a bad tree */
};
/* The next tree, valid until the next call. 1; 0 at the end; 2 for a bad one (r->why), which was
 * read past; -1 when reading or flushing fails. */
int tf_tree_read(struct tf_tree_reader *r, struct tf_tree *t, struct tf_err *err) TF_MUST_CHECK;
void tf_tree_reader_release(struct tf_tree_reader *r);

#endif
