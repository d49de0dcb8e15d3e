/* hf_private.h - MarianMT and M2M100 (also NLLB) models of Hugging Face's transformers
 * (src/transformers/models/marian, m2m_100): their config.json and names become ours. */
#ifndef TF_MODEL_HF_PRIVATE_H
#define TF_MODEL_HF_PRIVATE_H

#include "convert/foreign_private.h"
#include "convert/positions_private.h"
#include "exchange/bundle.h"

/* Replace the tensors of *b by those of the configuration *c, under our names. json [n]: the
 * contents of config.json. The row of the padding id, the last, is left out if it is zero, as it is
 * where Marian's model was converted: Marian has no such id, and its embedding is the zero vector
 * with which a target begins. c->pad, c->bos are -1 then. *m2m: it is of M2M100, whose decoder
 * starts with eos, and whose positions count from 2. *guessed: the table of positions is t2t's
 * because of AUTO alone. *b is
 * changed in place, and its data may be used as they are. Errors: settings that the model cannot
 * express, all of them by their names; tensors that are missing, of another shape or left over. */
int tf_hf_import(struct tf_bundle *b, struct tf_config *c, const char *json, size_t n,
                 enum tf_stored_positions positions, bool *m2m, bool *guessed,
                 struct tf_err *err) TF_MUST_CHECK;

/* A model.safetensors, source.spm, target.spm, vocab.json and config.json. transformers takes a
 * stored table of positions for its own, and so computes what the model does. Its epsilon is always
 * 1e-5, so the weights multiply the residual stream (hf_scale_private.h); norm_eps and
 * residual_scale are keys that only we read. Where the decoder starts with a zero vector, the last
 * id is a padding id with that embedding, and with a bias that takes it out of the softmax. */
extern const struct tf_export_format tf_hf_format;

#endif
