/* placeholders_private.h - what a translation must have as it is: addresses and the variables of
 * programs. A model sees a short name in its place, such as X1, which models copy.
 *
 * Kept are URLs, e-mail addresses, {name}, ${name}, %{name} and {{name}}, and conversions of printf
 * such as %s, %1$d, %(name)s and %%. */
#ifndef TF_TEXT_PLACEHOLDERS_PRIVATE_H
#define TF_TEXT_PLACEHOLDERS_PRIVATE_H

#include "base/buf.h"
#include "text/text.h"

enum { TF_PLACEHOLDERS = 100 }; /* of a sentence; more are not hidden */

struct tf_placeholder {
    unsigned name; /* of X1: 1 */
    size_t begin, end;
};

/* Those of a sentence. Zero-initialise. */
struct tf_placeholders {
    struct tf_buf text; /* the sentence, which they are bytes of */
    struct tf_placeholder *v;
    size_t n;
};

/* Append the sentence with names in their places: names that it does not have. */
void tf_placeholders_hide(struct tf_placeholders *p, struct tf_text sentence, struct tf_buf *out);
/* Append the translation with what the names stand for. What it has lost comes at its end, after a
 * space. Returns the number of those. */
size_t tf_placeholders_show(const struct tf_placeholders *p, struct tf_text translation,
                            struct tf_buf *out);
void tf_placeholders_release(struct tf_placeholders *p);

#endif
