/* hf_private.h - MarianMT models of Hugging Face's transformers (src/transformers/models/marian),
 * and the names of tensors that its models have in common. */
#ifndef TF_CONVERT_HF_PRIVATE_H
#define TF_CONVERT_HF_PRIVATE_H

#include "convert/names_private.h"
#include "convert/program_private.h"

/* A directory has config.json, model.safetensors or pytorch_model.bin, source.spm, target.spm,
 * vocab.json. The row of the padding id, the last, is left out if it is zero, as it is where
 * Marian's model was converted: Marian has no such id, and its embedding is the zero vector with
 * which a target begins.
 *
 * In what is written transformers takes a stored table of positions for its own, and so computes
 * what the model does. Its epsilon is always 1e-5, so the weights multiply the residual stream
 * (hf_scale_private.h); norm_eps and residual_scale are keys that only we read. Where the decoder
 * starts with a zero vector, the last id is a padding id with that embedding, and with a bias that
 * takes it out of the softmax. */
extern const struct tf_program tf_marian_mt;

/* M2M100 and NLLB (src/transformers/models/m2m_100): the same with sentencepiece.bpe.model, with
 * vocab.json (M2M100 only), and with special_tokens_map.json or tokenizer_config.json; or, of
 * transformers 5, with tokenizer.json. The decoder starts with eos, and positions count from 2. */
extern const struct tf_program tf_m2m100;

#endif
