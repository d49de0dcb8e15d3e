/* linear_private.h - products with weights. w, b: indices of parameters. */
#ifndef TF_MODEL_LINEAR_PRIVATE_H
#define TF_MODEL_LINEAR_PRIVATE_H

#include "model/acts_private.h"

/* y [R, N] = x w + b, with the packed weights where they exist and no gradient is required. */
void tf_linear_fwd(struct tf_work *k, tf_mem *y, const tf_mem *x, int w, int b,
                   const struct tf_stack_acts *side, unsigned flags, struct tf_dropout dropout);
/* Overwrites dx (with TF_LIN_ADD_DX: adds to it) and the gradients of w and b. */
void tf_linear_bwd(struct tf_work *k, tf_mem *dx, tf_mem *dy, const tf_mem *x, int w, int b,
                   const struct tf_stack_acts *side, unsigned flags, struct tf_dropout dropout);
/* y [rows, N] = x w + b with the packed weights. */
void tf_linear_rows(struct tf_work *k, tf_mem *y, const tf_mem *x, int w, int b, size_t rows,
                    unsigned flags);

#endif
