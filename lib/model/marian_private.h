/* marian_private.h - models of Marian (github.com/marian-nmt/marian-dev): its settings and
 * the names of its parameters become ours. */
#ifndef TF_MODEL_MARIAN_PRIVATE_H
#define TF_MODEL_MARIAN_PRIVATE_H

#include "exchange/bundle.h"
#include "model/config.h"

/* Is it one? It has the tensor "special:model.yml". */
bool tf_marian_is(const struct tf_bundle *b);

/* Replace the tensors of *b by those of the configuration *c, under our names; data that are used
 * as they are stay where they were. vocab [n]: the SentencePiece model of both sides, which has the
 * ids of </s> and <unk>; *unk is the latter's. Errors: settings that the model cannot express, all
 * of them by Marian's names; tensors that are missing, of another shape, or left over.
 *
 * The model computes Marian's own function: x = E[id] sqrt(D) + PE, t2t's table of sinusoids,
 * biases everywhere, LayerNorm with epsilon 1e-6, a zero vector as the decoder's first input. */
int tf_marian_import(struct tf_bundle *b, struct tf_config *c, int64_t *unk, const void *vocab,
                     size_t vocab_n, struct tf_err *err) TF_MUST_CHECK;

#endif
