/* utf8.c - eight ASCII bytes at a time, one character at a time where there is more. */
#include "text/utf8.h"
#include "base/utf8.h"

#include <stdint.h>
#include <string.h>

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
    if (p[0] < 0xc2 || p[0] > 0xf4)
        return 1;
    size_t len = p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
    unsigned lo = p[0] == 0xe0 ? 0xa0 : p[0] == 0xf0 ? 0x90 : 0x80;
    unsigned hi = p[0] == 0xed ? 0x9f : p[0] == 0xf4 ? 0x8f : 0xbf;
    size_t i = 1;
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
