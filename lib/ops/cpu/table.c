/* table.c - the tables of one instruction set: fp32, products in bf16, and int8 for decoding; and
 * the same with the products of sgemm.c for the set openblas. */
#include "ops/cpu/cpu_private.h"
#include "ops/cpu/openblas.h"

#include <stdio.h>

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)
#define TABLES_(set) tf_cpu_backends_##set
#define TABLES(set) TABLES_(set)
#define SGEMM_TABLES_(set) tf_cpu_openblas_backends_##set
#define SGEMM_TABLES(set) SGEMM_TABLES_(set)

#define KERNELS "own kernels, " TEXT(TF_ISA) ", int8 by " TEXT(TF_INT8) ", bf16 by " TEXT(TF_BF16)

static const char *describe(struct tf_ctx *c)
{
    (void)c;
    return KERNELS;
}

static const char *describe_sgemm(struct tf_ctx *c)
{
    (void)c;
    static _Thread_local char text[160];
    snprintf(text, sizeof text, "%s; else " KERNELS, tf_openblas_about());
    return text;
}

static const char *kernels(void)
{
    return TEXT(TF_ISA);
}

static const char *kernels_bf16(void)
{
#ifdef TF_AMX
    return TEXT(TF_ISA) ", bf16 by " TEXT(TF_BF16);
#else
    return TEXT(TF_ISA);
#endif
}

static const char *kernels_int8(void)
{
    return TEXT(TF_INT8);
}

static const char *kernels_sgemm(void)
{
    static _Thread_local char text[160];
    snprintf(text, sizeof text, "%s; " TEXT(TF_ISA), tf_openblas_about());
    return text;
}

static const char *kernels_sgemm_int8(void)
{
    static _Thread_local char text[160];
    snprintf(text, sizeof text, "%s; " TEXT(TF_INT8), tf_openblas_about());
    return text;
}

#define OWN(op) .op = TF_CPU(op),
#define INT8(op) .op = TF_CPU_INT8(op),
#define BF16(op) .op = TF_CPU_BF16(op),

/* A table and its `open`. The last argument replaces entries of OWN. */
#define TABLE(table, PRECISION, SUPPORTS, DEFAULT_FOR, DESCRIBE, KERNELS_OF, PACKED, ...)         \
    static tf_open_fn open_##table;                                                               \
    static const struct tf_backend table = {.abi = TF_BACKEND_ABI,                                \
                                            .name = "cpu",                                        \
                                            .precision = PRECISION,                               \
                                            .supports = SUPPORTS,                                 \
                                            .default_for = DEFAULT_FOR,                           \
                                            .shards = TF_CPU_SHARDS,                              \
                                            .threads = true,                                      \
                                            .host = true,                                         \
                                            .norm_chunk = TF_HOST_NORM_CHUNK,                     \
                                            .poll = 1,                                            \
                                            .elem_size = TF_HOST_ELEM_SIZES(float),               \
                                            .open = open_##table,                                 \
                                            .describe = DESCRIBE,                                 \
                                            .kernels = KERNELS_OF,                                \
                                            TF_HOST_ENTRIES TF_ACT_OPS(OWN) TF_PACKED_OPS(PACKED) \
                                                TF_VALUE_OPS(OWN) __VA_ARGS__};                   \
    static struct tf_ctx *open_##table(const struct tf_ctx_opts *o, struct tf_err *err)           \
    {                                                                                             \
        (void)o, (void)err;                                                                       \
        return tf_host_open(&table);                                                              \
    }

#define SGEMM                                                                       \
    .linear_fwd = TF_CPU_SGEMM(linear_fwd), .linear_bwd = TF_CPU_SGEMM(linear_bwd), \
    .xent = TF_CPU_SGEMM(xent)

#define PAIRS                                                                     \
    .linear_fwd = TF_CPU_BF16(linear_fwd), .linear_bwd = TF_CPU_BF16(linear_bwd), \
    .xent = TF_CPU_BF16(xent)

#pragma GCC diagnostic ignored "-Woverride-init" /* by SGEMM and PAIRS */
TABLE(fp32, "fp32", TF_USE_ANY, TF_USE_ANY, describe, kernels, OWN, .packs_halves = true)
/* All sets but amx make the same bits of bf16. */
TABLE(bf16, "bf16", TF_USE_ANY, 0, describe, kernels_bf16, BF16, PAIRS)
TABLE(int8, "int8", TF_USE_DECODING, 0, describe, kernels_int8, INT8, .tables_packed = true)
TABLE(sgemm_fp32, "fp32", TF_USE_ANY, TF_USE_ANY, describe_sgemm, kernels_sgemm, OWN,
      .packs_halves = true, SGEMM)
TABLE(sgemm_int8, "int8", TF_USE_DECODING, 0, describe_sgemm, kernels_sgemm_int8, INT8,
      .tables_packed = true, SGEMM)

extern const struct tf_backend *const TABLES(TF_SET)[], *const SGEMM_TABLES(TF_SET)[];
const struct tf_backend *const TABLES(TF_SET)[] = {&fp32, &bf16, &int8, NULL};
const struct tf_backend *const SGEMM_TABLES(TF_SET)[] = {&sgemm_fp32, &bf16, &sgemm_int8, NULL};
