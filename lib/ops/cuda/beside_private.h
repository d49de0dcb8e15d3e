/* beside_private.h - gradients of weights on a stream of their own, beside the rest of the backward
 * pass. */
#ifndef TF_OPS_CUDA_BESIDE_PRIVATE_H
#define TF_OPS_CUDA_BESIDE_PRIVATE_H

#include "device_private.h"

#include <initializer_list>

/* While one lives, work on the lane's stream waits only for products that read what it writes, from
 * these addresses on, and so for no gradient of weights: it must read none. */
struct tf_cuda_writes {
    struct tf_ctx *c;
    tf_cuda_writes(struct tf_ctx *c, std::initializer_list<const void *> written);
    ~tf_cuda_writes();
    tf_cuda_writes(const tf_cuda_writes &) = delete;
};

/* A product beside other work may begin when what was queued until now is done. False: the lane's
 * stream does all, and the next two are not called. */
bool tf_cuda_beside_mark(struct tf_ctx *c);
/* What is queued until tf_cuda_beside_end() goes there. It reads n bytes from x on, and m from dy
 * on: whole buffers, so that a write to a part of one begins inside it. */
void tf_cuda_beside_begin(struct tf_ctx *c);
void tf_cuda_beside_end(struct tf_ctx *c, const void *x, size_t n, const void *dy, size_t m);

void tf_cuda_beside_close(int place); /* its device is selected */

#endif
