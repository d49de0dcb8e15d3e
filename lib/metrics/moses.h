/* moses.h - tokenization of the kind that the scores of "Attention Is All You Need" were computed
 * on: the rules of Moses' tokenizer.perl, restated and written anew, with lists of abbreviations of
 * our own; then what tensor2tensor's get_ende_bleu.sh does around it. */
#ifndef TF_METRICS_MOSES_H
#define TF_METRICS_MOSES_H

#include "metrics/tokenize.h"

enum tf_moses_lang { TF_MOSES_EN, TF_MOSES_DE, TF_MOSES_FR };
extern const char *const tf_moses_langs[]; /* "en", "de", "fr", NULL */

/* Zero-initialise; reuse from line to line. */
struct tf_moses {
    enum tf_moses_lang lang;
    struct tf_codes {
        uint32_t *v;
        size_t n, cap;
    } a, b;
    struct tf_buf text;
};
void tf_moses_release(struct tf_moses *m);
/* Append the tokens of a line (checked UTF-8) to out, blanks between; marks that have a meaning to
 * Moses come out as entities. */
void tf_moses_tokenize(struct tf_moses *m, struct tf_buf *out, struct tf_text line);

/* Append the line with Chinese and typographic marks and full-width digits as ASCII. */
void tf_moses_punctuation(struct tf_buf *out, struct tf_text line);
/* Append the line with "##AT##-##AT##" in place of a hyphen between two bytes that are not white
 * space. From left to right, each byte used once: of a-b-c only the first hyphen is. */
void tf_moses_compounds(struct tf_buf *out, struct tf_text line);
/* Replace t's tokens by the pieces of the line between ASCII white space. */
void tf_tokenize_ascii(struct tf_tokens *t, struct tf_text line);

/* Is the word, without its full stop, an abbreviation? 1: always; 2: before a number; 0: no. */
int tf_moses_prefix(enum tf_moses_lang lang, const char *s, size_t n);

#endif
