/* added_tokens_private.h - the tokens that transformers adds to the pieces of a segmenter, with ids
 * of their own: those that a user added for fine-tuning, and tags of languages
 * (src/transformers/tokenization_utils_base.py, tokenization_python.py). */
#ifndef TF_MODEL_ADDED_TOKENS_PRIVATE_H
#define TF_MODEL_ADDED_TOKENS_PRIVATE_H

#include "text/piece_list.h"

#include <stdbool.h>

/* Put into *list, at their ids, and mark in *is_added (by id; left alone if there are none) the
 * tokens of added_tokens.json (a path: {"text": id}) and of tokenizer_config.json (a path:
 * "added_tokens_decoder": {"id": {"content": "text"}}); NULL: no such file. They take precedence
 * over pieces, as there; ids between that have no piece are <unused-N>. A token whose id is not
 * below `size`, the model's, is left out with a warning. Errors name the path: what is not of this
 * form. */
int tf_added_tokens_read(struct tf_piece_list *list, const bool **is_added, struct tf_arena *a,
                         const char *added, const char *config, int64_t size,
                         struct tf_err *err) TF_MUST_CHECK;

#endif
