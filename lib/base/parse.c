/* parse.c - numbers from text and back. The process never calls setlocale, so strtod and printf use
 * the C locale. */
#include "base/parse.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool digit(char c)
{
    return c >= '0' && c <= '9';
}

static int not_a_number(const char *s, struct tf_err *err)
{
    return tf_fail(err, "'%s': not a number", s);
}

int tf_parse_int(int64_t *out, const char *s, int64_t lo, int64_t hi, struct tf_err *err)
{
    const char *p = s;
    bool negative = *p == '-';
    p += negative;
    if (!digit(*p))
        return not_a_number(s, err);
    int64_t x = 0;
    bool over = false;
    for (; digit(*p); p++)
        over |= __builtin_mul_overflow(x, 10, &x) ||
                (negative ? __builtin_sub_overflow(x, *p - '0', &x)
                          : __builtin_add_overflow(x, *p - '0', &x));
    int64_t unit = *p == 'k' ? 1000 : *p == 'M' ? 1000000 : *p == 'G' ? 1000000000 : 1;
    p += unit != 1;
    if (*p != 0)
        return not_a_number(s, err);
    over |= __builtin_mul_overflow(x, unit, &x);
    if (over ? negative : x < lo)
        return tf_fail(err, "%s: too small, minimum %lld", s, (long long)lo);
    if (over || x > hi)
        return tf_fail(err, "%s: too large, maximum %lld", s, (long long)hi);
    *out = x;
    return 0;
}

int tf_parse_real(double *out, const char *s, double lo, double hi, struct tf_err *err)
{
    /* The grammar is checked here, since strtod also takes white space, hexadecimal, "inf" and
     * "nan". */
    const char *p = s + (*s == '-');
    size_t digits = 0;
    for (; digit(*p); p++)
        digits++;
    if (*p == '.')
        for (p++; digit(*p); p++)
            digits++;
    bool good = digits > 0;
    if (good && (*p == 'e' || *p == 'E')) {
        p++;
        p += *p == '-' || *p == '+';
        good = digit(*p);
        while (digit(*p))
            p++;
    }
    if (!good || *p != 0)
        return not_a_number(s, err);
    double x = strtod(s, NULL);
    char bound[32];
    if (x < lo)
        return tf_fail(err, "%s: too small, minimum %s", s, tf_format_real(bound, lo));
    if (x > hi || isinf(x))
        return tf_fail(err, "%s: too large, maximum %s", s,
                       tf_format_real(bound, fmin(hi, DBL_MAX)));
    *out = x;
    return 0;
}

char *tf_format_real(char buf[32], double x)
{
    if (isnan(x))
        return memcpy(buf, "nan", 4);
    if (isinf(x))
        return x > 0 ? memcpy(buf, "inf", 4) : memcpy(buf, "-inf", 5);
    /* Decimal text of up to DBL_DIG digits survives a round trip through double: if 15 digits (%g
     * omits trailing zeros) read back as x, no shorter text does. Subnormals have fewer digits. */
    int digits = fabs(x) < DBL_MIN ? 1 : DBL_DIG;
    while (snprintf(buf, 32, "%.*g", digits, x) < 32 && strtod(buf, NULL) != x && digits < 17)
        digits++;
    return buf;
}

int tf_parse_list(bool *on, int64_t most, const char *s, struct tf_err *err)
{
    if (strcmp(s, "all") == 0) {
        for (int64_t i = 0; i < most; i++)
            on[i] = true;
        return 0;
    }
    for (;; s++) {
        char part[64];
        size_t n = strcspn(s, ",");
        int64_t from, to;
        if (n >= sizeof part)
            return tf_fail(err, "'%.20s...': not a number", s);
        snprintf(part, sizeof part, "%.*s", (int)n, s);
        char *dash = strchr(part, '-');
        if (dash != NULL)
            *dash++ = 0;
        if (tf_parse_int(&from, part, 1, most, err) != 0 ||
            tf_parse_int(&to, dash != NULL ? dash : part, 1, most, err) != 0)
            return -1;
        if (to < from)
            return tf_fail(err, "%lld-%lld: the end is before the beginning", (long long)from,
                           (long long)to);
        for (int64_t i = from; i <= to; i++)
            on[i - 1] = true;
        s += n;
        if (*s == 0)
            return 0;
    }
}

bool tf_is_word_of(const char *word, const char *list)
{
    const size_t n = strlen(word);
    for (;; list++) {
        const size_t len = strcspn(list, "|");
        if (len == n && memcmp(list, word, n) == 0)
            return true;
        list += len;
        if (*list == 0)
            return false;
    }
}
