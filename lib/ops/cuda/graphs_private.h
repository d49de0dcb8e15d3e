/* graphs_private.h - what other files must know of recorded steps. */
#ifndef TF_OPS_CUDA_GRAPHS_PRIVATE_H
#define TF_OPS_CUDA_GRAPHS_PRIVATE_H

#include "device_private.h"

/* Forget what was recorded; before device memory is freed. */
void tf_cuda_graphs_forget(struct tf_ctx *c);
bool tf_cuda_capturing(const struct tf_ctx *c); /* what is queued goes into a graph */

#endif
