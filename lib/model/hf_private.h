/* hf_private.h - MarianMT models of Hugging Face's transformers
 * (src/transformers/models/marian): their config.json and names become ours. */
#ifndef TF_MODEL_HF_PRIVATE_H
#define TF_MODEL_HF_PRIVATE_H

#include "exchange/bundle.h"
#include "model/config.h"

/* Which function the model computes. transformers adds another table of positions than Marian, with
 * which these models were trained, and another epsilon: a model is exactly Marian's (T2T, the
 * default), or exactly what transformers computes (HALVES), for one that was trained there. */
enum tf_hf_positions { TF_HF_AUTO, TF_HF_T2T, TF_HF_HALVES }; /* tf_hf_position_words */

/* Replace the tensors of *b by those of the configuration *c, under our names. json [n]: the
 * contents of config.json. The row of the padding id, the last, is left out if it is zero, as it is
 * where Marian's model was converted: Marian has no such id, and its embedding is the zero vector
 * with which a target begins. c->pad, c->bos are -1 then. *b is changed in place, and its data may
 * be used as they are. Errors: settings that the model cannot express, all of them by their names;
 * tensors that are missing, of another shape or left over. */
int tf_hf_import(struct tf_bundle *b, struct tf_config *c, const char *json, size_t n,
                 enum tf_hf_positions positions, struct tf_err *err) TF_MUST_CHECK;

#endif
