/* bart_private.h - BART and mBART-50 models of Hugging Face's transformers
 * (src/transformers/models/bart, mbart, mbart50). */
#ifndef TF_CONVERT_BART_PRIVATE_H
#define TF_CONVERT_BART_PRIVATE_H

#include "convert/program_private.h"

/* A directory has config.json, model.safetensors or pytorch_model.bin. BART: vocab.json, whose
 * pieces are bytes that no segmenter here makes: such a model has no vocabulary unless the user
 * gives it one, and reads streams of ids. mBART-50: sentencepiece.bpe.model with
 * special_tokens_map.json, or tokenizer.json, as NLLB. The decoder starts with eos. The first two
 * rows of the tables of positions are those of no position. */
extern const struct tf_program tf_bart, tf_mbart;

#endif
