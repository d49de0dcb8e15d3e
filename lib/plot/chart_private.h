/* chart_private.h - line charts: axes, grid, legend, one line per series, or points with names. */
#ifndef TF_PLOT_CHART_PRIVATE_H
#define TF_PLOT_CHART_PRIVATE_H

#include "base/buf.h"
#include "plot/figure.h"
#include "plot/series_private.h"
#include <stdbool.h>

struct tf_chart {
    struct tf_figure figure;
    bool log_x, log_y; /* logarithmic axes, which omit values that are not positive */
    double smooth;     /* w of the moving average, from 0 (none) to below 1 */
    double x_min, x_max, y_min, y_max; /* ends of the axes; NaN: from the data */
    const struct tf_series *series;
    size_t n;
    int part; /* its number in a figure of several, from 1, at this place; 0: it is the figure */
    double part_x, part_y;
};

/* Append the chart. A line with more than four points for each pixel of the x axis is reduced to
 * the first, lowest, highest and last point of each half pixel. Long names are cut. With smoothing,
 * each line of more than 40 points is drawn as s_i = w s_(i-1) + (1 - w) y_i with the bias
 * correction of Adam (Kingma and Ba, 2015), over a pale line of the data. Errors: no point to draw,
 * an empty range, a chart too small. */
int tf_chart_draw(struct tf_buf *out, const struct tf_chart *c, struct tf_err *err) TF_MUST_CHECK;

/* Append the line of one series, for figures with axes of their own. NaN in y is a gap. */
struct tf_axis;
void tf_chart_line(struct tf_buf *out, const double *x, const double *y, size_t n,
                   const struct tf_axis *ax, const struct tf_axis *ay, const char *color,
                   const char *dash, double stroke, double opacity);

#endif
