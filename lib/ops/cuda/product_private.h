/* product_private.h - the matrix product of decoding, in which a row's bytes do not depend on how
 * many other rows there are. */
#ifndef TF_OPS_CUDA_PRODUCT_PRIVATE_H
#define TF_OPS_CUDA_PRODUCT_PRIVATE_H

#include "device_private.h"

/* y [rows, N] = x [rows, K] w' + bias, w [N, K], bias PARAM [N] or NULL; with relu max(0, .); y is
 * ACT, or with stat STAT. Queues it and returns true; false where the tensor cores can't do it: not
 * on this device, not for float, K no multiple of 8, or x or w not aligned to 16 bytes. That
 * depends on the device and the model alone. */
template <typename A>
bool tf_cuda_product(struct tf_ctx *c, tf_mem *y, const tf_mem *x, const A *w, const tf_mem *bias,
                     size_t rows, int N, int K, bool relu, bool stat);

#endif
