/* blas_private.h - matrix products over cuBLASLt: row-major, floats inside whatever the elements
 * are. The algorithm is the heuristic's first for the shape (one for all row counts in decoding),
 * so the same device and library give the same bytes. blas.cu is the only file that knows cuBLASLt;
 * emulated builds have plain loops in its place. */
#ifndef TF_OPS_CUDA_BLAS_PRIVATE_H
#define TF_OPS_CUDA_BLAS_PRIVATE_H

#include "tuning_private.h"

enum tf_blas_elem { TF_BLAS_F32, TF_BLAS_BF16, TF_BLAS_F16 };
template <typename A> constexpr enum tf_blas_elem tf_blas_elem_of();
template <> constexpr enum tf_blas_elem tf_blas_elem_of<float>() { return TF_BLAS_F32; }
template <> constexpr enum tf_blas_elem tf_blas_elem_of<bf16>() { return TF_BLAS_BF16; }
template <> constexpr enum tf_blas_elem tf_blas_elem_of<half>() { return TF_BLAS_F16; }

/* d [M, N] = op(a) op(b) + beta d, then + bias [N] on every row, then max(0, .). op(a) [M, K]: a is
 * [M, K], or with ta [K, M]; op(b) [K, N]: b is [K, N], or with tb [N, K]. Leading dimensions are
 * in elements between rows. a and b are of one kind, d of the same kind or f32; bias and
 * column_sums are of d's kind. */
struct tf_gemm {
    int M, N, K;
    const void *a, *b;
    void *d;
    size_t lda, ldb, ldd;
    bool ta, tb, relu;
    enum tf_blas_elem ab, out;
    float beta;
    const void *bias;
    /* tf_blas_mask_size() bytes in the library's own form: where the sum is above 0. With relu it
     * is written; else d is 0 where it says no */
    void *mask;
    void *column_sums; /* [N]: of b [K, N] */
    bool over_rows; /* a gradient of weights: K, and not M, is a number of rows */
    /* decoding: the algorithm may depend on N and K only, so that a row's result does not depend on
     * how many others there are */
    bool any_rows;
};
void tf_blas_gemm(struct tf_ctx *c, const struct tf_gemm *g);
/* The same with a mask or column_sums, which tf_blas_gemm can't do: false, and nothing done, where
 * the library has no algorithm for it. The answer depends on the product's shape alone. */
bool tf_blas_gemm_with(struct tf_ctx *c, const struct tf_gemm *g);
size_t tf_blas_mask_size(size_t rows, size_t N);

struct tf_blas *tf_blas_new(const char *device, struct tf_err *err);
void tf_blas_free(struct tf_blas *b); /* or NULL */
/* Device memory that products may write to, a stream's own. b's, and new memory. */
void *tf_blas_workspace(struct tf_blas *b);
cudaError_t tf_blas_workspace_new(void **p);
/* What was measured, or is to be; it lives as long as b. Products whose algorithm was chosen
 * already keep it. */
struct tf_tuning *tf_blas_tuning(struct tf_blas *b);
/* Library and version. */
void tf_blas_describe(char *text, size_t size);

#endif
