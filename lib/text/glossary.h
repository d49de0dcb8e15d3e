/* glossary.h - terms and their translations, from a text file: on each line a term, a tab and its
 * translation; further fields are left out (infer/terms_private.h has a use for them).
 *
 * A text has a term where it has its characters between edges of words (tf_is_word_edge), with one
 * space for white space. A term in lower case stands for itself in any case, another as it is. Of
 * terms that overlap the first counts, of those the longest, of these the one as it is. */
#ifndef TF_TEXT_GLOSSARY_H
#define TF_TEXT_GLOSSARY_H

#include "base/arena.h"
#include "base/err.h"
#include "text/text_table_private.h"

/* Terms, each with a number: two trees, of those in lower case and of others, whose nodes are the
 * words and signs with which terms begin. Zero-initialise. */
struct tf_term_set {
    struct tf_arena mem;
    struct tf_text_table steps; /* from a node by a word or sign: the next node */
    uint32_t *number;           /* of the term that ends at a node, or TF_NO_TEXT */
    size_t n, cap;
};

/* Add a term (tf_plain_phrase). Returns -1, or the number of the same term that is there, which
 * stays. */
int64_t tf_term_set_add(struct tf_term_set *s, struct tf_text term, uint32_t number);
/* The bytes of the longest term at text.p[at], and its number; 0: there is none. *as_is: it stands
 * for itself as it is. text: checked UTF-8. */
size_t tf_term_set_find(const struct tf_term_set *s, struct tf_text text, size_t at,
                        uint32_t *number, bool *as_is);
void tf_term_set_release(struct tf_term_set *s);

struct tf_glossary;

/* Add a term to *g, which is made where it is NULL. Errors: no term or no translation; it is there
 * already. Both are checked UTF-8. */
int tf_glossary_add(struct tf_glossary **g, struct tf_text term, struct tf_text translation,
                    struct tf_err *err) TF_MUST_CHECK;
/* Errors name the line: no term or no translation, a term that is there twice, not UTF-8. */
int tf_glossary_read(struct tf_glossary **g, const char *path, struct tf_err *err) TF_MUST_CHECK;
void tf_glossary_free(struct tf_glossary *g);          /* may be NULL */
size_t tf_glossary_terms(const struct tf_glossary *g); /* how many it has */

struct tf_glossary_term {
    struct tf_text translation;
    bool as_is; /* the term stands for itself as it is */
};

/* The bytes of the longest term at s.p[at]; 0: there is none. s: checked UTF-8. */
size_t tf_glossary_find(const struct tf_glossary *g, struct tf_text s, size_t at,
                        struct tf_glossary_term *term);

/* What of a text a model sees a name of (placeholders_private.h). */
struct tf_hide {
    bool addresses;                     /* URLs, variables and others */
    const struct tf_glossary *glossary; /* or NULL */
};

#endif
