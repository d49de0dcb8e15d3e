/* new_vocab_private.h - another vocabulary for a trained model (tf-convert --new-vocab). */
#ifndef TF_CONVERT_NEW_VOCAB_PRIVATE_H
#define TF_CONVERT_NEW_VOCAB_PRIVATE_H

#include "convert/conversion_private.h"

/* Let a model of ours, whose tensors are known (m->v), have the vocabulary of a file: the rows of
 * pieces with equal text are those of before, the others are as in a new model: normal with
 * standard deviation D^-0.5, in biases 0; their random numbers are those of their ids. Special ids
 * are those of the pieces that had them. */
int tf_new_vocab(struct tf_conversion *m, const char *path, struct tf_err *err) TF_MUST_CHECK;

#endif
