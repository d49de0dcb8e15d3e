/* memory_private.h - memory of the device, and failures of what was queued. */
#ifndef TF_OPS_CUDA_MEMORY_PRIVATE_H
#define TF_OPS_CUDA_MEMORY_PRIVATE_H

#include "device_private.h"

/* cudaMalloc; where there is no memory, once more without the graphs, which take some. */
cudaError_t tf_cuda_malloc(struct tf_ctx *c, void **p, size_t size);
/* n bytes of scratch, 256-byte aligned, from the beginning of the lane's scratch memory: one
 * operation asks once for all that it needs. NULL after a failure. */
void *tf_cuda_scratch(struct tf_ctx *c, size_t n);

/* Bytes of an element. */
size_t tf_cuda_size(const struct tf_ctx *c, enum tf_elem e);
/* Hand out the first failure of queued work, once: -1 and err. */
int tf_cuda_report_error(struct tf_ctx *c, struct tf_err *err);
/* Host bytes to the device: src may change as soon as this returns. Never into a graph, which would
 * read the staging memory again. */
void tf_cuda_send(struct tf_ctx *c, void *dst, const void *src, size_t n);
/* Let a kernel be launched with n bytes of shared memory: false, with the failure noted, where the
 * device does not have so much. */
bool tf_cuda_allow_shared(struct tf_ctx *c, const char *what, const void *kernel, size_t n);

#endif
