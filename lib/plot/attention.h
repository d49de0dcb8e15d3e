/* attention.h - attention weights of one sentence in one layer, as lines between its tokens or as
 * heat maps. */
#ifndef TF_PLOT_ATTENTION_H
#define TF_PLOT_ATTENTION_H

#include "base/buf.h"
#include "plot/matrix.h"
#include <stdbool.h>
#include <stdint.h>

/* One sentence's weights in one layer. Borrowed. */
struct tf_attention_picture {
    const char *title;              /* NULL: none */
    /* of the picture, which is narrower where that will do; its height follows */
    double width;
    /* tokens that ask and that are looked at; SentencePiece's U+2581 at their start is not shown */
    const char *const *rows, *const *cols;
    size_t n_rows, n_cols;
    /* [n_heads, n_rows, n_cols], 0 to 1; at most TF_MATRIX_CELLS of them */
    const float *weights;
    const int64_t *heads;           /* their numbers, as they are to be named */
    size_t n_heads;
    const bool *only;               /* [n_rows] rows to draw; NULL: all (lines only) */
    double least;                   /* weights below are not drawn; 0 is never drawn (lines only) */
};

/* Append a picture. Weights up to 1.001, as rounding makes them, count as 1. Errors: no row, column
 * or head, no row among `only`, too many weights, a weight that is not between 0 and 1, a picture
 * too narrow; then nothing is appended.
 *
 * Lines, as in figures 3 to 5 of "Attention Is All You Need": rows on the left, columns on the
 * right, and in the colour of each head a line whose opacity is the weight, to the nearest
 * twentieth but at least one. Squares beside a column's token, one per head, show the sum of the
 * weights that it gets from the drawn rows (those below `least` too), at most 1; those beside a
 * row's say that it is drawn, other rows have pale labels. A head has the colour of its number:
 * there are sixteen, then they begin again.
 *
 * Heat: a map per head, rows down and columns across, all with the same colours from 0 to 1. Where
 * tokens are too many, some labels are left out. */
int tf_attention_lines(struct tf_buf *out, const struct tf_attention_picture *p,
                       struct tf_err *err) TF_MUST_CHECK;
int tf_attention_heat(struct tf_buf *out, const struct tf_attention_picture *p,
                      struct tf_err *err) TF_MUST_CHECK;

#endif
