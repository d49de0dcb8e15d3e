/* axis.h - from values to pixels, and where the ticks stand. */
#ifndef TF_PLOT_AXIS_H
#define TF_PLOT_AXIS_H

#include <stdbool.h>
#include <stddef.h>

struct tf_axis {
    double lo, hi;     /* values at the two ends, lo < hi */
    double from, to;   /* pixels of lo and hi */
    bool log;
};
enum { TF_TICKS_MAX = 64 };
struct tf_ticks {
    struct {
        double at;
        char label[32]; /* empty: a minor tick */
    } v[TF_TICKS_MAX];
    size_t n;
};

/* What an axis can show: finite and at most 1e300; with log at least 1e-300. */
bool tf_axis_shows(double x, bool log);
/* An axis for values in [lo, hi] (such that it can show), widened where they are equal. pad: also
 * to a round value at either end. */
struct tf_axis tf_axis_make(double lo, double hi, bool log, bool pad, double from, double to);
double tf_axis_at(const struct tf_axis *a, double x);
/* About `want` labelled ticks at round values: 1, 2 or 5 times a power of ten; powers of ten on a
 * long logarithmic axis. */
void tf_axis_ticks(struct tf_ticks *t, const struct tf_axis *a, int want);
/* A value as a tick shows it, given the distance between ticks: 0.25, 1.5, 9000, 20k, 3M, 1e-5.
 * Ticks of an axis that goes to 10000 or beyond say k from 1000 on. */
void tf_axis_label(char label[32], double x, double step);

#endif
