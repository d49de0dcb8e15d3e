/* tree_filter.h - filters over files of trees, one tree in and one line out: clean, linearize,
 * restore from sequences. */
#ifndef TF_TREE_TREE_FILTER_H
#define TF_TREE_TREE_FILTER_H

#include "tree/linearize_private.h"
#include "tree/tree_private.h"

struct tf_tree_filter {
    enum tf_tree_layout layout;
    enum tf_brackets style;
    bool clean;       /* remove traces and function labels, rename the root to `root` */
    const char *root; /* label of the root */
    const char *tag;  /* for words that have no tag in a sequence */
    bool punctuate;   /* correct restored punctuation tags by the words */
    int bad;          /* enum tf_on_bad: what to do about bad trees */
    size_t max;       /* bytes of a tree or line; a longer one is bad */
    /* results: all trees, the good ones, and those with repaired brackets and with repaired tags */
    uint64_t all, trees, unbalanced, mis_sized;
};

/* Write each tree of `in` on one line, a bad tree as an empty line. If there were bad trees and
 * f->bad is TF_ON_BAD_MARK, returns 0 with err->status TF_PARTIAL and a message that names the
 * first one. Output is flushed whenever the input is idle. */
int tf_tree_lines(struct tf_tree_filter *f, struct tf_in *in, struct tf_out *out,
                  struct tf_err *err) TF_MUST_CHECK;
/* Write the sequences of the trees of `in` to `out` and their words to `words`, or, with words
 * NULL, "words TAB sequence" to `out`. A bad tree is an empty line in both. */
int tf_tree_to_sequences(struct tf_tree_filter *f, struct tf_in *in, struct tf_out *words,
                         struct tf_out *out, struct tf_err *err) TF_MUST_CHECK;
/* The inverse: write the trees of sequences from `in` and words from `words`, or, with words NULL,
 * of lines "words TAB sequence" from `in`. A line without a tab or over the limit is bad, and
 * becomes an empty line. Also -1 when one input has more lines than the other. */
int tf_tree_from_sequences(struct tf_tree_filter *f, struct tf_in *in, struct tf_in *words,
                           struct tf_out *out, struct tf_err *err) TF_MUST_CHECK;

#endif
