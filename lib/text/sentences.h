/* sentences.h - split a text into sentences: the boundaries of ICU (icu_private.h) but for
 * those that these rules take away, and cuts in a sentence that is too long.
 *
 * No sentence ends
 * - without white space after it, except in scripts that write none there;
 * - in an abbreviation of CLDR's list of the language, or in one of a list here (titles such as
 *   "Dr.", which some of those lists lack), that is a whole word;
 * - after one capital letter and a full stop: "J. Ramone";
 * - after a number of one or two digits and a full stop, in languages that write ordinals so;
 * - before a small letter, but after ! and ?;
 * - before a quotation mark or bracket that closes, but after it.
 *
 * lib/README.md has what they are worth. A longer sentence than the limit is cut after a semicolon,
 * colon or dash, else after a comma, else at a space, else between characters: after the last one
 * in the second half of what may stand there. */
#ifndef TF_TEXT_SENTENCES_H
#define TF_TEXT_SENTENCES_H

#include "base/err.h"
#include <stdbool.h>
#include <stddef.h>

/* From here on characters belong to scripts that are written without spaces: CJK, its punctuation,
 * and full width forms. */
enum { TF_WITHOUT_SPACES = 0x2e80 };

struct tf_sentence_span {
    size_t begin, end; /* bytes of the text, without the white space at its ends */
    bool joined;       /* nothing separates it from the one before it, in a script without spaces */
};

struct tf_sentences;

/* lang: a label such as "en" or "pt-BR", or NULL: rules that all languages share. most: characters
 * of a sentence; 0: no limit. */
int tf_sentences_new(struct tf_sentences **s, const char *lang, size_t most,
                     struct tf_err *err) TF_MUST_CHECK;
void tf_sentences_free(struct tf_sentences *s);

/* The sentences of a text (checked UTF-8, at most 2^30 bytes). Between them is only white space;
 * there are none if the text has nothing else. *spans is valid until the next call. */
int tf_sentences_split(struct tf_sentences *s, const char *text, size_t n,
                       const struct tf_sentence_span **spans, size_t *count,
                       struct tf_err *err) TF_MUST_CHECK;

#endif
