/* sublayers_private.h - self-attention, cross-attention and feed-forward of one layer, for stack.c;
 * and the products with weights that they are made of. */
#ifndef TF_MODEL_SUBLAYERS_PRIVATE_H
#define TF_MODEL_SUBLAYERS_PRIVATE_H

#include "model/acts_private.h"

/* y [R, N] = x w + b, with the packed weights where they exist and no gradient is required. */
void tf_linear_fwd(struct tf_work *k, tf_mem *y, const tf_mem *x, int w, int b,
                   const struct tf_stack_acts *side, unsigned flags, struct tf_dropout dropout);
/* Overwrites dx (with TF_LIN_ADD_DX: adds to it) and the gradients of w and b. */
void tf_linear_bwd(struct tf_work *k, tf_mem *dx, tf_mem *dy, const tf_mem *x, int w, int b,
                   const struct tf_stack_acts *side, unsigned flags, struct tf_dropout dropout);

enum tf_sublayer { TF_SUBLAYER_SELF, TF_SUBLAYER_CROSS, TF_SUBLAYER_FF };

/* side->u = f(in), without the norm and the residual. CROSS needs the keys and values of the
 * encoder's output in k->kv. */
void tf_sublayer_fwd(struct tf_work *k, struct tf_stack_acts *side, enum tf_sublayer kind,
                     int layer, const tf_mem *in);
/* From side->du: the gradient of `in` overwrites din or is added to it, and the gradients of the
 * weights are overwritten, as every weight is used once in a pass. CROSS writes its columns of
 * k->dkv. */
void tf_sublayer_bwd(struct tf_work *k, struct tf_stack_acts *side, enum tf_sublayer kind,
                     int layer, const tf_mem *in, tf_mem *din, bool add);

#endif
