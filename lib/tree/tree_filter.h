/* tree_filter.h - files of trees, one tree in and one line out: cleaned, linearized, or restored
 * from their sequences. */
#ifndef TF_TREE_TREE_FILTER_H
#define TF_TREE_TREE_FILTER_H

#include "tree/linearize.h"
#include "tree/tree.h"

struct tf_tree_filter {
    enum tf_tree_layout layout;
    enum tf_brackets style;
    bool clean;        /* traces and function labels go, the root becomes `root` */
    const char *root;  /* label */
    const char *tag;   /* of words that a sequence has no tag for */
    bool punctuate;    /* restored: tags of punctuation go by the words */
    int bad;           /* enum tf_on_bad: finish with status 4, stop at the first, finish with 0 */
    size_t max;        /* bytes of a tree or line; a longer one is bad */
    /* out */
    /* restored: sequences with repairs of either kind */
    uint64_t trees, bad_trees, unbalanced, mis_sized;
};

/* Trees of `in` to one line each. A bad tree is an empty line. With TF_ON_BAD_MARK and bad ones: 0,
 * err->status TF_PARTIAL and a message that names the first. Output is flushed whenever the input
 * goes idle. */
int tf_tree_lines(struct tf_tree_filter *f, struct tf_in *in, struct tf_out *out,
                  struct tf_err *err) TF_MUST_CHECK;
/* Trees of `in` to sequences in `out` and words in `words`; words NULL: "words TAB sequence" in
 * `out`. A bad tree is an empty line in both. With `clean`, after cleaning. */
int tf_tree_to_sequences(struct tf_tree_filter *f, struct tf_in *in, struct tf_out *words,
                         struct tf_out *out, struct tf_err *err) TF_MUST_CHECK;
/* And back. words NULL: "words TAB sequence" from `in`, where a line without a tab is bad. A line
 * over the limit is bad: an empty line. -1 too when one input has more lines. */
int tf_tree_from_sequences(struct tf_tree_filter *f, struct tf_in *in, struct tf_in *words,
                           struct tf_out *out, struct tf_err *err) TF_MUST_CHECK;

#endif
