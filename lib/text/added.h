/* added.h - tokens that were added to a vocabulary: text is cut at them before anything else
 * happens to it, and the text between is segmented alone, as in transformers
 * (src/transformers/tokenization_python.py) and tokenizers
 * (tokenizers/src/tokenizer/added_vocabulary.rs); for TF_ADDED_FIRST as in
 * src/transformers/models/marian/tokenization_marian.py. */
#ifndef TF_TEXT_ADDED_H
#define TF_TEXT_ADDED_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Properties of a token; 0: it is none. */
enum {
    TF_ADDED = 1,
    TF_ADDED_LSTRIP = 2, /* white space before it belongs to it */
    TF_ADDED_RSTRIP = 4, /* and after it */
    TF_ADDED_ALONE = 8, /* between spaces, or the ends; else it, and a token that it touches, are
                           text */
    TF_ADDED_WORD = 16, /* with no letter or digit at either side; else it is text */
    TF_ADDED_KEEPS = 32, /* a space that is left before it is a piece of its own */
    TF_ADDED_SINGLE = 64, /* only a single space belongs to it, since several are no white space */
    TF_ADDED_SPACED = 128, /* its own text, where ids become text, has a space before it */
    TF_ADDED_FIRST = 256   /* a tag of a language, >>fra<<, which is one only where a text, or what
                              another token leaves of it, begins; so is a tag that is not there, for
                              which the unknown piece stands */
};

struct tf_added;

/* Those of a vocabulary of `size` ids, the n bytes of a file that tf_sp_check accepts, which are
 * borrowed. *a = NULL: there is nothing to cut. Errors: a token whose id is not there, or that is
 * there twice; tokens that would take too much memory. */
int tf_added_new(struct tf_added **a, const void *bytes, size_t n, int64_t size,
                 struct tf_err *err) TF_MUST_CHECK;
void tf_added_free(struct tf_added *a);

/* What a text is cut into, in order: its n bytes at p, id -1; or the id of a token, or of a space
 * that is a piece, n = 0. */
typedef int tf_added_fn(void *arg, const char *p, size_t n, int64_t id, struct tf_err *err);
/* Cut valid UTF-8; an error of `use` ends it. Without `a` the text is one part. */
int tf_added_cut(const struct tf_added *a, const char *text, size_t n, tf_added_fn *use, void *arg,
                 struct tf_err *err) TF_MUST_CHECK;
#endif
