/* openblas.h - sgemm of OpenBLAS, loaded with dlopen when the kernel set openblas is selected, so
 * that programs start without it and machines do not need it. One thread of its own: lanes call it
 * side by side. */
#ifndef TF_OPS_CPU_OPENBLAS_H
#define TF_OPS_CPU_OPENBLAS_H

#include "base/err.h"
#include <stdbool.h>
#include <stddef.h>

/* Rows of a product whose rows must not depend on their number. OpenBLAS takes other kernels for
 * the edges of a matrix and for small ones, so such a product is always made of this many rows, the
 * last ones zero: a multiple of the tiles (4 to 32) of all its kernels. */
enum { TF_OPENBLAS_ROWS = 96 };

/* Load libopenblas.so.0, once: 0, or -1 and err if there is none or a row's bytes depend on its
 * place among TF_OPENBLAS_ROWS. Unless OPENBLAS_CORETYPE names a core, the processor's features
 * decide which it uses. */
int tf_openblas_load(struct tf_err *err);

/* "OpenBLAS 0.3.21, core SkylakeX"; after a successful load. */
const char *tf_openblas_about(void);

/* C = A B, or C += A B, all row-major: C [M, N], A [M, K], or [K, M] if at, B [K, N], or [N, K] if
 * bt, each with the length of its rows. */
struct tf_sgemm {
    float *c;
    size_t ldc;
    const float *a;
    size_t lda;
    const float *b;
    size_t ldb;
    size_t M, N, K;
    bool at, bt, add;
};
void tf_sgemm(const struct tf_sgemm *g);

#endif
