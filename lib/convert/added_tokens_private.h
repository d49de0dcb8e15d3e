/* added_tokens_private.h - the tokens that transformers adds to the pieces of a segmenter, with ids
 * of their own: those that a user added for fine-tuning, and tags of languages
 * (src/transformers/tokenization_utils_base.py, tokenization_python.py). */
#ifndef TF_CONVERT_ADDED_TOKENS_PRIVATE_H
#define TF_CONVERT_ADDED_TOKENS_PRIVATE_H

#include "convert/import_private.h"

/* Put into m->pieces[0], at their ids, and mark in m->added (left alone if there are none) the
 * tokens of added_tokens.json ({"text": id}) and of tokenizer_config.json ("added_tokens_decoder":
 * {"id": {"content": "text"}}) of m->dir, where m->files.pieces are those of the directory. They
 * take precedence over pieces, as there; ids between that have no piece are <unused-N>. A token
 * whose id the model has not is left out with a warning. Errors: what is not of this form. */
int tf_added_tokens_read(struct tf_import *m, struct tf_err *err) TF_MUST_CHECK;

/* Is it </s>, <unk>, <s> or <pad>, which the list has already, or transformers alone? */
bool tf_added_is_own(const char *text);
/* What lstrip, rstrip and single_word of a token say: flags of text/added.h, in the rules of
 * tokenizers (or of transformers itself). -1: one is not of its kind. */
int tf_added_flags(const struct tf_value *token, bool tokenizers, struct tf_err *err) TF_MUST_CHECK;

#endif
