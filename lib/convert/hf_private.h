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

/* What models of transformers have in common: the names of their tensors, which m->bundle gets ours
 * for; a bias on outputs, of which zeros are none; the files and pieces of M2M100 and its like. */
struct tf_names tf_hf_names(const struct tf_config *c);
int tf_hf_import_tensors(struct tf_import *m, struct tf_err *err) TF_MUST_CHECK;
bool tf_hf_has_output_bias(const struct tf_import *m);
int tf_hf_find_m2m_files(struct tf_import *m, struct tf_err *err) TF_MUST_CHECK;
/* import: reads settings and tensors. The vocabulary is this one's. */
typedef int tf_import_fn(struct tf_import *m, struct tf_err *err);
int tf_hf_read_m2m(struct tf_import *m, tf_import_fn *import, struct tf_err *err) TF_MUST_CHECK;

/* The same of what is written: the bias as [1, V]; in config.json the kind of the model and its
 * sizes, its dropout, and its search, as generate() has it, where outputs have no id `pad`. */
struct tf_export;
struct tf_json;
void tf_hf_reshape_bias(struct tf_bundle *b);
void tf_hf_put_sizes(struct tf_json *j, const struct tf_config *c, const char *type,
                     const char *class, int64_t vocab_size);
void tf_hf_put_dropout(struct tf_json *j, const struct tf_config *c);
void tf_hf_put_generation(struct tf_json *j, const struct tf_export *e, int64_t pad);

#endif
