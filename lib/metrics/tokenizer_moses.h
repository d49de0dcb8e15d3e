/* tokenizer_moses.h - the tokenization used for the BLEU scores of "Attention Is All You Need": the
 * rules of Moses' tokenizer.perl in a new implementation, with our own lists of abbreviations, and
 * the two steps that tensor2tensor's get_ende_bleu.sh adds before and after it. */
#ifndef TF_METRICS_TOKENIZER_MOSES_H
#define TF_METRICS_TOKENIZER_MOSES_H

#include "metrics/tokenizers.h"

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
/* Append the tokens of a line (checked UTF-8) to out, a space between. Characters that are special
 * in Moses become entities such as &apos;. */
void tf_moses_tokenize(struct tf_moses *m, struct tf_buf *out, struct tf_text line);

/* Append the line with Chinese and typographic marks and full-width digits replaced by ASCII. */
void tf_moses_punctuation(struct tf_buf *out, struct tf_text line);
/* Append the line with "##AT##-##AT##" for each hyphen between two bytes that are not white space.
 * Matches do not overlap: of a-b-c only the first hyphen is replaced. */
void tf_moses_compounds(struct tf_buf *out, struct tf_text line);
/* Replace t's tokens by the pieces of the line between ASCII white space. */
void tf_tokenize_ascii(struct tf_tokens *t, struct tf_text line);

/* Whether the word, given without its full stop, is an abbreviation: 1 always, 2 before a number, 0
 * never. */
int tf_moses_abbreviation(enum tf_moses_lang lang, const char *s, size_t n);

#endif
