/* sp_json.h - a vocabulary as tokenizer.json, the form of the library tokenizers, in which
 * transformers reads what a SentencePiece model cannot say. */
#ifndef TF_TEXT_SP_JSON_H
#define TF_TEXT_SP_JSON_H

#include "base/buf.h"
#include "base/err.h"
#include "text/piece_list.h"

#include <stdbool.h>
#include <stddef.h>

/* Is a space at the end of a text a piece? Of a vocabulary that tf_sp_check accepts, as below. */
bool tf_sp_ends(const void *bytes, size_t n);
/* Has it this rule for white space or others that SentencePiece has not, those of a tokenizer.json?
 * Has it codes that split words (bpe_codes.h)? */
bool tf_sp_white(const void *bytes, size_t n);
bool tf_sp_splits(const void *bytes, size_t n);
/* Append the tokenizer.json of a unigram model in which several spaces are one, also at the ends of
 * a text; pieces have the texts of the list, and those that are not normal are special. Errors:
 * another model. */
int tf_sp_put_json(struct tf_buf *out, const void *bytes, size_t n,
                   const struct tf_piece_list *list, struct tf_err *err) TF_MUST_CHECK;

#endif
