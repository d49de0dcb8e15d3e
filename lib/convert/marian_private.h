/* marian_private.h - models of Marian (github.com/marian-nmt/marian-dev). */
#ifndef TF_CONVERT_MARIAN_PRIVATE_H
#define TF_CONVERT_MARIAN_PRIVATE_H

#include "convert/program_private.h"

/* A directory (OPUS-MT, Firefox, Bergamot) has the model and the vocabularies that decoder.yml or
 * config*.yml names, or the only .npz or .bin with source.spm and target.spm, srcvocab.*.spm and
 * trgvocab.*.spm, or the only .spm; where the vocabularies are lists (.yml), source.spm and
 * target.spm beside them. What is written is a model.npz, which includes the settings, and a
 * decoder.yml that names it and vocab.spm. */
extern const struct tf_program tf_marian;

bool tf_marian_is(const struct tf_import *m); /* Is there a tensor "special:model.yml"? */
/* Settings and tensors of m->bundle; m->segmenter are set. The model computes Marian's own
 * function: x = E[id] sqrt(D) + PE, t2t's table of sinusoids, biases everywhere, LayerNorm with
 * epsilon 1e-6, a zero vector as the decoder's first input. Errors also: vocabularies that are not
 * those of its embeddings. */
int tf_marian_import(struct tf_import *m, struct tf_err *err) TF_MUST_CHECK;

#endif
