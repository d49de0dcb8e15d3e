/* kernels_private.h - what the files of the CPU backend share: names, memory, and products.
 *
 * All files but cpu.c and openblas.c are compiled for each instruction set, with -DTF_ISA=generic,
 * avx2, avx512, neon: TF_CPU(name) keeps their symbols apart. Kernel sets that only add dot
 * products (sets.def) have files of their own for those: TF_CPU_SET(name) is of the kernel
 * set that a file is compiled for, -DTF_SET. Contracts: ops/backend.h.
 *
 * Operations that multiply matrices (linear.c, xent.c) are written once, over the products of the
 * lane's table: fp32.c, bf16.c, int8.c, openblas.c. */
#ifndef TF_OPS_CPU_KERNELS_PRIVATE_H
#define TF_OPS_CPU_KERNELS_PRIVATE_H

#include "ops/host.h"

#define TF_CPU_PASTE_(set, name) tf_cpu_##set##_##name
#define TF_CPU_PASTE(set, name) TF_CPU_PASTE_(set, name)
#define TF_CPU(name) TF_CPU_PASTE(TF_ISA, name)
#define TF_CPU_SET(name) TF_CPU_PASTE(TF_SET, name)

#ifdef TF_ISA
#define TF_CPU_OP(op) tf_##op##_fn TF_CPU(op);
TF_ACT_OPS(TF_CPU_OP)
TF_PACKED_OPS(TF_CPU_OP)
TF_VALUE_OPS(TF_CPU_OP)
TF_SELECT_OPS(TF_CPU_OP)
#undef TF_CPU_OP
#endif

/* ---- memory ---- */

/* Elements from i on. PARAM, ACT and STAT are all float here. */
static inline const float *in(const tf_mem *p, size_t i)
{
    return (const float *)p + i;
}
static inline float *out(tf_mem *p, size_t i)
{
    return (float *)p + i;
}

static inline size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* The scratch buffers, by use; an operation may use several. Products have their A in TF_CPU_A, and
 * in TF_CPU_ROW what they need besides. */
enum { TF_CPU_PANELS, TF_CPU_BLOCK, TF_CPU_TILE, TF_CPU_ROW, TF_CPU_A, TF_CPU_X, TF_CPU_E };

/* At least n floats; see tf_host_scratch. */
static inline float *tf_cpu_scratch(struct tf_ctx *c, int which, size_t n)
{
    return tf_host_scratch(c, which, n * sizeof(float));
}

/* ---- products ---- */

/* C = A B, or C += A B. The operation says what is multiplied, of what size; lay_out_a and
 * lay_out_b say where it lies. */
struct tf_cpu_gemm {
    float *c; /* [M, N], stride ldc */
    size_t ldc;
    size_t M, N, K;
    const float *bias; /* [N] where the sums start, or NULL: 0 */
    bool add;          /* start at C instead */
    bool relu;
    /* Which operand has the rows of an operation that is ROW-WISE. */
    enum { TF_CPU_NEITHER, TF_CPU_ROWS_OF_A, TF_CPU_COLUMNS_OF_B } row_wise;

    const float *a; /* element (i, k) at a[i * ras + k * kas] */
    size_t ras, kas;
    /* 0, or A in slices of TF_MR rows: rows i .. i+TF_MR-1 begin at a[i / TF_MR * slice], ras 1,
     * kas TF_MR */
    size_t slice;
    /* element (k, j) at b[j / TF_NR * panel + k * ldb + j % TF_NR]; whole registers are read: to
     * the next multiple of VL columns */
    const float *b;
    size_t ldb, panel;
    bool at, bt; /* openblas.c: A [K, M] and B [N, K] as they lie, rows ras and ldb apart */
};

/* w [K, N], or a table [N, K], laid out for decoding. */
struct tf_packed {
    size_t K, N;
    size_t room;  /* columns, >= N */
    bool halves;  /* binary16 */
    bool apart;   /* columns one after the other instead of panels */
    void *panels; /* as lay_out_b has them, of floats, halves or pairs of bf16; int8.c: of bytes */
    float *scale; /* int8.c: of a column */
};

/* How matrices are multiplied; the order of sums is part of it. */
struct tf_cpu_products {
    size_t rows;    /* of A that are laid out and multiplied together, so that they stay in cache */
    size_t entries; /* of the vocabulary, likewise */
    size_t multiple; /* xent.c fills up the rows of a batch to a multiple of it, itself one of 16 */

    /* Set where g reads A [M, K] (or A' [K, M], if transposed; stride lda) and B [K, N] (or B' [N,
     * K]; stride ldb): where they are, or a copy in TF_CPU_A and in the scratch buffer that is
     * named, which lasts until the next one there. The sizes in g are set before. */
    void (*lay_out_a)(struct tf_ctx *c, struct tf_cpu_gemm *g, const float *a, size_t lda,
                      bool transposed);
    void (*lay_out_b)(struct tf_ctx *c, struct tf_cpu_gemm *g, int buffer, const float *b,
                      size_t ldb, bool transposed);
    void (*multiply)(struct tf_ctx *c, const struct tf_cpu_gemm *g);

    /* The same with w for B. */
    void (*multiply_packed)(struct tf_ctx *c, const struct tf_cpu_gemm *g,
                            const struct tf_packed *w);
    void (*reserve)(struct tf_ctx *c, struct tf_packed *w); /* memory for K and N */
    tf_pack_fn *pack;
    void (*select)(struct tf_ctx *c, struct tf_packed *to, const struct tf_packed *from,
                   const uint32_t *ids, size_t n); /* to->N is n */
    void (*column)(float *e, const struct tf_packed *w, size_t id); /* e [K] = column id of w */
};
extern const struct tf_cpu_products tf_cpu_openblas; /* without packed weights */

/* A table of the CPU backend, and the products of its operations. */
struct tf_cpu_table {
    struct tf_backend be;
    const struct tf_cpu_products *products, *packed;
};

static inline const struct tf_cpu_table *tf_cpu_table_of(const struct tf_ctx *c)
{
    return (const struct tf_cpu_table *)c->be;
}

#endif
