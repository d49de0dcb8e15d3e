/* placeholders_private.h - what a translation must have as it is: addresses and the variables of
 * programs. A model sees a short name in its place, such as X1, which models copy.
 *
 * Kept are URLs, e-mail addresses, {name}, {name:>5}, ${name}, %{name} and {{name}}, conversions of
 * printf and Qt such as %s, %1$d, %(name)s, %%, %1 and %n, options such as --key and -k, @name and
 * #name, and what has backslashes, such as C:\path. In the same way a term gets its translation. */
#ifndef TF_TEXT_PLACEHOLDERS_PRIVATE_H
#define TF_TEXT_PLACEHOLDERS_PRIVATE_H

#include "base/buf.h"
#include "text/glossary.h"

/* Characters from this one on, the private ones of planes 15 and 16, are kept, too. */
enum { TF_PLACEHOLDER_OBJECT = 0xf0000 };

struct tf_placeholder {
    unsigned name; /* of X1: 1 */
    size_t begin, end;
    struct tf_glossary_term term; /* its translation; p NULL: it stays as it is */
};

/* Those of a sentence. Zero-initialise. */
struct tf_placeholders {
    struct tf_buf text;       /* the sentence, which they are bytes of */
    struct tf_placeholder *v; /* by begin, and by name */
    size_t n, cap;
};

/* Append the sentence with names in their places: names that it does not have, and a space between
 * two that would touch. Private characters are always kept. */
void tf_placeholders_hide(struct tf_placeholders *p, struct tf_text sentence, struct tf_hide hide,
                          struct tf_buf *out);
/* Bytes of the name of that number. */
size_t tf_placeholder_length(unsigned name);
/* What a name at s.p[at] stands for, with the bytes of the name; p->n, and one byte, if there is
 * none. */
size_t tf_placeholder_find(const struct tf_placeholders *p, struct tf_text s, size_t at,
                           size_t *bytes);
/* Append what the name at s.p[at] stands for. A term has a capital letter where p->text
 * has one within a sentence and the glossary has none, and at the beginning of a sentence if
 * p->text begins with one. */
void tf_placeholder_put(const struct tf_placeholders *p, size_t i, struct tf_text s, size_t at,
                        struct tf_buf *out);
/* Append the translation with what the names stand for. What it has lost comes at its end, after
 * spaces. Returns the number of those. */
size_t tf_placeholders_show(const struct tf_placeholders *p, struct tf_text translation,
                            struct tf_buf *out);
/* The bytes of s from `at`, after name i, to name i + 1, if they are the signs that stood between
 * them but for spaces; *was: those, with theirs. Else 0. */
size_t tf_placeholders_between(const struct tf_placeholders *p, size_t i, struct tf_text s,
                               size_t at, struct tf_text *was);
/* Has the text a name, and besides names neither letters nor digits? */
bool tf_placeholders_alone(struct tf_text s);
void tf_placeholders_release(struct tf_placeholders *p);

#endif
