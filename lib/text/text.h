/* text.h - views of text, their parts and words, and ASCII white space. */
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

/* For qsort and bsearch: the order of the bytes of two struct tf_text, or of structs that begin
 * with one. */
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

/* Does the text end so? */
static inline bool tf_text_ends(struct tf_text s, const char *end)
{
    const size_t n = strlen(end);
    return s.n >= n && memcmp(s.p + s.n - n, end, n) == 0;
}

/* Cut off the next part of a text, up to a mark, and the mark. False: no part is left; rest->p is
 * NULL after the last one. */
static inline bool tf_text_cut(struct tf_text *rest, char mark, struct tf_text *part)
{
    if (rest->p == NULL)
        return false;
    const char *end = rest->n > 0 ? (const char *)memchr(rest->p, mark, rest->n) : NULL;
    part->p = rest->p;
    part->n = end != NULL ? (size_t)(end - rest->p) : rest->n;
    rest->p = end != NULL ? end + 1 : NULL;
    rest->n -= part->n + (end != NULL);
    return true;
}

/* The words that spaces separate, an array to free. */
struct tf_text *tf_text_words(struct tf_text s, size_t *n);

/* Cut off the next k parts between tabs, the last of which is *field. Returns their number, less if
 * there are fewer. */
static inline size_t tf_text_field(struct tf_text *rest, size_t k, struct tf_text *field)
{
    size_t n = 0;
    while (n < k && tf_text_cut(rest, '\t', field))
        n++;
    return n;
}

/* Cut off the next word, between ASCII white space. False: no word is left. */
static inline bool tf_text_word(struct tf_text *rest, struct tf_text *word)
{
    while (rest->n > 0 && tf_ascii_space(*rest->p)) {
        rest->p++;
        rest->n--;
    }
    word->p = rest->p;
    word->n = 0;
    while (word->n < rest->n && !tf_ascii_space(word->p[word->n]))
        word->n++;
    rest->p += word->n;
    rest->n -= word->n;
    return word->n > 0;
}

#endif
