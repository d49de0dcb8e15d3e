/* utf8.h - UTF-8 as in Unicode 15, table 3-7: no overlong forms, no surrogates, at most U+10FFFF.
 * NUL is an ordinary character. */
#ifndef TF_BASE_UTF8_H
#define TF_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Length (1 to 4) of a character whose first byte is c, and the range of its second byte; 0 if no
 * character starts with c. */
static inline size_t tf_utf8_lead(unsigned char c, unsigned *lo, unsigned *hi)
{
    *lo = c == 0xe0 ? 0xa0 : c == 0xf0 ? 0x90 : 0x80;
    *hi = c == 0xed ? 0x9f : c == 0xf4 ? 0x8f : 0xbf;
    return c < 0x80 ? 1 : c < 0xc2 || c > 0xf4 ? 0 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
}

/* Bytes of the byte-order mark (U+FEFF) that the n bytes at p begin with: 3, or 0 for none. */
static inline size_t tf_utf8_mark(const void *p, size_t n)
{
    return n >= 3 && memcmp(p, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
}

/* Length in bytes (1 to 4) of the well-formed character at s, of which n >= 1 bytes may be read; 0
 * if it is ill-formed. */
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

/* Must the well-formed character at s be escaped wherever a terminal or an editor may show it? The
 * control characters (U+0000 to U+001F, U+007F to U+009F), and those that reorder the text around
 * them or break its line: U+061C, U+200E, U+200F, U+2028 to U+202E, U+2066 to U+2069. */
static inline bool tf_utf8_unsafe(const char *s)
{
    const unsigned char *p = (const unsigned char *)s;
    switch (p[0]) {
    case 0xc2:
        return p[1] < 0xa0;
    case 0xd8:
        return p[1] == 0x9c;
    case 0xe2:
        return (p[1] == 0x80 && (p[2] == 0x8e || p[2] == 0x8f || (p[2] >= 0xa8 && p[2] <= 0xae))) ||
               (p[1] == 0x81 && p[2] >= 0xa6 && p[2] <= 0xa9);
    default:
        return p[0] < 0x20 || p[0] == 0x7f;
    }
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

/* Where the character begins that ends before s[at], of well-formed text; at > 0. */
static inline size_t tf_utf8_before(const char *s, size_t at)
{
    do
        at--;
    while (at > 0 && ((unsigned char)s[at] & 0xc0) == 0x80);
    return at;
}

/* The characters of well-formed text. */
static inline size_t tf_utf8_count(const char *s, size_t n)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        count += ((unsigned char)s[i] & 0xc0) != 0x80;
    return count;
}

/* Write the character c (at most U+10FFFF, no surrogate); returns its length. */
size_t tf_utf8_encode(char s[4], uint32_t c);
/* Length of the well-formed prefix of s: n if all of it is. */
size_t tf_utf8_span(const char *s, size_t n);
/* Are all n bytes well-formed, and none of them NUL? */
bool tf_utf8_valid(const uint8_t *p, size_t n);
/* Length of the maximal ill-formed part at s (Unicode 15, section 3.9), of n >= 1 bytes. */
size_t tf_utf8_ill_formed(const char *s, size_t n);

#endif
