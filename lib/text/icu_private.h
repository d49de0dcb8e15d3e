/* icu_private.h - the sentence boundaries of ICU's break iterator (Unicode Standard Annex 29, as
 * the locale data of ICU tailor it), its list of abbreviations, capital letters and scripts. Only
 * icu.c includes ICU. */
#ifndef TF_TEXT_ICU_PRIVATE_H
#define TF_TEXT_ICU_PRIVATE_H

#include "base/err.h"
#include "text/text.h"
#include <stddef.h>
#include <stdint.h>

struct tf_icu;

/* lang: a label of a language such as "en" or "pt-BR"; NULL or one that ICU does not know: the
 * rules that all languages share, without abbreviations. */
int tf_icu_open(struct tf_icu **icu, const char *lang, struct tf_err *err) TF_MUST_CHECK;
void tf_icu_close(struct tf_icu *icu);

/* Begin with a text (checked UTF-8, at most 2^30 bytes, which stay as they are meanwhile). */
int tf_icu_text(struct tf_icu *icu, const char *text, size_t n, struct tf_err *err) TF_MUST_CHECK;
/* The offset of the next boundary, the last of which is the end of the text; -1 after that. */
int64_t tf_icu_next(struct tf_icu *icu);

/* The letter in upper case, or what is written for it at the beginning of a sentence. */
uint32_t tf_icu_upper(uint32_t c);

/* Is it of a script without spaces between words, such as those of Chinese, Japanese and Thai? */
bool tf_icu_unspaced(uint32_t c);

/* Is this one of the abbreviations of the language, its full stop included? */
bool tf_icu_abbreviation(const struct tf_icu *icu, struct tf_text word);

#endif
