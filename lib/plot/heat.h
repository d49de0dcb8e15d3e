/* heat.h - heat maps of matrices. */
#ifndef TF_PLOT_HEAT_H
#define TF_PLOT_HEAT_H

#include "base/buf.h"
#include "plot/figure.h"
#include "plot/matrix.h"
#include <stdbool.h>

/* AMOUNT: from pale to dark. SIGNED: two hues on both sides of a pale zero. AUTO: SIGNED if there
 * are values of both signs, else AMOUNT. */
enum tf_colors { TF_COLORS_AUTO, TF_COLORS_AMOUNT, TF_COLORS_SIGNED };
extern const char *const tf_colors_names[]; /* NULL-terminated */

struct tf_heat {
    struct tf_figure figure; /* width is the most */
    double min, max;         /* values of the first and last colour; NaN: from the data */
    int colors;              /* enum tf_colors */
    bool values;             /* write each value into its cell, with five significant digits */
};
/* Append the figure. Errors: too many values, values beyond 1e300, min not below max, a width too
 * small. */
int tf_heat_draw(struct tf_buf *out, const struct tf_heat *h, const struct tf_matrix *m,
                 struct tf_err *err) TF_MUST_CHECK;

/* For other figures: append the cells alone, each w by h pixels from (x, y) on, or the bar that
 * explains the colours. */
struct tf_heat_scale {
    double min, max;
    enum tf_colors colors; /* never AUTO */
};
void tf_heat_cells(struct tf_buf *out, const struct tf_matrix *m, const struct tf_heat_scale *s,
                   double x, double y, double w, double h);
void tf_heat_bar(struct tf_buf *out, const struct tf_heat_scale *s, double x, double y, double w,
                 double h);

#endif
