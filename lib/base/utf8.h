/* utf8.h - the one question the lower layers ask of UTF-8: is there a well-formed character here? (Unicode 15, table 3-7: no overlong forms, no surrogates, at most U+10FFFF.) */
#ifndef TF_BASE_UTF8_H
#define TF_BASE_UTF8_H

#include <stddef.h>

/* Length in bytes (1 to 4) of the well-formed character at s, of which n >= 1 bytes may be read; 0 when there is none. */
static inline size_t tf_utf8_at(const char *s, size_t n)
{
    const unsigned char *p = (const unsigned char *)s;
    if (p[0] < 0x80)
        return 1;
    if (p[0] < 0xc2 || p[0] > 0xf4)
        return 0;
    size_t len = p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
    unsigned lo = p[0] == 0xe0 ? 0xa0 : p[0] == 0xf0 ? 0x90 : 0x80;
    unsigned hi = p[0] == 0xed ? 0x9f : p[0] == 0xf4 ? 0x8f : 0xbf;
    if (n < len || p[1] < lo || p[1] > hi)
        return 0;
    for (size_t i = 2; i < len; i++)
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    return len;
}

#endif
