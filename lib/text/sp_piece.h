/* sp_piece.h - the pieces of a SentencePiece model. */
#ifndef TF_TEXT_SP_PIECE_H
#define TF_TEXT_SP_PIECE_H

#define TF_SPACE "\xe2\x96\x81" /* U+2581, what a space becomes */

/* types of pieces */
enum {
    TF_PIECE_NORMAL = 1,
    TF_PIECE_UNKNOWN,
    TF_PIECE_CONTROL,
    TF_PIECE_USER_DEFINED,
    TF_PIECE_UNUSED,
    TF_PIECE_BYTE
};

#endif
