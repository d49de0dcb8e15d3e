/* sp_charsmap_private.h - the normalisation tables in vocabularies, a darts-clone trie of texts and
 * the texts that replace them: checks, and use. */
#ifndef TF_TEXT_SP_CHARSMAP_PRIVATE_H
#define TF_TEXT_SP_CHARSMAP_PRIVATE_H

#include "base/err.h"
#include "text/sp_proto_private.h"

/* The longest replacement, also for each byte that it replaces. A space counts as 3 bytes, as which
 * SentencePiece writes it. Of the tables that it contains, the worst makes 39 bytes of 3 (U+FDFA).
 */
#define TF_MAX_REPLACEMENT ((size_t)1 << 10)
#define TF_MAX_GROWTH ((size_t)16)
#define TF_MAX_KEY ((size_t)256) /* bytes that one replacement replaces */

/* Check that no lookup leaves the table, neither the trie nor the replacements, that each lookup
 * ends after at most TF_MAX_KEY bytes with no more results than the library has room for, and that
 * the replacements are within the limits. An empty table is good. */
int tf_charsmap_check(struct tf_span table, struct tf_err *err) TF_MUST_CHECK;

struct tf_charsmap {
    struct tf_span trie;
    const char *texts; /* NULL: the table is empty */
    size_t root;
};

/* Of a table that tf_charsmap_check accepts, which is borrowed. */
void tf_charsmap_open(struct tf_charsmap *m, struct tf_span table);
/* The bytes of the longest text in the table that s begins with, and what replaces it; 0: none. */
size_t tf_charsmap_find(const struct tf_charsmap *m, const char *s, size_t n, const char **text);
/* Whether no text in the table is c alone, or begins with c and a byte below 0x80. */
bool tf_charsmap_leaves(const struct tf_charsmap *m, unsigned char c);

#endif
