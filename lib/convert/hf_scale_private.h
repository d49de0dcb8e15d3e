/* hf_scale_private.h - another epsilon for the layer norms of transformers, which is always 1e-5.
 * LayerNorm of s x with epsilon e is that of x with e / s^2. So the weights multiply the residual
 * stream by s, from the first norm of each stack to its last one, and the function stays the same
 * with an epsilon of 1e-5 / s^2. Embeddings and positions keep theirs: transformers leaves the
 * positions out of what it saves, and computes them again when it loads that. Learned ones are lost
 * then anyway, and their sums may be small; so with them s begins with the embeddings, and where
 * these are also the output projection, the last norm of the decoder is divided by s. */
#ifndef TF_CONVERT_HF_SCALE_PRIVATE_H
#define TF_CONVERT_HF_SCALE_PRIVATE_H

#include "base/arena.h"
#include "model/params.h"
#include "stream/model.h"

#define TF_HF_NORM_EPS 1e-5
#define TF_HF_MOST_SCALE 256.0 /* what half precision has room for; the least is its inverse */

/* s for the epsilon of a model, a power of two: a weight times s and divided by it has the bits it
 * had. Not for weights in f16, which has no room for smaller ones. */
double tf_hf_scale_for(const struct tf_config *c);
/* Multiply the residual stream of a post-norm model by s: v[i] is the parameter p->v[i], and has
 * other data, in the arena, where it changes. */
int tf_hf_scale(struct tf_tensor *v, const struct tf_params *p, const struct tf_config *c, double s,
                struct tf_arena *a, struct tf_err *err) TF_MUST_CHECK;

#endif
