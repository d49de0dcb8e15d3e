/* sp_check.h - .model files read without SentencePiece: what the library itself does not look at
 * before it trusts a vocabulary from a stranger, the text of the pieces, and what it does not tell
 * of them. */
#ifndef TF_TEXT_SP_CHECK_H
#define TF_TEXT_SP_CHECK_H

#include "base/arena.h"
#include "base/err.h"
#include <stdbool.h>
#include <stddef.h>

#define TF_MAX_PIECE ((size_t)4 << 10) /* bytes of a piece */
#define TF_MAX_PIECES ((size_t)1 << 22)

/* Are the n bytes of a .model file well-formed as a protocol buffer, its pieces of bounded size and
 * number, and its tables of normalisation closed in themselves: does no walk through the trie leave
 * it, and does every replacement end within its text? Anything else about it is for the library to
 * judge. */
int tf_sp_check(const void *bytes, size_t n, struct tf_err *err) TF_MUST_CHECK;

/* The texts of the pieces, by id, of a vocabulary that passes the check (which is made): UTF-8 in
 * memory of the arena; NULL for a piece whose text is not UTF-8 without NUL. */
int tf_sp_texts(struct tf_arena *a, const void *bytes, size_t n, const char *const **texts,
                size_t *n_texts, struct tf_err *err) TF_MUST_CHECK;

/* Which of the first `size` pieces, by id, are user-defined symbols; the bytes are of a vocabulary
 * that SentencePiece loads. */
void tf_sp_user_defined(const void *bytes, size_t n, bool *user, size_t size);

#endif
