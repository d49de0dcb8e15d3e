/* unicode.h - Unicode 15.0 properties for scoring: white space, general categories, letters, lower
 * case. */
#ifndef TF_TEXT_UNICODE_H
#define TF_TEXT_UNICODE_H

#include "base/buf.h"
#include "base/utf8.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* White space as in Python's str.split(): bidirectional type WS, B or S, or category Zs. */
static inline bool tf_uc_space(uint32_t c)
{
    if (c < 0x80)
        return c == ' ' || (c >= 9 && c <= 13) || (c >= 0x1C && c <= 0x1F);
    return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 ||
           c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

/* The property White_Space, without what str.split() adds. */
static inline bool tf_uc_white(uint32_t c)
{
    return tf_uc_space(c) && !(c >= 0x1C && c <= 0x1F);
}

/* The length of the character at p if it is white space, else 0. p: UTF-8, not empty. */
static inline int tf_uc_space_at(const char *p)
{
    unsigned char c = (unsigned char)*p;
    if (c < 0x80)
        return tf_uc_space(c);
    if (c != 0xC2 && (c < 0xE1 || c > 0xE3))
        return 0;
    int len;
    return tf_uc_space(tf_utf8_get(p, &len)) ? len : 0;
}

/* The length of the text without trailing white space, and the end of the white space that
 * s[begin .. end) begins with. s: checked UTF-8. */
size_t tf_uc_rstrip(const char *s, size_t n);
size_t tf_uc_skip_space(const char *s, size_t begin, size_t end);

/* The first letter of the general category, as far as the tokenizers need it. */
enum tf_uc_class { TF_UC_OTHER = 0, TF_UC_PUNCT = 1, TF_UC_SYMBOL = 2, TF_UC_NUMBER = 4 };
enum tf_uc_class tf_uc_general(uint32_t c);

/* Properties for the Moses tokenizer: the sum of those that c has. */
enum { TF_UC_ALPHABETIC = 32, TF_UC_DECIMAL = 64, TF_UC_LOWERCASE = 128 };
unsigned tf_uc_letter(uint32_t c);
/* Is c a letter or a digit; a letter that is not in lower case? */
static inline bool tf_uc_alphanumeric(uint32_t c)
{
    return (tf_uc_letter(c) & (TF_UC_ALPHABETIC | TF_UC_DECIMAL)) != 0;
}
static inline bool tf_uc_capital(uint32_t c)
{
    return (tf_uc_letter(c) & (TF_UC_ALPHABETIC | TF_UC_LOWERCASE)) == TF_UC_ALPHABETIC;
}

/* Is it \w of regular expressions (UTS #18): a letter, a digit, a mark, or what joins these? */
bool tf_uc_word(uint32_t c);

/* The end of the signs, neither letters nor digits, that s[begin .. end) begins with, and where
 * those begin that it ends with. s: checked UTF-8. */
size_t tf_uc_skip_signs(const char *s, size_t begin, size_t end);
size_t tf_uc_trim_signs(const char *s, size_t begin, size_t end);

/* Append the lower case of the text (checked UTF-8) to out, like Python's str.lower(): full
 * mappings that do not depend on the language, that is the simple mapping of each code point,
 * U+0130 to "i" U+0307, and U+03A3 to U+03C2 at the end of a word (Final_Sigma, The Unicode
 * Standard, section 3.13). */
void tf_uc_lower(struct tf_buf *out, const char *s, size_t n);
enum { TF_UC_LAST_CASED = 0x1e921 }; /* the last character that has another in lower case */

#endif
