/* run_figure.h - a training run at a glance, or several: curves of what its log has, and the last
 * sample translations. */
#ifndef TF_PLOT_RUN_FIGURE_H
#define TF_PLOT_RUN_FIGURE_H

#include "plot/curves.h"

/* Draw a chart for each of loss, number of --valid-command, learning rate, norm of the gradient and
 * speed that a log has, two in a row, then the last output of --valid-command of each log. Of *c
 * are used x, logs, labels and of the chart smooth, figure.title and width; a log is no stdin. */
int tf_run_figure_draw(struct tf_buf *out, const struct tf_curves *c,
                       struct tf_err *err) TF_MUST_CHECK;

#endif
