/* sp_piece.h - the pieces of a SentencePiece model. */
#ifndef TF_TEXT_SP_PIECE_H
#define TF_TEXT_SP_PIECE_H

#include <string.h>

#define TF_SPACE "\xe2\x96\x81" /* U+2581, what a space becomes */

/* The bytes of the TF_SPACE that these begin with, or 0. */
static inline size_t tf_piece_space(const char *p, size_t n)
{
    const size_t space = sizeof TF_SPACE - 1;
    return n >= space && memcmp(p, TF_SPACE, space) == 0 ? space : 0;
}

/* types of pieces */
enum {
    TF_PIECE_NORMAL = 1,
    TF_PIECE_UNKNOWN,
    TF_PIECE_CONTROL,
    TF_PIECE_USER_DEFINED,
    TF_PIECE_UNUSED,
    TF_PIECE_BYTE
};

/* Properties of a token that was added to a vocabulary (added.h); 0: it is none. */
enum {
    TF_ADDED = 1,
    TF_ADDED_LSTRIP = 2, /* white space before it belongs to it */
    TF_ADDED_RSTRIP = 4, /* and after it */
    TF_ADDED_ALONE = 8, /* between spaces, or the ends; else it, and a token that it touches, are
                           text */
    TF_ADDED_WORD = 16, /* with no character of a word at either side; else it is text */
    TF_ADDED_KEEPS = 32, /* a space that is left before it is a piece of its own */
    TF_ADDED_SINGLE = 64, /* only a single space belongs to it, since several are no white space */
    TF_ADDED_SPACED = 128, /* its own text, where ids become text, has a space before it */
    TF_ADDED_FIRST = 256   /* a tag of a language, >>fra<<, which is one only where a text, or what
                              another token leaves of it, begins; so is a tag that is not there, for
                              which the unknown piece stands */
};

/* Rules for white space, of tokenizers. */
enum {
    TF_WHITE_STRIPS = 1, /* what the normalisation leaves is dropped at the end of a text */
    TF_WHITE_SPLITS = 2, /* or is a space everywhere */
    TF_WHITE_BEGINS = 4  /* a space at the start of a text is part of its first piece, though none
                            is added there */
};

#endif
