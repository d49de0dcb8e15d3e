/* positions.h - the table of sinusoids that tells a Transformer where a token stands, as a
 * picture. */
#ifndef TF_PLOT_POSITIONS_H
#define TF_PLOT_POSITIONS_H

#include "base/buf.h"
#include "plot/matrix.h"
#include <stdbool.h>

/* PAPER: PE(t, 2i) = sin(t / base^(2i/d)), PE(t, 2i+1) = cos(t / base^(2i/d)), t = 0..L-1
 * ("Attention Is All You Need", section 3.5). T2T: all sines, then all cosines, of t / base^(i/(d/2
 * - 1)) (tensor2tensor). SHIFTED: t = 1..L, and exponent k/d for every dimension k: a picture that
 * is often seen. */
enum tf_position_form { TF_POSITIONS_PAPER, TF_POSITIONS_T2T, TF_POSITIONS_SHIFTED };
extern const char *const tf_position_forms[]; /* NULL at the end */

struct tf_position_plot {
    size_t length, dims; /* L, d: even for T2T; L * d at most TF_MATRIX_CELLS */
    double base;         /* N, above 1 */
    enum tf_position_form form;
    const char *title;   /* NULL: made from the numbers */
    double width;
    /* what to draw: the table as a heat map (dimensions down, positions across), one curve per
     * dimension */
    bool heat, curves;
};

/* The value for position t (counted from 0) and dimension k. */
double tf_position_value(const struct tf_position_plot *p, size_t t, size_t k);
int tf_position_plot_draw(struct tf_buf *out, const struct tf_position_plot *p,
                          struct tf_err *err) TF_MUST_CHECK;

#endif
