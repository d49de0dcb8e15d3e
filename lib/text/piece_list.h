/* piece_list.h - the pieces of a vocabulary by id, as other programs have them in text files: YAML
 * of Marian, a line `piece: id` each; JSON, an object of piece and id or an array of pieces; or
 * plain text, a piece a line. Names that end in .yml, .yaml, .json or .txt, also before .gz, decide
 * which; with others, the first entry. */
#ifndef TF_TEXT_PIECE_LIST_H
#define TF_TEXT_PIECE_LIST_H

#include "base/arena.h"
#include "base/err.h"
#include <stddef.h>
#include <stdint.h>

struct tf_piece_list {
    const char *const *v;
    size_t n;
};

/* The pieces, UTF-8 as in the file, in the arena. Errors name the path: a file that cannot be read
 * or is none of these; an id that is no number, beyond the number of pieces, or there twice (so
 * that none is missing). */
int tf_piece_list_read(struct tf_piece_list *list, struct tf_arena *a, const char *path,
                       struct tf_err *err) TF_MUST_CHECK;
/* The text of an id that no piece has: <unused-ID>. */
const char *tf_piece_unused(struct tf_arena *a, size_t id);
/* The id of a piece, or -1. */
int64_t tf_piece_list_id(const struct tf_piece_list *list, const char *piece);

#endif
