/* links.h - the alignment of a record (formats/tokens.md) as text: links of words in the
 * form of Pharaoh, "0-0 1-2" (source-target, from 0), or weights, by Marian's rules.
 *
 * Words are what spaces separate in the text of a side. A piece is part of the word in which its
 * first character that is no space stands; a piece of spaces alone, of the word that follows. Among
 * sources an unknown piece is part of the word around it, among targets it is a word, as
 * tf_sp_decode writes it. Control pieces and the end are part of none. The weight of a source word
 * for a target word is the mean over the pieces of the latter of the sum over those of the former
 * (K. Clark et al., What Does BERT Look at?, 2019, section 4.1).
 *
 * Without words, pieces and the end count, as in Marian. */
#ifndef TF_TEXT_LINKS_H
#define TF_TEXT_LINKS_H

#include "text/vocab.h"

struct tf_links {
    bool soft;    /* weights: commas between sources, spaces between targets */
    double above; /* hard: links of a weight above this; 1: of the largest of each target */
    bool pieces;  /* and no words */
    bool unknown; /* hard: after the links "?WORD:BEFORE:AFTER" for each source word with unknown
                   * pieces: bytes of known ones before the first and after the last of these; then
                   * "=TEXT" for each run of known ones between */
};

/* Set soft and above from "hard", "soft" or a threshold from 0 to 1; a usage error otherwise. */
int tf_links_parse(struct tf_links *l, const char *word, struct tf_err *err) TF_MUST_CHECK;

struct tf_aligned {
    const uint32_t *ids, *source; /* n, n_source */
    size_t n, n_source;
    const float *weights; /* [n + 1, n_source or one more], or none if n_source is 0 */
    size_t n_weights;
};

/* Append the alignment. The largest weight counts among all columns, that of the end included (of
 * equal ones the first): a word that attends most to the end has no link. Ids of targets are those
 * of the vocabulary. Errors: a number of weights that does not fit, a source beyond the vocabulary.
 */
int tf_links_put(struct tf_buf *out, const struct tf_links *l, const struct tf_vocab *v,
                 const struct tf_aligned *a, struct tf_err *err) TF_MUST_CHECK;

/* Read a number of hard links at *p, and the sign after it if that is no space. A number that is
 * not less than `most` gives some number that is not. */
static inline size_t tf_links_number(const char **p, const char *end, size_t most)
{
    size_t x = 0;
    for (; *p < end && **p >= '0' && **p <= '9'; ++*p)
        x = x < most ? 10 * x + (size_t)(**p - '0') : x;
    *p += *p < end && **p != ' ';
    return x;
}

#endif
