/* utf8.c - eight ASCII bytes at a time, one character at a time where there is more. */
#include "base/utf8.h"

#include <stdint.h>
#include <string.h>

void tf_utf8_put(struct tf_buf *out, uint32_t c)
{
    unsigned char s[4];
    size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (size_t i = n - 1; i > 0; i--, c >>= 6)
        s[i] = (unsigned char)(0x80 | (c & 0x3f));
    s[0] = (unsigned char)(n == 1 ? c : 0xf00u >> n | c);
    tf_buf_add(out, s, n);
}

size_t tf_utf8_span(const char *s, size_t n)
{
    size_t i = 0;
    while (i < n) {
        uint64_t w;
        while (n - i >= 8) {
            memcpy(&w, s + i, 8);
            if (w & 0x8080808080808080u)
                break;
            i += 8;
        }
        if (i == n)
            break;
        size_t len = tf_utf8_at(s + i, n - i);
        if (len == 0)
            break;
        i += len;
    }
    return i;
}

/* Bytes of the maximal part at s that begins a character but does not complete one; at least 1. */
static size_t subpart(const unsigned char *p, size_t n)
{
    unsigned lo, hi;
    size_t len = tf_utf8_lead(p[0], &lo, &hi), i = 1;
    while (i < len && i < n && p[i] >= lo && p[i] <= hi) {
        lo = 0x80;
        hi = 0xbf;
        i++;
    }
    return i;
}

void tf_utf8_replace(struct tf_buf *out, const char *s, size_t n)
{
    while (n > 0) {
        size_t good = tf_utf8_span(s, n);
        tf_buf_add(out, s, good);
        s += good;
        n -= good;
        if (n == 0)
            break;
        size_t bad = subpart((const unsigned char *)s, n);
        tf_buf_str(out, "\xef\xbf\xbd");
        s += bad;
        n -= bad;
    }
}

bool tf_utf8_valid(const uint8_t *p, size_t n)
{
    return tf_utf8_span((const char *)p, n) == n && (n == 0 || memchr(p, 0, n) == NULL);
}
