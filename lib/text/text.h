/* text.h - views of text, and ASCII white space. */
#ifndef TF_TEXT_TEXT_H
#define TF_TEXT_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* A view of text: not terminated, not owned. */
struct tf_text {
    const char *p;
    size_t n;
};

static inline bool tf_text_same(struct tf_text a, struct tf_text b)
{
    return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

/* For qsort and bsearch: the order of the bytes of two struct tf_text. */
static inline int tf_text_compare(const void *x, const void *y)
{
    const struct tf_text *a = (const struct tf_text *)x, *b = (const struct tf_text *)y;
    size_t n = a->n < b->n ? a->n : b->n;
    int c = n ? memcmp(a->p, b->p, n) : 0;
    return c ? c : (a->n > b->n) - (a->n < b->n);
}

static inline bool tf_text_is(struct tf_text s, const char *text)
{
    return tf_text_same(s, (struct tf_text){text, strlen(text)});
}

/* White space of the C locale: space, tab, line feed, vertical tab, form feed, carriage return. */
static inline bool tf_ascii_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

#endif
