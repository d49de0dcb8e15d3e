/* added.h - tokens that were added to a vocabulary: text is cut at them before anything else
 * happens to it, and the text between is segmented alone, as in transformers
 * (src/transformers/tokenization_python.py) and tokenizers
 * (tokenizers/src/tokenizer/added_vocabulary.rs); for TF_ADDED_FIRST as in
 * src/transformers/models/marian/tokenization_marian.py. */
#ifndef TF_TEXT_ADDED_H
#define TF_TEXT_ADDED_H

#include "base/err.h"
#include "text/sp_piece.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
