/* Numbers from text and back. */
#include "../harness/tap.h"
#include "base/parse.h"
#include "base/rng.h"

#include <float.h>

static void good_int(const char *s, int64_t want)
{
    struct tf_err err = {0};
    int64_t x = 99;
    ok(tf_parse_int(&x, s, INT64_MIN, INT64_MAX, &err) == 0 && x == want, "int %s (%s)", s,
       err.msg);
}

static void bad_int(const char *s, int64_t lo, int64_t hi, const char *msg)
{
    struct tf_err err = {0};
    int64_t x = 99;
    int rc = tf_parse_int(&x, s, lo, hi, &err);
    ok(rc == -1 && x == 99, "int '%s' is refused and the target kept", s);
    is_str(err.msg, msg, "int '%s': the reason", s);
}

static void good_real(const char *s, double want)
{
    struct tf_err err = {0};
    double x = 99;
    ok(tf_parse_real(&x, s, -DBL_MAX, DBL_MAX, &err) == 0 && x == want, "real %s (%s)", s, err.msg);
}

static void bad_real(const char *s, double lo, double hi, const char *msg)
{
    struct tf_err err = {0};
    double x = 99;
    int rc = tf_parse_real(&x, s, lo, hi, &err);
    ok(rc == -1 && x == 99, "real '%s' is refused and the target kept", s);
    is_str(err.msg, msg, "real '%s': the reason", s);
}

static void format(double x, const char *want)
{
    char buf[32];
    is_str(tf_format_real(buf, x), want, "format %.17g", x);
}

static void list(const char *s, const char *want)
{
    bool on[7] = {false};
    char got[8] = "";
    struct tf_err err = {0};
    int rc = tf_parse_list(on, 7, s, &err);
    for (int i = 0; i < 7; i++)
        got[i] = on[i] ? '1' : '0';
    ok(rc == 0 && strcmp(got, want) == 0, "list %s: %s %s", s, got, err.msg);
}

static void list_refused(const char *s, const char *why)
{
    bool on[7] = {false};
    struct tf_err err = {0};
    ok(tf_parse_list(on, 7, s, &err) < 0 && strncmp(err.msg, why, strlen(why)) == 0,
       "list '%s' refused: %s", s, err.msg);
}

int main(void)
{
    good_int("0", 0);
    good_int("-0", 0);
    good_int("007", 7);
    good_int("25k", 25000);
    good_int("3M", 3000000);
    good_int("-2G", -2000000000);
    good_int("9223372036854775807", INT64_MAX);
    good_int("-9223372036854775808", INT64_MIN);
    bad_int("", 0, 9, "'': not a number");
    bad_int("-", 0, 9, "'-': not a number");
    bad_int("12x", 0, 99, "'12x': not a number");
    bad_int(" 1", 0, 9, "' 1': not a number");
    bad_int("1 ", 0, 9, "'1 ': not a number");
    bad_int("+1", 0, 9, "'+1': not a number");
    bad_int("1.5", 0, 9, "'1.5': not a number");
    bad_int("0x10", 0, 99, "'0x10': not a number");
    bad_int("1kk", 0, 9, "'1kk': not a number");
    bad_int("k", 0, 9, "'k': not a number");
    bad_int("1K", 0, 9, "'1K': not a number");
    bad_int("1\n", 0, 9, "'1\\x0a': not a number");
    bad_int("0", 1, 9, "0: too small, minimum 1");
    bad_int("9", 1, 8, "9: too large, maximum 8");
    bad_int("9223372036854775808", INT64_MIN, INT64_MAX,
            "9223372036854775808: too large, maximum 9223372036854775807");
    bad_int("-9223372036854775809", -5, 5, "-9223372036854775809: too small, minimum -5");
    bad_int("99999999999999999999999", 0, 5, "99999999999999999999999: too large, maximum 5");
    bad_int("10000000000G", 0, 5, "10000000000G: too large, maximum 5");
    bad_int("-10000000000G", 0, 5, "-10000000000G: too small, minimum 0");

    good_real("0", 0);
    good_real("-1.5e3", -1500);
    good_real(".5", 0.5);
    good_real("5.", 5);
    good_real("1E-9", 1e-9);
    good_real("1e+2", 100);
    good_real("1e-400", 0);
    good_real("0.1", 0.1);
    static const char *const bad[] = {"",    "-",   ".",   "-.",   "e5",    "1e",
                                      "1e+", "nan", "inf", "-inf", "0x1p3", " 1",
                                      "1 ",  "1,5", "+1",  "1k",   "1e5.",  "--1"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char want[64];
        snprintf(want, sizeof want, "'%s': not a number", bad[i]);
        bad_real(bad[i], -10, 10, want);
    }
    bad_real("1e400", 0, DBL_MAX, "1e400: too large, maximum 1.7976931348623157e+308");
    bad_real("-1e400", 0, 1, "-1e400: too small, minimum 0");
    bad_real("1.5", 0, 1, "1.5: too large, maximum 1");
    bad_real("-0.1", 0, 1, "-0.1: too small, minimum 0");

    format(0, "0");
    format(0.1, "0.1");
    format(1e-9, "1e-09");
    format(25000, "25000");
    format(-2.5, "-2.5");
    format(1.0 / 3, "0.3333333333333333");
    format(0.1 + 0.2, "0.30000000000000004");
    format(5e-324, "5e-324");
    format(1e22, "1e+22");
    format(123456789012, "123456789012");
    format(NAN, "nan");
    format(INFINITY, "inf");
    format(-INFINITY, "-inf");
    struct tf_rng r = tf_rng_new(1, 0);
    bool same = true, shortest = true;
    for (int i = 0; i < 20000; i++) {
        union {
            uint64_t u;
            double d;
        } v = {.u = tf_rng_u64(&r)};
        if (i % 4 == 0)
            v.u &= 0x800fffffffffffff; /* subnormal */
        if (i % 4 == 1)
            v.d = (double)tf_rng_below(&r, 1000000) / 1000;
        if (!isfinite(v.d))
            continue;
        char buf[32], shorter[40];
        tf_format_real(buf, v.d);
        same &= strtod(buf, NULL) == v.d;
        int digits = 0; /* significant ones in buf, trailing zeros not counted */
        for (int p = 1; p <= 17 && digits == 0; p++) {
            snprintf(shorter, sizeof shorter, "%.*g", p, v.d);
            if (strtod(shorter, NULL) == v.d)
                digits = p;
        }
        shortest &= strlen(buf) <= strlen(shorter);
    }
    ok(same, "20000 reals read back the same");
    ok(shortest, "and none has a shorter text");
    list("all", "1111111");
    list("1", "1000000");
    list("7,2-4", "0111001");
    list("3-3,3,1-7", "1111111");
    list_refused("", "'': not a number");
    list_refused("1,", "'': not a number");
    list_refused(",1", "'': not a number");
    list_refused("0", "0: too small, minimum 1");
    list_refused("8", "8: too large, maximum 7");
    list_refused("2-8", "8: too large, maximum 7");
    list_refused("4-2", "4-2: the end is before the beginning");
    list_refused("1-2-3", "'2-3': not a number");
    list_refused("1 ,2", "'1 ': not a number");
    list_refused("All", "'All': not a number");
    list_refused("0000000000000000000000000000000000000000000000000000000000000000000000000001",
                 "'00000000000000000000...': not a number");
    return done();
}
