/* sp_charsmap_private.h - checks of the normalisation tables in vocabularies: a darts-clone trie of
 * texts and the texts that replace them. */
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

#endif
