/* language_pair.h - what the languages of a text imply for its BLEU, as in sacreBLEU. */
#ifndef TF_METRICS_LANGUAGE_PAIR_H
#define TF_METRICS_LANGUAGE_PAIR_H

#include "base/err.h"

enum { TF_LANGUAGE_SIZE = 16 };

/* Copy the target of "SOURCE-TARGET", such as "de" of "en-de". A usage error for another form. */
int tf_language_target(char target[TF_LANGUAGE_SIZE], const char *pair,
                       struct tf_err *err) TF_MUST_CHECK;

/* The tokenizer that sacreBLEU takes for a language, and its name in English; NULL: the usual one.
 */
struct tf_language {
    const char *code, *tokenizer, *name;
};
const struct tf_language *tf_language_special(const char *code);

#endif
