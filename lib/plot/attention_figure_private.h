/* attention_figure_private.h - figures of the attention weights of one sentence in one layer: lines
 * between its tokens, or heat maps. */
#ifndef TF_PLOT_ATTENTION_FIGURE_PRIVATE_H
#define TF_PLOT_ATTENTION_FIGURE_PRIVATE_H

#include "base/buf.h"
#include "plot/figure.h"
#include "plot/matrix.h"
#include <stdbool.h>
#include <stdint.h>

/* Borrowed. */
struct tf_attention_figure {
    struct tf_figure figure; /* width is the most; the labels are not used */
    /* tokens that attend, and that are attended to; the U+2581 at their start is not shown */
    const char *const *rows, *const *cols;
    size_t n_rows, n_cols;
    const float *weights; /* [n_heads, n_rows, n_cols], 0 to 1; at most TF_MATRIX_CELLS */
    const int64_t *heads; /* their numbers, for the names and colours */
    size_t n_heads;
    const bool *only; /* [n_rows] rows to draw; NULL: all (lines only) */
    double least;     /* weights below are not drawn, nor is 0 (lines only) */
};

/* Append a figure. Weights above 1 by rounding (tf_attn_is_weight) count as 1. Errors, after which
 * nothing was appended: no row, column or head, no row among `only`, too many weights, a weight
 * that is not between 0 and 1, a width too small.
 *
 * Lines, as in figures 3 to 5 of "Attention Is All You Need": rows on the left, columns on the
 * right, and lines in the colour of the head whose opacity is the weight, rounded to twentieths but
 * at least one. Squares next to the token of a column, one per head, show the sum of its weights in
 * the drawn rows (including weights below `least`), at most 1; those next to the token of a row
 * mark it as drawn, and other rows have pale labels. The colour depends on the number of the head;
 * there are 16.
 *
 * Heat: a map per head, rows from top to bottom and columns from left to right, all with the same
 * colours from 0 to 1. If there are too many tokens, some labels are omitted. */
int tf_attention_lines(struct tf_buf *out, const struct tf_attention_figure *f,
                       struct tf_err *err) TF_MUST_CHECK;
int tf_attention_heat(struct tf_buf *out, const struct tf_attention_figure *f,
                      struct tf_err *err) TF_MUST_CHECK;

#endif
