/* tap.h - what a test program needs: numbered results on stdout in TAP, and an exit status that
 * cannot hide a failure.
 *
 *     #include "../tap.h"
 *     int main(void)
 *     {
 *         is_int(tf_add(1, 2), 3, "small numbers add");
 *         is_near(x, 0.5, 1e-6, "half of one");
 *         return done();
 *     }
 *
 * Each check returns whether it held, so that `if (ok(p != NULL, "opens")) ...` can go on
 * carefully. Names may be printf formats. */
#ifndef TF_TAP_H
#define TF_TAP_H

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int tap_count, tap_failed;

__attribute__((unused, format(printf, 4, 0))) static bool
tap_result(bool good, const char *file, int line, const char *fmt, va_list ap)
{
    printf("%sok %d - ", good ? "" : "not ", ++tap_count);
    vprintf(fmt, ap);
    putchar('\n');
    if (!good) {
        tap_failed++;
        printf("# at %s:%d\n", file, line);
    }
    fflush(stdout);
    return good;
}

__attribute__((unused, format(printf, 4, 5))) static bool tap_ok(bool good, const char *file,
                                                                 int line, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    tap_result(good, file, line, fmt, ap);
    va_end(ap);
    return good;
}

__attribute__((unused, format(printf, 5, 6))) static bool
tap_int(long long got, long long want, const char *file, int line, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    bool good = tap_result(got == want, file, line, fmt, ap);
    va_end(ap);
    if (!good)
        printf("#  got: %lld (0x%llx)\n# want: %lld (0x%llx)\n", got, (unsigned long long)got, want,
               (unsigned long long)want);
    return good;
}

__attribute__((unused, format(printf, 5, 6))) static bool
tap_str(const char *got, const char *want, const char *file, int line, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    bool good = tap_result(got == NULL || want == NULL ? got == want : strcmp(got, want) == 0, file,
                           line, fmt, ap);
    va_end(ap);
    if (!good)
        printf("#  got: %s\n# want: %s\n", got != NULL ? got : "(null)",
               want != NULL ? want : "(null)");
    return good;
}

__attribute__((unused, format(printf, 6, 7))) static bool
tap_near(double got, double want, double tol, const char *file, int line, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    bool good = tap_result(fabs(got - want) <= tol, file, line, fmt, ap); /* false for NaN */
    va_end(ap);
    if (!good)
        printf("#  got: %.17g\n# want: %.17g within %g\n", got, want, tol);
    return good;
}

__attribute__((unused, format(printf, 6, 7))) static bool tap_mem(const void *got, const void *want,
                                                                  size_t n, const char *file,
                                                                  int line, const char *fmt, ...)
{
    const unsigned char *a = (const unsigned char *)got, *b = (const unsigned char *)want;
    size_t at = 0;
    while (at < n && a[at] == b[at])
        at++;
    va_list ap;
    va_start(ap, fmt);
    bool good = tap_result(at == n, file, line, fmt, ap);
    va_end(ap);
    if (!good)
        printf("# byte %zu of %zu: got %02x, want %02x\n", at, n, a[at], b[at]);
    return good;
}

#define ok(cond, ...) tap_ok((cond), __FILE__, __LINE__, __VA_ARGS__)
#define is_int(got, want, ...) \
    tap_int((long long)(got), (long long)(want), __FILE__, __LINE__, __VA_ARGS__)
#define is_str(got, want, ...) tap_str((got), (want), __FILE__, __LINE__, __VA_ARGS__)
#define is_near(got, want, tol, ...) tap_near((got), (want), (tol), __FILE__, __LINE__, __VA_ARGS__)
#define is_mem(got, want, n, ...) tap_mem((got), (want), (n), __FILE__, __LINE__, __VA_ARGS__)

/* Count a check that can't be made here, with the reason; one that TF_TEST_REQUIRE names (a word of
 * the reason, such as "cuda") fails instead. */
__attribute__((unused)) static void skip(const char *reason)
{
    const char *required = getenv("TF_TEST_REQUIRE");
    if (required != NULL && *required != 0 && strstr(reason, required) != NULL)
        ok(false, "required, but skipped: %s", reason);
    else
        printf("ok %d # SKIP %s\n", ++tap_count, reason);
}

/* The plan, and main's return value. */
__attribute__((unused)) static int done(void)
{
    printf("1..%d\n", tap_count);
    if (tap_count == 0 || tap_failed > 0)
        printf("# %d of %d failed\n", tap_failed, tap_count);
    return tap_count == 0 || tap_failed > 0 || fflush(stdout) != 0;
}

#endif
