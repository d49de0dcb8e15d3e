/* Round ticks and their labels. */
#include "../harness/tap.h"
#include "plot/axis_private.h"

#include <math.h>

static void ticks(double lo, double hi, bool log, int want, const char *expected)
{
    char got[512] = "";
    struct tf_axis a = tf_axis_make(lo, hi, log, false, 0, 1);
    struct tf_ticks t;
    tf_axis_ticks(&t, &a, want);
    for (size_t i = 0; i < t.n; i++)
        if (t.v[i].label[0])
            snprintf(got + strlen(got), sizeof got - strlen(got), "%s%s", *got ? " " : "",
                     t.v[i].label);
    is_str(got, expected, "%g to %g%s", lo, hi, log ? ", logarithmic" : "");
}

/* Every power of ten and its multiples, and none beyond the ends. */
static void decades(int first, int last, int want)
{
    double lo = pow(10, first), hi = pow(10, last);
    struct tf_axis a = tf_axis_make(lo, hi, true, false, 0, 1);
    struct tf_ticks t;
    tf_axis_ticks(&t, &a, want);
    is_int(t.n, 9 * (last - first) + 1, "1e%d to 1e%d: ticks", first, last);
    for (size_t i = 0; i < t.n; i++)
        if (t.v[i].at < lo * 0.999999 || t.v[i].at > hi * 1.000001)
            ok(false, "a tick at %g", t.v[i].at);
}

static void label(double x, double step, const char *want)
{
    char got[32];
    tf_axis_label(got, x, step);
    is_str(got, want, "%g by %g", x, step);
}

int main(void)
{
    ticks(0, 10, false, 5, "0 2 4 6 8 10");
    ticks(0, 1, false, 5, "0 0.2 0.4 0.6 0.8 1.0");
    ticks(-1, 1, false, 4, "-1.0 -0.5 0 0.5 1.0");
    ticks(1.234, 1.239, false, 5, "1.234 1.235 1.236 1.237 1.238 1.239");
    ticks(0, 20000, false, 5, "0 5k 10k 15k 20k");
    ticks(0, 3e6, false, 4, "0 1M 2M 3M");
    ticks(0, 0.0007, false, 4, "0 0.0002 0.0004 0.0006");
    ticks(0, 2e-6, false, 4, "0 5e-7 1.0e-6 1.5e-6 2.0e-6");
    ticks(1e9, 1e9 + 4, false, 4,
          "1.000000000G 1.000000001G 1.000000002G 1.000000003G 1.000000004G");
    ticks(1, 1000, true, 5, "1 10 100 1000");
    ticks(1, 20, true, 5, "1 2 5 10 20");
    ticks(10, 1e6, true, 8, "10 100 1k 10k 100k 1M");
    ticks(1, 1e8, true, 9, "1 10 100 1k 10k 100k 1M 10M 100M");
    ticks(1, 1e10, true, 10, "1 10 100 1k 10k 100k 1M 10M 100M 1G 10G");
    ticks(1, 1e10, true, 20, "1 10 100 1k 10k 100k 1M 10M 100M 1G 10G");
    decades(0, 6, 9);
    decades(0, 8, 9);
    decades(-5, 5, 10);
    ticks(3.2, 3.9, true, 4, "3.2 3.4 3.6 3.8");
    ticks(1e-8, 1e8, true, 4, "1e-8 0.0001 1 10k 100M");
    ticks(5, 5, false, 4, "4.5 5.0 5.5");
    ticks(0, 0, false, 4, "-1.0 -0.5 0 0.5 1.0");

    label(0.25, 0.05, "0.25");
    label(25000, 5000, "25k");
    label(12500, 2500, "12.5k");
    label(9000, 1000, "9000");
    label(1e-5, 1e-5, "1e-5");
    label(-0.0000001, 1, "0");
    label(3e15, 1e15, "3e15");

    struct tf_axis a = tf_axis_make(0, 10, false, false, 100, 0);
    is_near(tf_axis_at(&a, 2.5), 75, 1e-9, "a turned axis");
    a = tf_axis_make(1, 100, true, false, 0, 100);
    is_near(tf_axis_at(&a, 10), 50, 1e-9, "the middle of two decades");
    a = tf_axis_make(0.3, 9.7, false, true, 0, 1);
    is_near(a.lo, 0, 1e-9, "padded to a round beginning");
    is_near(a.hi, 10, 1e-9, "and a round end");
    return done();
}
