/* floats.c - see floats.h. */
#include "ops/floats.h"
#include "base/memory.h"

#include <stdlib.h>

void tf_floats_up(const struct tf_backend *be, struct tf_ctx *ctx, tf_mem *dst, enum tf_elem e,
                  const float *src, size_t n)
{
    if (be->elem_size[e] == sizeof *src) {
        be->upload(ctx, dst, e, src, n);
        return;
    }
    double *wide = tf_xarray(NULL, n + 1, sizeof *wide);
    for (size_t i = 0; i < n; i++)
        wide[i] = (double)src[i];
    be->upload(ctx, dst, e, wide, n);
    free(wide);
}

int tf_floats_down(const struct tf_backend *be, struct tf_ctx *ctx, float *dst, enum tf_elem e,
                   const tf_mem *src, size_t n, struct tf_err *err)
{
    if (be->elem_size[e] == sizeof *dst)
        return be->download(ctx, dst, e, src, n, err);
    double *wide = tf_xarray(NULL, n + 1, sizeof *wide);
    int rc = be->download(ctx, wide, e, src, n, err);
    for (size_t i = 0; rc == 0 && i < n; i++)
        dst[i] = (float)wide[i];
    free(wide);
    return rc;
}
