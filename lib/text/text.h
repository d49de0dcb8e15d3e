/* text.h - a piece of text, and what tells words apart in the formats that know ASCII only. */
#ifndef TF_TEXT_TEXT_H
#define TF_TEXT_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Not terminated; somebody else's memory. */
struct tf_text {
    const char *p;
    size_t n;
};

static inline bool tf_text_same(struct tf_text a, struct tf_text b)
{
    return a.n == b.n && (a.n == 0 || !memcmp(a.p, b.p, a.n));
}

static inline bool tf_text_is(struct tf_text s, const char *text)
{
    return tf_text_same(s, (struct tf_text){text, strlen(text)});
}

/* White space in the C locale, whatever the locale: blank, tab, line feed, vertical tab, form feed,
 * carriage return. */
static inline bool tf_ascii_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

#endif
