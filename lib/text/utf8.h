/* utf8.h - whole texts of UTF-8: are they well-formed, and if not, where; and the replacement of what is not. */
#ifndef TF_TEXT_UTF8_H
#define TF_TEXT_UTF8_H

#include "base/buf.h"

/* Length of the well-formed beginning of s: n when all of it is (Unicode 15, table 3-7). NUL is a character like any other. */
size_t tf_utf8_span(const char *s, size_t n);
/* Append s to out with U+FFFD for each maximal ill-formed part (Unicode 15, section 3.9, "substitution of maximal subparts"; as Python's and the browsers' decoders do). */
void tf_utf8_replace(struct tf_buf *out, const char *s, size_t n);

#endif
