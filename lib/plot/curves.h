/* curves.h - learning curves: a chart of values from logs. */
#ifndef TF_PLOT_CURVES_H
#define TF_PLOT_CURVES_H

#include "plot/chart_private.h"

struct tf_curves {
    const char *x, *y;       /* keys; y: one or several, separated by commas */
    const char *where;       /* "key=value": only objects with this value; NULL: all */
    const char *by;          /* a line for each value of this key; NULL or "": one line */
    const char *points;      /* key of the names of points, drawn in place of lines; NULL: lines */
    const char *const *logs; /* paths; "-" is stdin */
    size_t nlogs;
    const char *const *labels; /* names of the logs in the legend; NULL: from the paths */
    size_t nlabels;            /* 0 or nlogs */
    bool may_lack_y;           /* y: names of one thing; none is no error, without a warning */
    struct tf_chart chart;     /* without series and n; labels NULL: the keys */
};

/* Read the logs and append the chart: one line per log, key and value of `by`, named after those in
 * which the lines differ, and after what distinguishes the runs (run_facts_private.h). Errors are
 * those of series_private.h and chart_private.h, and usage errors. */
/* 1: nothing was drawn, as may be. */
int tf_curves_draw(struct tf_buf *out, const struct tf_curves *c, struct tf_err *err) TF_MUST_CHECK;

/* What a log is called among them, on the heap. */
char *tf_curves_log_name(const struct tf_curves *c, size_t log);

#endif
