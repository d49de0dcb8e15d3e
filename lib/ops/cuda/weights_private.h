/* weights_private.h - copies of weights in the precision of a lane. */
#ifndef TF_OPS_CUDA_WEIGHTS_PRIVATE_H
#define TF_OPS_CUDA_WEIGHTS_PRIVATE_H

#include "device_private.h"

/* The copy of PARAMs in precision A that matrix products read (weights.cu): p itself for float and
 * in an allocation of WEIGHTs, else an address in the shadow of the allocation that contains p. The
 * first use creates the shadow; every write to weights updates it: upload, copy, zero, add, adam
 * and ema. Gradients have none. NULL after a failure. */
template <typename A> const A *tf_cuda_shadow(struct tf_ctx *c, const tf_mem *p);
/* Is p one of WEIGHTs? */
bool tf_cuda_narrow(const struct tf_ctx *c, const tf_mem *p);
/* Launch y = x, n elements, counted as `what`. */
template <typename A>
void tf_cuda_convert(struct tf_ctx *c, const char *what, A *y, const float *x, size_t n);
struct tf_shadows {
    bf16 *as_bf16;
    half *as_half;
};
/* Where p is in the shadows that there are; NULL for the others. */
struct tf_shadows tf_cuda_shadows(const struct tf_ctx *c, const tf_mem *p);

#endif
