/* marian_private.h - models of Marian (github.com/marian-nmt/marian-dev): its settings and
 * the names of its parameters become ours. */
#ifndef TF_MODEL_MARIAN_PRIVATE_H
#define TF_MODEL_MARIAN_PRIVATE_H

#include "convert/foreign_private.h"
#include "exchange/bundle.h"

/* Is it one? It has the tensor "special:model.yml". */
bool tf_marian_is(const struct tf_bundle *b);

enum tf_marian_vocabs {
    TF_MARIAN_ONE_GIVEN, /* nothing is known of the targets' */
    TF_MARIAN_ONE,
    TF_MARIAN_TWO, /* their ids are not the same */
};

struct tf_marian_vocab {
    const void *p;
    size_t n;
};

/* Replace the tensors of *b by those of the configuration *c, under our names; data that are used
 * as they are stay where they were. vocab: the SentencePiece models of sources and of targets (n 0:
 * the same), which have the ids of </s> and <unk>; *unk is the latter's, among targets. Errors:
 * settings that the model cannot express, all of them by Marian's names; vocabularies that are not
 * those of its embeddings; tensors that are missing, of another shape, or left over.
 *
 * The model computes Marian's own function: x = E[id] sqrt(D) + PE, t2t's table of sinusoids,
 * biases everywhere, LayerNorm with epsilon 1e-6, a zero vector as the decoder's first input. */
int tf_marian_import(struct tf_bundle *b, struct tf_config *c, int64_t *unk,
                     const struct tf_marian_vocab vocab[2], enum tf_marian_vocabs vocabs,
                     struct tf_err *err) TF_MUST_CHECK;

/* A model.npz, which includes the settings, and a decoder.yml that names it and vocab.spm. */
extern const struct tf_export_format tf_marian_format;

#endif
