/* segmenters_private.h - the vocabularies of a model that is read: SentencePiece models whose ids
 * are those of the model. */
#ifndef TF_CONVERT_SEGMENTERS_PRIVATE_H
#define TF_CONVERT_SEGMENTERS_PRIVATE_H

#include "convert/import_private.h"

/* Read m->files.codes, if there is no m->files.vocab that splits text. */
int tf_import_codes(struct tf_import *m, struct tf_err *err) TF_MUST_CHECK;
/* Make m->segmenter of m->files.vocab, with the ids of m->pieces if there are any. Without vocab
 * they have the words of these lists, which m->codes split. */
int tf_import_segmenters(struct tf_import *m, struct tf_err *err) TF_MUST_CHECK;
/* Make m->segmenter of m->files.tokenizer, and m->pieces[0]. */
int tf_import_tokenizer(struct tf_import *m, struct tf_err *err) TF_MUST_CHECK;
/* Read m->files.pieces, if there are any. */
int tf_import_pieces(struct tf_import *m, struct tf_err *err) TF_MUST_CHECK;
/* Make m->pieces[0] as long as m->config.vocab_size, with <unused-N>. Errors: it is longer. */
int tf_import_pad_pieces(struct tf_import *m, struct tf_err *err) TF_MUST_CHECK;
bool tf_import_same_pieces(const struct tf_import *m); /* Are both lists the same? */
/* Where both lists are the same, make them one, and m->config.source_vocab_size 0. what: of which
 * there are two, for the error about a model with one matrix of embeddings. */
int tf_import_one_list(struct tf_import *m, const char *name, const char *what,
                       struct tf_err *err) TF_MUST_CHECK;
/* Check m->segmenter: ids that the model has, and special pieces where it has them. name, and
 * config_name of a hash in the header: for messages. */
int tf_import_check_vocab(const struct tf_import *m, const char *name, const char *config_name,
                          struct tf_err *err) TF_MUST_CHECK;
#endif
