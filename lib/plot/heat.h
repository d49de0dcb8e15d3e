/* heat.h - heat maps. */
#ifndef TF_PLOT_HEAT_H
#define TF_PLOT_HEAT_H

#include "base/buf.h"
#include "plot/matrix.h"
#include <stdbool.h>

/* Colours: from pale to dark for amounts; two hues around a pale zero for signed values; AUTO is
 * the second when there are values on both sides of 0. */
enum tf_colors { TF_COLORS_AUTO, TF_COLORS_AMOUNT, TF_COLORS_SIGNED };
extern const char *const tf_colors_names[]; /* NULL at the end */

struct tf_heat {
    const char *title, *x_label, *y_label; /* NULL: none */
    double width;                          /* of the picture; its height follows */
    /* values at the ends of the colours; NaN: from the data */
    double min, max;
    enum tf_colors colors;
    bool values;                           /* write each value into its cell */
};
int tf_heat_draw(struct tf_buf *out, const struct tf_heat *h, const struct tf_matrix *m,
                 struct tf_err *err) TF_MUST_CHECK;

/* For other pictures: the cells alone, each w by h pixels from (x, y) on, as one path per colour;
 * and the bar that explains the colours. */
struct tf_heat_scale {
    double min, max;
    enum tf_colors colors; /* never AUTO */
};
void tf_heat_cells(struct tf_buf *out, const struct tf_matrix *m, const struct tf_heat_scale *s,
                   double x, double y, double w, double h);
void tf_heat_bar(struct tf_buf *out, const struct tf_heat_scale *s, double x, double y, double w,
                 double h);

#endif
