/* normal_private.h - normalises text as a SentencePiece model says, without the library, which also
 * notes where each byte comes from: the same bytes. */
#ifndef TF_TEXT_NORMAL_PRIVATE_H
#define TF_TEXT_NORMAL_PRIVATE_H

#include "base/buf.h"
#include "text/piece_trie_private.h"
#include "text/sp_charsmap_private.h"

struct tf_normal {
    struct tf_charsmap map;
    const struct tf_piece_trie *user; /* user-defined symbols, which stay as they are */
    bool has_user;
    bool prefix;      /* begin with a space ... */
    bool suffix;      /* ... or end with one, as the vocabulary's words do */
    bool single;      /* leave out spaces at both ends and after other spaces */
    bool escape;      /* write spaces as U+2581 */
    bool splits;      /* TF_WHITE_SPLITS */
    bool begins;      /* TF_WHITE_BEGINS */
    bool plain[0x80]; /* stays as it is, if no byte from 0x80 follows */
};

/* Read the rules from the bytes of a .model file that tf_sp_check accepts. The bytes and `user`,
 * which may have no pieces, are borrowed. */
void tf_normal_read(struct tf_normal *m, const void *bytes, size_t n,
                    const struct tf_piece_trie *user);
/* Append valid UTF-8 as normalised. */
void tf_normalise(const struct tf_normal *m, const char *s, size_t n, struct tf_buf *out);
/* Append valid UTF-8 so that the library, which has neither `splits` nor `begins`, normalises it
 * as tf_normalise does. */
void tf_normal_white(const struct tf_normal *m, const char *s, size_t n, struct tf_buf *out);

#endif
