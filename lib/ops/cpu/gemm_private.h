/* gemm_private.h - the matrix product of our own kernels: C = A B with A of any strides and B in
 * column panels. Every element of C is one chain of fused multiply-adds over k in order, whatever
 * the other sizes are, so a row's bits depend neither on its neighbours nor on the blocking. */
#ifndef TF_OPS_CPU_GEMM_PRIVATE_H
#define TF_OPS_CPU_GEMM_PRIVATE_H

#include "ops/cpu/kernels_private.h"
#include "ops/cpu/vec_private.h"

#if VL == 16
#define TF_MR 6
#define TF_NV 4
#elif VL == 8
#define TF_MR 6
#define TF_NV 2
#elif defined TF_NEON
#define TF_MR 6
#define TF_NV 4
#else
#define TF_MR 2
#define TF_NV 4
#endif
#define TF_NR (TF_NV * VL) /* columns of a panel */
_Static_assert(TF_PACK_COLUMNS % TF_NR == 0, "parts of a matrix are whole panels");

/* One function for each size of tile, from `tile(const struct tile *, const int mr, const int nv)`,
 * so that mr and nv are constants: tiles[mr - 1][nv - 1]. */
#if TF_NV == 4
#define TF_CPU_SIZES_OF(DO, mr) DO(mr, 1) DO(mr, 2) DO(mr, 3) DO(mr, 4)
#else
#define TF_CPU_SIZES_OF(DO, mr) DO(mr, 1) DO(mr, 2)
#endif
#if TF_MR == 6
#define TF_CPU_SIZES(DO)                                                    \
    TF_CPU_SIZES_OF(DO, 1) TF_CPU_SIZES_OF(DO, 2) TF_CPU_SIZES_OF(DO, 3)    \
    TF_CPU_SIZES_OF(DO, 4) TF_CPU_SIZES_OF(DO, 5) TF_CPU_SIZES_OF(DO, 6)
#else
#define TF_CPU_SIZES(DO) TF_CPU_SIZES_OF(DO, 1) TF_CPU_SIZES_OF(DO, 2)
#endif
#define TF_CPU_TILE_BODY(mr, nv) \
    static void tile_##mr##_##nv(const struct tile *t) { tile(t, mr, nv); }
#define TF_CPU_TILE_NAME(mr, nv) [mr - 1][nv - 1] = tile_##mr##_##nv,
#define TF_CPU_TILES                                                \
    TF_CPU_SIZES(TF_CPU_TILE_BODY)                                  \
    static void (*const tiles[TF_MR][TF_NV])(const struct tile *) = { \
        TF_CPU_SIZES(TF_CPU_TILE_NAME)};

/* The product, as struct tf_cpu_products has it. */
void TF_CPU(gemm)(struct tf_ctx *c, const struct tf_cpu_gemm *g);

/* Floats of a [K, N] matrix in panels, padded with zeros to whole panels. */
static inline size_t tf_cpu_panels_size(size_t K, size_t N)
{
    return (N + TF_NR - 1) / TF_NR * TF_NR * K;
}

/* Lay out b [K, N] (stride ldb) in panels: ldb TF_NR, panel K * TF_NR. */
void TF_CPU(panels)(float *p, const float *b, size_t ldb, size_t K, size_t N);
/* The same for b' [N, K] (stride ldb). */
void TF_CPU(panels_t)(float *p, const float *b, size_t ldb, size_t K, size_t N);

/* The same for b' [N, K] of the rows ids [N] of a table, K floats or halves each. */
void TF_CPU(select_panels)(struct tf_ctx *c, void *p, const void *table, const uint32_t *ids,
                           size_t K, size_t N, bool halves);

/* A product reads A' [K, M] (stride lda) best from slices of TF_MR columns. The slice, and the size
 * of it all in floats. */
static inline size_t tf_cpu_slice(size_t K)
{
    return K * TF_MR + 8; /* the copy of the last row may write past it */
}
static inline size_t tf_cpu_slices_size(size_t K, size_t M)
{
    return (M + TF_MR - 1) / TF_MR * tf_cpu_slice(K);
}
void TF_CPU(slices)(float *p, const float *a, size_t lda, size_t K, size_t M);

#endif
