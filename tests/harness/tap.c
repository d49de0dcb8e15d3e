/* tap.c - TAP results: see tap.h. */
#include "tap.h"
#include "base/err.h"
#include "base/sanitize_private.h"

#include <ctype.h>
#include <stdarg.h>

static int count, failed;

__attribute__((format(printf, 4, 0))) static bool tap_result(bool good, const char *file, int line,
                                                             const char *fmt, va_list ap)
{
    printf("%sok %d - ", good ? "" : "not ", ++count);
    vprintf(fmt, ap);
    putchar('\n');
    if (!good) {
        failed++;
        printf("# at %s:%d\n", file, line);
    }
    fflush(stdout);
    return good;
}

bool tap_ok(bool good, const char *file, int line, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    tap_result(good, file, line, fmt, ap);
    va_end(ap);
    return good;
}

bool tap_int(long long got, long long want, const char *file, int line, const char *fmt, ...)
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

bool tap_str(const char *got, const char *want, const char *file, int line, const char *fmt, ...)
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

bool tap_near(double got, double want, double tol, const char *file, int line, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    bool good = tap_result(fabs(got - want) <= tol, file, line, fmt, ap); /* false for NaN */
    va_end(ap);
    if (!good)
        printf("#  got: %.17g\n# want: %.17g within %g\n", got, want, tol);
    return good;
}

bool tap_mem(const void *got, const void *want, size_t n, const char *file, int line,
             const char *fmt, ...)
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

void bail_out(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    printf("Bail out! ");
    vprintf(fmt, ap);
    putchar('\n');
    va_end(ap);
    exit(1);
}

void tap_must(long long rc, const struct tf_err *err, const char *file, int line)
{
    if (rc < 0)
        bail_out("%s:%d: %s", file, line, err->msg);
}

static bool is_part(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Does the text contain the word, not as part of another one? */
static bool has_word(const char *text, const char *word)
{
    const size_t n = strlen(word);
    for (const char *s = text; n > 0 && (s = strstr(s, word)) != NULL; s++)
        if ((s == text || !is_part(s[-1])) && !is_part(s[n]))
            return true;
    return false;
}

uint64_t cases(uint64_t usual)
{
    const char *wanted = getenv("TF_TEST_CASES");
    uint64_t most = wanted != NULL ? strtoull(wanted, NULL, 10) : 0;
    if (most > 0)
        return most < usual ? most : usual;
#if TF_ASAN
    return (usual + 2) / 3;
#else
    return usual;
#endif
}

void skip(const char *reason)
{
    /* What is missing is named before the first colon; a message may follow that names others. */
    char words[200], missing[200], *rest = words, *word;
    bool required = false;
    const char *variable = getenv("TF_TEST_REQUIRE");
    snprintf(words, sizeof words, "%s", variable != NULL ? variable : "");
    snprintf(missing, sizeof missing, "%.*s", (int)strcspn(reason, ":"), reason);
    while ((word = strsep(&rest, " ")) != NULL)
        required |= has_word(missing, word);
    if (required)
        ok(false, "required, but skipped: %s", reason);
    else
        printf("ok %d # SKIP %s\n", ++count, reason);
}

int results(void)
{
    return count;
}

int done(void)
{
    printf("1..%d\n", count);
    if (count == 0 || failed > 0)
        printf("# %d of %d failed\n", failed, count);
    return count == 0 || failed > 0 || fflush(stdout) != 0;
}
