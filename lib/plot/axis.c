/* axis.c - see axis_private.h. */
#include "plot/axis_private.h"
#include "base/err.h"
#include <math.h>
#include <stdio.h>

/* The smallest of 1, 2, 5 times a power of ten that is at least x, up to rounding. */
static double round_up(double x)
{
    double ten = pow(10, floor(log10(x))), f = x / ten;
    return (f <= 1.0001 ? 1 : f <= 2.0001 ? 2 : f <= 5.0001 ? 5 : 10) * ten;
}

bool tf_axis_shows(double x, bool log)
{
    return fabs(x) <= 1e300 && (!log || x >= 1e-300);
}

struct tf_axis tf_axis_make(double lo, double hi, bool log, bool pad, double from, double to)
{
    struct tf_axis a = {lo, hi, from, to, log};
    double most = fmax(fabs(lo), fabs(hi));
    if (!(hi - lo > fmax(1e-290, 1e-12 * most))) {
        double around = most > 1e-290 ? most * 0.1 : 1;
        a.lo = log ? lo / 2 : lo - around;
        a.hi = log ? hi * 2 : hi + around;
    } else if (pad && !log) {
        double step = round_up((hi - lo) / 12);
        a.lo = floor(lo / step + 1e-9) * step;
        a.hi = ceil(hi / step - 1e-9) * step;
    } else if (pad) {
        double room = pow(10, 0.03 * (log10(hi) - log10(lo)));
        a.lo = fmax(lo / room, 1e-305);
        a.hi = fmin(hi * room, 1e305);
    }
    return a;
}

/* The share of the axis that is below x. */
static double share(const struct tf_axis *a, double x)
{
    return a->log ? (log(x) - log(a->lo)) / (log(a->hi) - log(a->lo))
                  : (x - a->lo) / (a->hi - a->lo);
}

double tf_axis_at(const struct tf_axis *a, double x)
{
    return a->from + share(a, x) * (a->to - a->from);
}

/* from: where k, M and G begin. */
static void make_label(char label[32], double x, double step, double from)
{
    static const struct {
        double size;
        const char *name;
    } units[] = {{1e9, "G"}, {1e6, "M"}, {1e3, "k"}};
    double big = fabs(x);
    if (big < 1e-300 || big < step * 1e-6) {
        snprintf(label, 32, "0");
        return;
    }
    const char *unit = "";
    if (big >= from * 0.9999999 && big < 1e13)
        for (size_t i = 0; i < 3; i++)
            if (big >= units[i].size * 0.9999999) {
                x /= units[i].size;
                step /= units[i].size;
                unit = units[i].name;
                break;
            }
    if (big < 1e-4 || big >= 1e13) {
        int exponent = (int)floor(log10(big) + 1e-9);
        double m = x / pow(10, exponent), ms = step / pow(10, exponent);
        int digits = ms >= 0.9999 ? 0 : (int)fmin(6, ceil(-log10(ms) - 1e-6));
        snprintf(label, 32, "%.*fe%d", digits, m, exponent);
        return;
    }
    int digits = step >= 0.9999999 ? 0 : (int)fmin(12, ceil(-log10(step) - 1e-6));
    /* More digits for values that are not multiples of the step's last digit, such as 2.5k. */
    while (digits < 12 && fabs(x * pow(10, digits) - round(x * pow(10, digits))) >
                              1e-6 * fabs(x * pow(10, digits)) + 1e-9)
        digits++;
    snprintf(label, 32, "%.*f%s", digits, x, unit);
}

void tf_axis_label(char label[32], double x, double step)
{
    make_label(label, x, step, 1e4);
}

void tf_axis_number(char text[32], double x)
{
    bool whole = fabs(x) < 1e15 && (x == trunc(x) || fabs(x) >= 1000);
    snprintf(text, 32, whole ? "%.0f" : "%.3g", x);
}

static void add_tick(struct tf_ticks *t, const struct tf_axis *a, double x, double step,
                     bool labelled)
{
    if (t->n == TF_TICKS_MAX || (a->log && x <= 0) || share(a, x) < -1e-9 ||
        share(a, x) > 1 + 1e-9)
        return;
    t->v[t->n].at = x;
    t->v[t->n].label[0] = 0;
    if (labelled)
        make_label(t->v[t->n].label, x, step, fmax(fabs(a->lo), fabs(a->hi)) >= 1e4 ? 1e3 : 1e4);
    t->n++;
}

static void linear_ticks(struct tf_ticks *t, const struct tf_axis *a, int want)
{
    double step = round_up((a->hi - a->lo) / want);
    double first = ceil(a->lo / step - 1e-9), last = floor(a->hi / step + 1e-9);
    for (int i = 0; i < TF_TICKS_MAX && first + i <= last; i++)
        add_tick(t, a, (first + i) * step, step, true);
}

static void log_ticks(struct tf_ticks *t, const struct tf_axis *a, int want)
{
    double decades = log10(a->hi) - log10(a->lo);
    int first = (int)floor(log10(a->lo) - 1e-9), last = (int)ceil(log10(a->hi) + 1e-9);
    int every = (int)fmax(1, ceil(decades / want));
    for (int e = first; e <= last; e++) {
        double ten = pow(10, e);
        if (e % every == 0 || decades < 60)
            add_tick(t, a, ten, ten, e % every == 0);
        if (every > 1 || 9 * decades + 10 > TF_TICKS_MAX)
            continue;
        for (int m = 2; m <= 9; m++)
            add_tick(t, a, m * ten, ten, decades <= 1.2 * want / 3 && (m == 2 || m == 5));
    }
}

static size_t labelled(const struct tf_ticks *t)
{
    size_t n = 0;
    for (size_t i = 0; i < t->n; i++)
        n += t->v[i].label[0] != 0;
    return n;
}

void tf_axis_ticks(struct tf_ticks *t, const struct tf_axis *a, int want)
{
    TF_ASSERT(want > 0);
    t->n = 0;
    if (a->log)
        log_ticks(t, a, want);
    /* Too few labels: a short logarithmic axis has few powers of ten, and a linear one may just
     * miss round numbers. */
    for (int more = want; labelled(t) < (a->log ? 3 : 2) && more <= 4 * want; more *= 2) {
        t->n = 0;
        linear_ticks(t, a, more);
    }
}
