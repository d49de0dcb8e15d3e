/* axis_private.h - axes: from values to pixels, and positions of ticks. */
#ifndef TF_PLOT_AXIS_PRIVATE_H
#define TF_PLOT_AXIS_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>

struct tf_axis {
    double lo, hi;   /* values at the two ends, lo < hi */
    double from, to; /* pixels of lo and hi */
    bool log;
};
enum { TF_TICKS_MAX = 256 };
struct tf_ticks {
    struct {
        double at;
        char label[32]; /* empty: a minor tick */
    } v[TF_TICKS_MAX];
    size_t n;
};

/* Whether an axis can show x: finite, at most 1e300 in magnitude, with log at least 1e-300. */
bool tf_axis_shows(double x, bool log);
/* An axis for values in [lo, hi], which it can show, widened if they are equal. pad: extend it to
 * round values at both ends. */
struct tf_axis tf_axis_make(double lo, double hi, bool log, bool pad, double from, double to);
double tf_axis_at(const struct tf_axis *a, double x);
/* About `want` labelled ticks at round values: 1, 2 or 5 times a power of ten, or powers of ten on
 * a long logarithmic axis. */
void tf_axis_ticks(struct tf_ticks *t, const struct tf_axis *a, int want);
/* A value as the label of a tick, given the distance between ticks: 0.25, 1.5, 9000, 20k, 3M, 1e-5.
 * On an axis that reaches 10000, k begins at 1000. */
void tf_axis_label(char label[32], double x, double step);
/* A value for a text: 3 significant digits, or whole if it is whole or at least 1000. */
void tf_axis_number(char text[32], double x);

#endif
