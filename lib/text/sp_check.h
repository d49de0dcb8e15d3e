/* sp_check.h - reads .model files without SentencePiece: checks that the library does not make
 * before it trusts a file, and the text of the pieces. */
#ifndef TF_TEXT_SP_CHECK_H
#define TF_TEXT_SP_CHECK_H

#include "base/arena.h"
#include "base/err.h"
#include "text/text.h"
#include <stdint.h>

#define TF_MAX_PIECE ((size_t)2 << 10) /* bytes of a piece */
#define TF_MAX_PIECES ((size_t)1 << 22)

/* Check that the n bytes of a .model file are a well-formed protocol buffer, that the pieces, the
 * added tokens and the text that unknown pieces become are of bounded size and number, the pieces
 * with text and without NUL and their scores finite, the added tokens UTF-8, and the normalisation
 * tables (sp_charsmap_private.h).
 * Loading (sp.h) checks the rest. */
int tf_sp_check(const void *bytes, size_t n, struct tf_err *err) TF_MUST_CHECK;

/* Check a vocabulary, and get the texts of its pieces by id: UTF-8 in memory of the arena, NULL for
 * a piece that is not UTF-8. */
int tf_sp_texts(struct tf_arena *a, const void *bytes, size_t n, const char *const **texts,
                size_t *n_texts, struct tf_err *err) TF_MUST_CHECK;

/* The pieces of a vocabulary by their text; one that is not UTF-8 has none. */
struct tf_sp_index {
    struct tf_sp_entry {
        struct tf_text text;
        uint32_t id;
    } *v;
    size_t n;
};
/* Check a vocabulary, and list its pieces in memory of the arena. */
int tf_sp_index(struct tf_sp_index *x, struct tf_arena *a, const void *bytes, size_t n,
                struct tf_err *err) TF_MUST_CHECK;
/* The id of the piece with that text, of several the least; -1: none. */
int64_t tf_sp_find(const struct tf_sp_index *x, struct tf_text text);

/* The id of the piece with that text in a vocabulary that tf_sp_check accepts; -1: none. */
int64_t tf_sp_id(const void *bytes, size_t n, const char *text);

#endif
