/* floats.h - host floats to and from the memory of a backend, whose elements may be doubles. */
#ifndef TF_OPS_FLOATS_H
#define TF_OPS_FLOATS_H

#include "ops/backend.h"

/* n floats; the source of an upload must stay unchanged until the next sync. */
void tf_floats_up(const struct tf_backend *be, struct tf_ctx *ctx, tf_mem *dst, enum tf_elem e,
                  const float *src, size_t n);
int tf_floats_down(const struct tf_backend *be, struct tf_ctx *ctx, float *dst, enum tf_elem e,
                   const tf_mem *src, size_t n, struct tf_err *err) TF_MUST_CHECK;

#endif
