/* position_figure.h - a figure of the sinusoids that encode positions in a Transformer. */
#ifndef TF_PLOT_POSITION_FIGURE_H
#define TF_PLOT_POSITION_FIGURE_H

#include "base/buf.h"
#include "plot/figure.h"
#include "plot/matrix.h"
#include <stdbool.h>

/* PAPER: PE(t, 2i) = sin(t / base^(2i/d)), PE(t, 2i+1) = cos(t / base^(2i/d)), t = 0..L-1
 * ("Attention Is All You Need", section 3.5). T2T: all sines, then all cosines, of t / base^(i/(d/2
 * - 1)) (tensor2tensor). SHIFTED: sin(t / base^(k/d)) for even k, cos for odd k, with t = 1..L and
 * k = 1..d, as in a figure often seen elsewhere. */
enum tf_position_form { TF_POSITIONS_PAPER, TF_POSITIONS_T2T, TF_POSITIONS_SHIFTED };
extern const char *const tf_position_forms[]; /* NULL-terminated */

struct tf_position_figure {
    struct tf_figure figure; /* title NULL: made from the numbers; the labels are not used */
    size_t length, dims;     /* L, d: even for T2T; L * d at most TF_MATRIX_CELLS */
    double base;             /* N, above 1 */
    enum tf_position_form form;
    bool heat;   /* draw the table as a heat map, dimensions down and positions across */
    bool curves; /* draw one curve per dimension */
    /* Draw the dot products by distance instead: PE(t) . PE(t + k) for k = 0..L-1. */
    bool products;
};

/* A value of the table; row: of a dimension, t: of a position, both counted from 0. */
double tf_position_value(const struct tf_position_figure *p, size_t row, size_t t);
/* PE(t) . PE(t + k), which is the sum of cos(k / wavelength) over the pairs of dimensions for every
 * t, because PE(t + k) is PE(t) with each pair rotated by an angle that depends on k alone. Not for
 * SHIFTED, whose dimensions form no pairs, nor for an odd number of them. */
double tf_position_product(const struct tf_position_figure *p, size_t k);
/* Append the figure, or the numbers that it draws as CSV: a line per position (or distance) with
 * its number, after a line of names. Errors: T2T with an odd number of dimensions, products of a
 * form without pairs, too many values, in a figure too many curves or a width too small. */
int tf_position_figure_draw(struct tf_buf *out, const struct tf_position_figure *p,
                            struct tf_err *err) TF_MUST_CHECK;
int tf_position_csv(struct tf_buf *out, const struct tf_position_figure *p,
                    struct tf_err *err) TF_MUST_CHECK;

#endif
