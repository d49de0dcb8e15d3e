/* cpu_private.h - what the files of the CPU backend share. All of them but cpu.c and openblas.c are
 * compiled once for each instruction set, with -DTF_ISA=generic, avx2, avx512, neon. Others only
 * add products: avxvnni, avx512vnni, amx and neondot of bytes (int8.c), avx512bf16 and amx of pairs
 * of bf16 (bf16.c). table.c is compiled for all of them, with the names of the sets that its
 * kernels are from: TF_ISA, TF_INT8, TF_BF16. TF_CPU(name) keeps the symbols apart. Contracts:
 * ops/backend.h. */
#ifndef TF_OPS_CPU_CPU_PRIVATE_H
#define TF_OPS_CPU_CPU_PRIVATE_H

#include "ops/host.h"

#define TF_CPU_PASTE_(isa, name) tf_cpu_##isa##_##name
#define TF_CPU_PASTE(isa, name) TF_CPU_PASTE_(isa, name)
#define TF_CPU(name) TF_CPU_PASTE(TF_ISA, name)
/* sgemm.c: operations of the kernel set openblas */
#define TF_CPU_SGEMM_PASTE_(isa, name) tf_cpu_sgemm_##isa##_##name
#define TF_CPU_SGEMM_PASTE(isa, name) TF_CPU_SGEMM_PASTE_(isa, name)
#define TF_CPU_SGEMM(name) TF_CPU_SGEMM_PASTE(TF_ISA, name)
#define TF_CPU_INT8_PASTE_(set, name) tf_cpu_int8_##set##_##name
#define TF_CPU_INT8_PASTE(set, name) TF_CPU_INT8_PASTE_(set, name)
#define TF_CPU_INT8(name) TF_CPU_INT8_PASTE(TF_INT8, name)
#define TF_CPU_BF16_PASTE_(set, name) tf_cpu_bf16_##set##_##name
#define TF_CPU_BF16_PASTE(set, name) TF_CPU_BF16_PASTE_(set, name)
#define TF_CPU_BF16(name) TF_CPU_BF16_PASTE(TF_BF16, name)

#define TF_CPU_OP(op) tf_##op##_fn TF_CPU(op);
TF_ACT_OPS(TF_CPU_OP)
TF_PACKED_OPS(TF_CPU_OP)
TF_VALUE_OPS(TF_CPU_OP)
#undef TF_CPU_OP
#define TF_CPU_INT8_OP(op) tf_##op##_fn TF_CPU_INT8(op);
TF_PACKED_OPS(TF_CPU_INT8_OP)
#undef TF_CPU_INT8_OP
#define TF_CPU_BF16_OP(op) tf_##op##_fn TF_CPU_BF16(op);
TF_PACKED_OPS(TF_CPU_BF16_OP)
#undef TF_CPU_BF16_OP
tf_linear_fwd_fn TF_CPU_BF16(linear_fwd);
tf_linear_bwd_fn TF_CPU_BF16(linear_bwd);
tf_xent_fn TF_CPU_BF16(xent);
tf_linear_fwd_fn TF_CPU_SGEMM(linear_fwd);
tf_linear_bwd_fn TF_CPU_SGEMM(linear_bwd);
tf_xent_fn TF_CPU_SGEMM(xent);

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

/* The scratch buffers, by use; an operation may use several. */
enum { TF_CPU_PANELS, TF_CPU_BLOCK, TF_CPU_TILE, TF_CPU_ROW };

/* At least n floats; see tf_host_scratch. */
static inline float *tf_cpu_scratch(struct tf_ctx *c, int which, size_t n)
{
    return tf_host_scratch(c, which, n * sizeof(float));
}

#endif
