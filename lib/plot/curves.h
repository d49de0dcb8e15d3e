/* curves.h - learning curves: logs in, a chart out. */
#ifndef TF_PLOT_CURVES_H
#define TF_PLOT_CURVES_H

#include "plot/chart.h"

struct tf_curves {
    const char *x, *y;          /* keys; y: one or several with commas between */
    const char *where;          /* "key=value": only objects that say so; NULL: all */
    const char *by;             /* a line for every value of this key; NULL or "": no division */
    const char *const *logs;    /* paths; "-" is stdin */
    size_t nlogs;
    const char *const *labels;  /* one per log, for the legend; NULL: from the paths */
    size_t nlabels;
    /* series and n are filled in; labels of the axes, too, where they are NULL */
    struct tf_chart chart;
};

/* Read the logs and append the chart. One line per log, key and value of `by`; its name says what
 * differs: log, key, value. */
int tf_curves_draw(struct tf_buf *out, const struct tf_curves *c, struct tf_err *err) TF_MUST_CHECK;

#endif
