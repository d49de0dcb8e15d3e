/* hf_dir_private.h - the files of a model in a directory of Hugging Face's transformers. */
#ifndef TF_CONVERT_HF_DIR_PRIVATE_H
#define TF_CONVERT_HF_DIR_PRIVATE_H

#include "convert/import_private.h"

/* Set m->files.weights, and more, to model.safetensors, pytorch_model.bin, or the files that
 * model.safetensors.index.json or pytorch_model.bin.index.json names. Read m->tokenizer. Errors
 * also: a config.json or tokenizer_config.json that cannot be read, or a model_type without a row.
 */
int tf_hf_find_weights(struct tf_import *m, struct tf_err *err) TF_MUST_CHECK;

#endif
