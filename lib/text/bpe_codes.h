/* bpe_codes.h - the codes of byte-pair encoding, as subword-nmt and fastBPE learn them: merges of
 * two symbols each, by rank. A word is split into characters and a mark of its end, and of all
 * neighbours that have a merge those of the least rank become one symbol, until none has. Source:
 * Sennrich, Haddow and Birch, "Neural Machine Translation of Rare Words with Subword Units", ACL
 * 2016. */
#ifndef TF_TEXT_BPE_CODES_H
#define TF_TEXT_BPE_CODES_H

#include "base/err.h"
#include <stdbool.h>
#include <stddef.h>

#define TF_BPE_END "</w>"     /* the mark of a word's end, in symbols */
#define TF_BPE_CONTINUES "@@" /* ends a piece that another one of its word follows */

struct tf_bpe_codes {
    const char *lines; /* n bytes by rank: a symbol, a space, a symbol, a line feed. NULL: none */
    size_t n;
    bool end_alone;     /* the mark is a symbol of its own (version 0.1), else joined to the last
                         * character of the word */
    bool end_in_pieces; /* the last piece of a word ends in the mark, else all others in @@ */
};

/* Check that codes can be those of a learner. Errors: bytes that are not UTF-8, a symbol that is
 * neither a character nor what an earlier merge makes, more than TF_MAX_PIECES merges. Of a merge
 * that is there twice the first counts, as in subword-nmt; with end_in_pieces the last, as in
 * transformers' FSMT. */
int tf_bpe_codes_check(const struct tf_bpe_codes *codes, struct tf_err *err) TF_MUST_CHECK;

#endif
