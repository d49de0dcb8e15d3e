/* search_private.h - the search that another program does with a model, as its files and that
 * program's defaults say, for the header of the model (stream/search_settings.h has the keys). What
 * cannot be kept is named in m->left, by `theirs`, the name that it has there. */
#ifndef TF_CONVERT_SEARCH_PRIVATE_H
#define TF_CONVERT_SEARCH_PRIVATE_H

#include "convert/import_private.h"

void tf_search_put(struct tf_import *m, const char *key, struct tf_value v);
void tf_search_put_word(struct tf_import *m, const char *key, const char *word);
void tf_search_put_beam(struct tf_import *m, int64_t beam, const char *theirs);
/* A number of tokens, if there is one. */
void tf_search_put_length(struct tf_import *m, const char *key, int64_t n, const char *theirs);
/* At most factor * (tokens of the input) + extra tokens, the end not counted, but that of the input
 * with `ends` 1. */
void tf_search_put_limit(struct tf_import *m, double factor, int ends, double extra,
                         const char *theirs);
/* The first piece of outputs, or NULL: tf-decode finds it where both sides have the same ids. */
void tf_search_put_begin(struct tf_import *m, const char *text, const char *theirs);

#endif
