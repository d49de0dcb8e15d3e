/* tokenizer_moses.h - the tokenization used for the BLEU scores of "Attention Is All You Need": the
 * rules of Moses' tokenizer.perl in a new implementation, and the two steps that
 * tensor2tensor's get_ende_bleu.sh adds before and after it. */
#ifndef TF_METRICS_TOKENIZER_MOSES_H
#define TF_METRICS_TOKENIZER_MOSES_H

#include "metrics/tokenizers_private.h"

enum tf_moses_lang { TF_MOSES_EN, TF_MOSES_DE, TF_MOSES_FR };
extern const char *const tf_moses_langs[]; /* "en", "de", "fr", NULL */

/* Words, given without it, whose full stop belongs to them; sorted. */
struct tf_moses_prefixes {
    struct tf_moses_prefix {
        char *word;
        bool before_numbers; /* only there */
        size_t order;        /* in the list: of equal words the last one counts */
    } * v;
    size_t n;
};
/* Those of Moses for a language. */
void tf_moses_prefixes_of(struct tf_moses_prefixes *p, enum tf_moses_lang lang);
/* Read a file in the format of Moses' nonbreaking_prefix files: a word a line, followed by
 * white space and "#NUMERIC_ONLY#" if it counts only before a number; lines that begin with # are
 * comments. Of a word that is listed twice, the last line counts. */
int tf_moses_prefixes_read(struct tf_moses_prefixes *p, const char *path,
                           struct tf_err *err) TF_MUST_CHECK;
void tf_moses_prefixes_release(struct tf_moses_prefixes *p);
bool tf_moses_keeps_stop(const struct tf_moses_prefixes *p, const char *word, bool before_number);

/* Zero-initialise and set the first two; reuse from line to line. */
struct tf_moses {
    enum tf_moses_lang lang;
    const struct tf_moses_prefixes *prefixes;
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

/* Append the line with Chinese and typographic marks and full-width digits replaced by ASCII. Moses
 * leaves the opening „, ‚ and ‘, though it replaces “, ” and ’: `opening` replaces these, too. */
void tf_moses_punctuation(struct tf_buf *out, struct tf_text line, bool opening);
/* Append the line with "##AT##-##AT##" for each hyphen between two bytes that are not white space.
 * Matches do not overlap: of a-b-c only the first hyphen is replaced. */
void tf_moses_compounds(struct tf_buf *out, struct tf_text line);
/* Replace t's tokens by the pieces of the line between ASCII white space. */
void tf_tokenize_ascii(struct tf_tokens *t, struct tf_text line);

#endif
