/* utf8.c - checks eight ASCII bytes at a time, other characters one by one. */
#include "base/utf8.h"

#include <stdint.h>
#include <string.h>

size_t tf_utf8_encode(char s[4], uint32_t c)
{
    size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (size_t i = n - 1; i > 0; i--, c >>= 6)
        s[i] = (char)(0x80 | (c & 0x3f));
    s[0] = (char)(n == 1 ? c : 0xf00u >> n | c);
    return n;
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

size_t tf_utf8_ill_formed(const char *s, size_t n)
{
    const unsigned char *p = (const unsigned char *)s;
    unsigned lo, hi;
    size_t len = tf_utf8_lead(p[0], &lo, &hi), i = 1;
    while (i < len && i < n && p[i] >= lo && p[i] <= hi) {
        lo = 0x80;
        hi = 0xbf;
        i++;
    }
    return i;
}

bool tf_utf8_valid(const uint8_t *p, size_t n)
{
    return tf_utf8_span((const char *)p, n) == n && (n == 0 || memchr(p, 0, n) == NULL);
}
