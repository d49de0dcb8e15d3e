/* tap.h - numbered test results on stdout in TAP, and an exit status that reports every failure.
 *
 *     #include "../harness/tap.h"
 *     int main(void)
 *     {
 *         is_int(tf_add(1, 2), 3, "adds small numbers");
 *         is_near(x, 0.5, 1e-6, "halves one");
 *         return done();
 *     }
 *
 * Each check takes the name of the result last, as a printf format, and returns whether it passed:
 * `if (ok(p != NULL, "opens")) ...`. A failed check prints its place and both values, and the
 * program continues. What a test only needs and does not check goes through must(), which ends the
 * program. */
#ifndef TF_TESTS_TAP_H
#define TF_TESTS_TAP_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tf_err;

/* cond is true. */
#define ok(cond, ...) tap_ok((cond), __FILE__, __LINE__, __VA_ARGS__)
/* Two integers are equal, two strings (either may be NULL), n bytes. */
#define is_int(got, want, ...) \
    tap_int((long long)(got), (long long)(want), __FILE__, __LINE__, __VA_ARGS__)
#define is_str(got, want, ...) tap_str((got), (want), __FILE__, __LINE__, __VA_ARGS__)
#define is_mem(got, want, n, ...) tap_mem((got), (want), (n), __FILE__, __LINE__, __VA_ARGS__)
/* |got - want| <= tol; NaN fails. */
#define is_near(got, want, tol, ...) tap_near((got), (want), (tol), __FILE__, __LINE__, __VA_ARGS__)

/* Bail out with the message of *err when rc is negative. rc is evaluated once. */
#define must(rc, err) tap_must((rc), (err), __FILE__, __LINE__)

/* How many cases of a kind to try, of `usual` ones: TF_TEST_CASES if that is set and not more; else
 * a third under AddressSanitizer, for which they differ little; else all. */
uint64_t cases(uint64_t usual);

/* End the program as failed: the rest of the test makes no sense. */
void bail_out(const char *fmt, ...) __attribute__((noreturn, format(printf, 1, 2)));

/* Count a check that this machine cannot run, with the reason. It fails if TF_TEST_REQUIRE,
 * such as "cuda", is a part of the reason before the first colon. */
void skip(const char *reason);

/* Results so far. */
int results(void);

/* Print the plan; returns main's exit status: 1 after a failure, and when nothing was checked. */
int done(void);

/* What the macros above call. */
bool tap_ok(bool good, const char *file, int line, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
bool tap_int(long long got, long long want, const char *file, int line, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));
bool tap_str(const char *got, const char *want, const char *file, int line, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));
bool tap_near(double got, double want, double tol, const char *file, int line, const char *fmt, ...)
    __attribute__((format(printf, 6, 7)));
bool tap_mem(const void *got, const void *want, size_t n, const char *file, int line,
             const char *fmt, ...) __attribute__((format(printf, 6, 7)));
void tap_must(long long rc, const struct tf_err *err, const char *file, int line);

#endif
