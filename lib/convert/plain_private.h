/* plain_private.h - models of ours in the files of others, safetensors and npz: every file is one
 * that no program claims. */
#ifndef TF_CONVERT_PLAIN_PRIVATE_H
#define TF_CONVERT_PLAIN_PRIVATE_H

#include "convert/program_private.h"

extern const struct tf_program tf_plain;

/* Fail if there are options for the ids of other programs. */
int tf_plain_refuse_ids(const struct tf_import *m, struct tf_err *err) TF_MUST_CHECK;
/* The vocabulary of a model of ours is --vocab's, if there is one. name: of the model. */
int tf_plain_vocab(struct tf_import *m, const char *name, struct tf_err *err) TF_MUST_CHECK;

#endif
