/* unicode.c - lookups in the tables of unicode_data_private.h, except for ASCII. */
#include "text/unicode.h"
#include "base/order.h"
#include <string.h>

struct run {
    uint32_t first;
    uint16_t flags; /* of enum tf_uc_class, those of tf_uc_letter, and these */
};
struct lower_run {
    uint32_t first, last;
    int stride, delta;
};
#include "text/unicode_data_private.h"

enum {
    CASED = 8,
    IGNORABLE = 16,
    PAIRS = 256, /* the second, fourth, ... are LOWERCASE, too */
    WORD = 512   /* in words, but neither a letter nor a digit */
};

#define COUNT(a) (sizeof(a) / sizeof(a)[0])

size_t tf_uc_rstrip(const char *s, size_t n)
{
    while (n > 0 && tf_uc_space_at(s + tf_utf8_before(s, n)) > 0)
        n = tf_utf8_before(s, n);
    return n;
}

size_t tf_uc_skip_space(const char *s, size_t begin, size_t end)
{
    int len;
    while (begin < end && (len = tf_uc_space_at(s + begin)) > 0)
        begin += (size_t)len;
    return begin;
}

static unsigned flags_of(uint32_t c)
{
    size_t i;
    TF_FIRST(i, 1, COUNT(uc_runs), uc_runs[i].first > c);
    const struct run *r = &uc_runs[i - 1];
    return r->flags | ((r->flags & PAIRS) != 0 && (c - r->first) % 2 != 0 ? TF_UC_LOWERCASE : 0);
}

enum tf_uc_class tf_uc_general(uint32_t c)
{
    if (c < 0x80) {
        if ((c | 0x20) - 'a' < 26 || c <= ' ' || c == 0x7F)
            return TF_UC_OTHER;
        if (c - '0' < 10)
            return TF_UC_NUMBER;
        return strchr("$+<=>^`|~", (int)c) != NULL ? TF_UC_SYMBOL : TF_UC_PUNCT;
    }
    return (enum tf_uc_class)(flags_of(c) & (TF_UC_PUNCT | TF_UC_SYMBOL | TF_UC_NUMBER));
}

unsigned tf_uc_letter(uint32_t c)
{
    return flags_of(c) & (TF_UC_ALPHABETIC | TF_UC_DECIMAL | TF_UC_LOWERCASE);
}

bool tf_uc_word(uint32_t c)
{
    return (flags_of(c) & (TF_UC_ALPHABETIC | TF_UC_DECIMAL | WORD)) != 0;
}

size_t tf_uc_skip_signs(const char *s, size_t begin, size_t end)
{
    int len;
    while (begin < end && !tf_uc_alphanumeric(tf_utf8_get(s + begin, &len)))
        begin += (size_t)len;
    return begin;
}

size_t tf_uc_trim_signs(const char *s, size_t begin, size_t end)
{
    int len;
    while (end > begin && !tf_uc_alphanumeric(tf_utf8_get(s + tf_utf8_before(s, end), &len)))
        end = tf_utf8_before(s, end);
    return end;
}

static uint32_t simple_lower(uint32_t c)
{
    size_t i;
    TF_FIRST(i, 0, COUNT(uc_lower), uc_lower[i].last >= c);
    const struct lower_run *r = &uc_lower[i];
    return i == COUNT(uc_lower) || c < r->first || (c - r->first) % (uint32_t)r->stride != 0
               ? c
               : (uint32_t)((int32_t)c + r->delta);
}

/* Final_Sigma: the nearest code point before that is not Case_Ignorable is Cased, and the nearest
 * after is not. */
static bool ends_word(const char *s, size_t at, size_t n)
{
    int len;
    unsigned f;
    size_t i = at;
    do {
        if (i == 0)
            return false;
        i = tf_utf8_before(s, i);
        f = flags_of(tf_utf8_get(s + i, &len));
    } while (f & IGNORABLE);
    if (!(f & CASED))
        return false;
    for (i = at + 2; i < n; i += (size_t)len) {
        f = flags_of(tf_utf8_get(s + i, &len));
        if (!(f & IGNORABLE))
            return !(f & CASED);
    }
    return true;
}

void tf_uc_lower(struct tf_buf *out, const char *s, size_t n)
{
    tf_buf_grow(out, n);
    for (size_t i = 0; i < n;) {
        unsigned char b = (unsigned char)s[i];
        if (b < 0x80) {
            tf_buf_byte(out, b >= 'A' && b <= 'Z' ? b | 0x20 : b);
            i++;
            continue;
        }
        int len;
        uint32_t c = tf_utf8_get(s + i, &len);
        if (c == 0x130)
            tf_buf_str(out, "i\xCC\x87");
        else if (c == 0x3A3 && ends_word(s, i, n))
            tf_buf_char(out, 0x3C2);
        else
            tf_buf_char(out, simple_lower(c));
        i += (size_t)len;
    }
}
