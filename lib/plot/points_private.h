/* points_private.h - named points in a chart, such as one for each of several models. */
#ifndef TF_PLOT_POINTS_PRIVATE_H
#define TF_PLOT_POINTS_PRIVATE_H

#include "base/buf.h"
#include "plot/axis_private.h"
#include "plot/series_private.h"

/* Append the points of the series that have names, and each name beside its point where it covers
 * neither a point nor a name, if there is such a place between the axes, else over others. A name
 * longer than the x axis is cut. */
void tf_points_draw(struct tf_buf *out, const struct tf_series *series, size_t nseries,
                    const struct tf_axis *ax, const struct tf_axis *ay);

#endif
