/* piece_list.h - the pieces of a vocabulary by id, as other programs have them in text files: YAML
 * of Marian, a line `piece: id` each; JSON, an object of piece and id or an array of pieces; or
 * plain text, a piece a line. The first bytes decide which. */
#ifndef TF_TEXT_PIECE_LIST_H
#define TF_TEXT_PIECE_LIST_H

#include "base/arena.h"
#include "base/err.h"
#include <stddef.h>

/* texts [n], UTF-8 as in the file, in the arena. Errors name the path: a file that cannot be read
 * or is none of these; an id that is no number, beyond the number of pieces, or there twice (so
 * that none is missing). */
int tf_piece_list_read(const char *const **texts, size_t *n, struct tf_arena *a, const char *path,
                       struct tf_err *err) TF_MUST_CHECK;

#endif
