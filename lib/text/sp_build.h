/* sp_build.h - a SentencePiece model from its pieces, as another format has them. */
#ifndef TF_TEXT_SP_BUILD_H
#define TF_TEXT_SP_BUILD_H

#include "base/buf.h"
#include "text/sp_piece.h"

#include <stdbool.h>

struct tf_sp_build {
    bool bpe;                       /* or a unigram model */
    bool add_space;                 /* before a text */
    bool single_spaces;             /* several become one, none at its ends */
    bool ends;                      /* a space at the end of a text, or before an added token, is a
                                       piece */
    unsigned white;                 /* flags of sp_piece.h */
    const struct tf_buf *charsmap;  /* precompiled, or empty */
};

/* Append a piece, the next by id. */
void tf_sp_build_piece(struct tf_buf *out, const char *text, float score, int type);
/* Append the rest of a model. */
void tf_sp_build_settings(struct tf_buf *out, const struct tf_sp_build *b);

#endif
