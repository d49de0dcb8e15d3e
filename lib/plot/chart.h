/* chart.h - line charts: axes, grid, legend, one line per series. */
#ifndef TF_PLOT_CHART_H
#define TF_PLOT_CHART_H

#include "base/buf.h"
#include "plot/series.h"
#include <stdbool.h>

struct tf_chart {
    const char *title;            /* NULL: none */
    const char *x_label, *y_label; /* NULL: none */
    double width, height;         /* pixels */
    bool log_x, log_y;            /* logarithmic axes; values that are not positive are left out */
    /* weight of the past in the smoothed line, 0 (none) up to below 1 */
    double smooth;
    double x_min, x_max, y_min, y_max; /* NaN: from the data */
    const struct tf_series *series;
    size_t n;
};

/* Append the picture. A line with more points than the picture has pixels is drawn by the lowest
 * and the highest of each column. With smoothing, each line of more than 40 points is drawn as s_i
 * = (w s_(i-1) + (1 - w) y_i), corrected for its start as Adam's averages are (Kingma and Ba,
 * 2015), above a pale line of the data. Errors: no point to draw, a range that is empty, a picture
 * too small. */
int tf_chart_draw(struct tf_buf *out, const struct tf_chart *c, struct tf_err *err) TF_MUST_CHECK;

/* The polyline of one series alone, in axes made elsewhere: for small multiples. Gaps where y is
 * NaN. */
struct tf_axis;
void tf_chart_line(struct tf_buf *out, const double *x, const double *y, size_t n,
                   const struct tf_axis *ax, const struct tf_axis *ay, const char *color,
                   const char *dash, double stroke, double opacity);

#endif
