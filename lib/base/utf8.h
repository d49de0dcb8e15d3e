/* utf8.h - UTF-8 as Unicode 15, table 3-7 has it: no overlong forms, no surrogates, at most
 * U+10FFFF. NUL is a character like any other. */
#ifndef TF_BASE_UTF8_H
#define TF_BASE_UTF8_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes (1 to 4) of a character that begins with c, and the range of its second byte; 0 when none
 * does. */
static inline size_t tf_utf8_lead(unsigned char c, unsigned *lo, unsigned *hi)
{
    *lo = c == 0xe0 ? 0xa0 : c == 0xf0 ? 0x90 : 0x80;
    *hi = c == 0xed ? 0x9f : c == 0xf4 ? 0x8f : 0xbf;
    return c < 0x80 ? 1 : c < 0xc2 || c > 0xf4 ? 0 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
}

/* Length in bytes (1 to 4) of the well-formed character at s, of which n >= 1 bytes may be read; 0
 * when there is none. */
static inline size_t tf_utf8_at(const char *s, size_t n)
{
    const unsigned char *p = (const unsigned char *)s;
    unsigned lo, hi;
    size_t len = tf_utf8_lead(p[0], &lo, &hi);
    if (len == 1)
        return 1;
    if (n < len || len == 0 || p[1] < lo || p[1] > hi)
        return 0;
    for (size_t i = 2; i < len; i++)
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    return len;
}

/* Does the well-formed character at s move a terminal? U+0000 to U+001F, U+007F, and the C1
 * controls, U+0080 to U+009F. */
static inline bool tf_utf8_control(const char *s)
{
    const unsigned char *p = (const unsigned char *)s;
    return p[0] < 0x20 || p[0] == 0x7f || (p[0] == 0xc2 && p[1] < 0xa0);
}

/* The character at s, which must be well-formed, and its length in bytes. */
static inline uint32_t tf_utf8_get(const char *s, int *len)
{
    const unsigned char *p = (const unsigned char *)s;
    if (p[0] < 0x80)
        return *len = 1, p[0];
    if (p[0] < 0xe0)
        return *len = 2, (p[0] & 0x1fu) << 6 | (p[1] & 0x3fu);
    if (p[0] < 0xf0)
        return *len = 3, (p[0] & 0x0fu) << 12 | (p[1] & 0x3fu) << 6 | (p[2] & 0x3fu);
    return *len = 4,
           (p[0] & 0x07u) << 18 | (p[1] & 0x3fu) << 12 | (p[2] & 0x3fu) << 6 | (p[3] & 0x3fu);
}

/* Append the character c (at most U+10FFFF, no surrogate). */
void tf_utf8_put(struct tf_buf *out, uint32_t c);
/* Length of the well-formed beginning of s: n when all of it is. */
size_t tf_utf8_span(const char *s, size_t n);
/* Are all n bytes well-formed, and none of them NUL? */
bool tf_utf8_valid(const uint8_t *p, size_t n);
/* Append s to out with U+FFFD for each maximal ill-formed part (Unicode 15, section 3.9,
 * "substitution of maximal subparts"; as Python's and the browsers' decoders do). */
void tf_utf8_replace(struct tf_buf *out, const char *s, size_t n);

#endif
