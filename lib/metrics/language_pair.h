/* language_pair.h - what the languages of a text imply for its BLEU, as in sacreBLEU. */
#ifndef TF_METRICS_LANGUAGE_PAIR_H
#define TF_METRICS_LANGUAGE_PAIR_H

#include "base/err.h"

#include <stdbool.h>

enum { TF_LANGUAGE_SIZE = 16 };

/* Copy the target of "SOURCE-TARGET", such as "de" of "en-de". A usage error for another form. */
int tf_language_target(char target[TF_LANGUAGE_SIZE], const char *pair,
                       struct tf_err *err) TF_MUST_CHECK;

/* If sacreBLEU takes a tokenizer of its own for the target of the pair: *tokenizer, unless it is
 * set or there is a SentencePiece model. A usage error if it needs MeCab. Warns if another one is
 * set, unless quiet. */
int tf_language_tokenizer(const char **tokenizer, const char *target, const char *pair,
                          bool has_model, bool quiet, struct tf_err *err) TF_MUST_CHECK;

/* The language of Moses' tokenizer (enum tf_moses_lang). A usage error for another language. */
int tf_language_moses(int *lang, const char *target, const char *pair,
                      struct tf_err *err) TF_MUST_CHECK;

#endif
