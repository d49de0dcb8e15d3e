/* parse.h - numbers from text, with a range, and numbers to text; the same in every locale. */
#ifndef TF_BASE_PARSE_H
#define TF_BASE_PARSE_H

#include "base/err.h"
#include <stdbool.h>
#include <stdint.h>

/* Parse all of s, a decimal number without white space; integers may have a suffix k, M or G (10^3,
 * 10^6, 10^9). Return 0, or -1 with "'12x': not a number", "0: too small, minimum 1" or "9: too
 * large, maximum 8". */
int tf_parse_int(int64_t *out, const char *s, int64_t lo, int64_t hi,
                 struct tf_err *err) TF_MUST_CHECK;
int tf_parse_real(double *out, const char *s, double lo, double hi,
                  struct tf_err *err) TF_MUST_CHECK;

/* Parse "all" or numbers and ranges such as "1,3-5", from 1 to most. Sets on[i - 1] for each number
 * i and leaves the rest unchanged. */
int tf_parse_list(bool *on, int64_t most, const char *s, struct tf_err *err) TF_MUST_CHECK;

/* Is it one of the words of a list, which "|" separates? An empty word may be one. */
bool tf_is_word_of(const char *word, const char *list);

/* Shortest decimal text that reads back as the same double ("0.1", "1e-09", "25000"); NaN and
 * infinities as "nan", "inf", "-inf". buf holds 32 bytes. Returns buf. */
char *tf_format_real(char buf[32], double x);

#endif
