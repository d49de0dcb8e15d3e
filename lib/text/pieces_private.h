/* pieces_private.h - the pieces of a vocabulary by their text: what segmenting and sampling need.
 */
#ifndef TF_TEXT_PIECES_PRIVATE_H
#define TF_TEXT_PIECES_PRIVATE_H

#include "text/piece_trie_private.h"
#include "text/sp.h"

struct tf_pieces {
    const struct tf_sp *sp;
    struct tf_piece_trie user; /* user-defined symbols; not built if there are none */
    struct tf_piece_trie all;  /* with the normal pieces; the score of a user-defined one is NAN */
    struct tf_piece_trie back; /* all from the last byte to the first; empty without `back` */
    bool unigram, has_user, joins_unknown;
    float least, most; /* scores of normal pieces; FLT_MAX and FLT_MIN if there are none */
    uint32_t unk, byte_id[256];
};

/* sp is borrowed, and has an unknown piece. False: the pieces are too many for a trie
 * (tf_piece_trie_build); to be released then, too. */
bool tf_pieces_load(struct tf_pieces *v, const struct tf_sp *sp, bool back);
void tf_pieces_release(struct tf_pieces *v);

/* The length of the longest user-defined symbol that the text begins with, and its id; or 0. */
static inline size_t tf_pieces_user(const struct tf_pieces *v, const char *p, size_t n,
                                    uint32_t *id)
{
    return v->has_user ? tf_piece_longest(&v->user, p, n, id) : 0;
}

/* The length of the character that text begins with, as the library has it. */
static inline size_t tf_pieces_char(const char *p, size_t n)
{
    const unsigned char c = (unsigned char)*p;
    const size_t len = c < 0xc0 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
    return len < n ? len : n;
}

/* Append what becomes of an unknown character. */
void tf_pieces_unknown(const struct tf_pieces *v, const char *p, size_t n, struct tf_ids *ids);

#endif
