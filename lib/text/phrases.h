/* phrases.h - a glossary with its targets in pieces, for tf-decode --terms. */
#ifndef TF_TEXT_PHRASES_H
#define TF_TEXT_PHRASES_H

#include "base/opt.h"

/* Convert the targets of a file of terms by `tf-tokenize --pieces --phrases` with this model, and
 * add --terms with the result to the words of a tf-decode that is started later: a file in memory,
 * which it inherits. Returns 0, the exit status of tf-tokenize, whose message is printed, or -1. */
int tf_phrases_add(struct tf_strs *decode, const char *path, const char *model,
                   struct tf_err *err) TF_MUST_CHECK;

#endif
