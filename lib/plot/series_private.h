/* series_private.h - lines of a chart from logs in JSON Lines, such as those of tf-train. */
#ifndef TF_PLOT_SERIES_PRIVATE_H
#define TF_PLOT_SERIES_PRIVATE_H

#include "base/err.h"
#include "plot/run_facts_private.h"
#include <stddef.h>

/* One line of a chart. y NaN: a gap. */
struct tf_series {
    char *name;  /* for the legend; NULL until the caller sets it */
    char *group; /* value of the key `by`, or NULL */
    size_t key;  /* index of its y key */
    double *x, *y;
    char **names; /* of the points; NULL: it is a line */
    size_t n, cap;
};
struct tf_series_list {
    struct tf_series *v;
    size_t n;
};
enum { TF_SERIES_MAX = 64 };
void tf_series_release(struct tf_series_list *l);

/* What to read from the objects of a log. */
struct tf_series_keys {
    const char *x;        /* the key of the x values */
    const char *const *y; /* the keys of the lines, at most TF_SERIES_MAX */
    size_t ny;
    const char *where, *value; /* only objects in which this key has this value; NULL: all */
    const char *points;        /* the key of the points' names; NULL: draw lines */
    const char *by;            /* a separate line for every value of this key; NULL: one line */
};

/* Read a log ("-" is stdin), append its lines to out, by key and then by first appearance, and what
 * its first line says about the run to *facts. The caller releases both, even after an error.
 * Objects without the x key or the y key give no point, those without the key of names one without
 * a name; a y that is null or not finite is a gap, and a string may be a number. A last line
 * without LF that is not JSON, as a killed writer leaves it, is dropped with a warning. Errors: a
 * line that is not a JSON object, a value that is not a number in an object that matches, more than
 * TF_SERIES_MAX lines. */
int tf_series_read(struct tf_series_list *out, const struct tf_series_keys *keys, const char *path,
                   struct tf_run_facts *facts, struct tf_err *err) TF_MUST_CHECK;

#endif
