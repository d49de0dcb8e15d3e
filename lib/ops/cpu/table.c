/* table.c - the tables of one kernel set: fp32, products in bf16, and int8 for decoding; and the
 * same with the products of OpenBLAS, for the set openblas. -DTF_ISA, TF_INT8 and TF_BF16 name the
 * sets that its kernels are from. */
#include "ops/cpu/kernels_private.h"
#include "ops/cpu/openblas.h"

#include <stdio.h>

#define INT8 TF_CPU_PASTE(TF_INT8, int8)
#define BF16 TF_CPU_PASTE(TF_BF16, bf16)
extern const struct tf_cpu_products TF_CPU(fp32), BF16, INT8;

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)
#define KERNELS "own kernels, " TEXT(TF_ISA) ", int8 by " TEXT(TF_INT8) ", bf16 by " TEXT(TF_BF16)

enum { LINE = 160 };

/* Own kernels, and before them the library where products are its. */
static const char *name_kernels(char text[LINE], const struct tf_cpu_products *p,
                                const char *between, const char *own)
{
    if (p != &tf_cpu_openblas)
        return own;
    snprintf(text, LINE, "%s%s%s", tf_openblas_about(), between, own);
    return text;
}

static const char *describe_lane(struct tf_ctx *c)
{
    static _Thread_local char text[LINE];
    return name_kernels(text, tf_cpu_table_of(c)->products, "; else ", KERNELS);
}

#define ENTRY(op) .op = TF_CPU(op),

/* A table and its `open` and `kernels`: its products, those with packed weights, the set that they
 * are from, and what differs of the rest. */
#define TABLE(table, PRODUCTS, PACKED, SET, ...)                                          \
    static tf_open_fn open_##table;                                                       \
    static const char *kernels_##table(void)                                              \
    {                                                                                     \
        static _Thread_local char text[LINE];                                             \
        return name_kernels(text, &PRODUCTS, "; ", TEXT(SET));                            \
    }                                                                                     \
    static const struct tf_cpu_table table = {                                            \
        .be = {.abi = TF_BACKEND_ABI,                                                     \
               .name = "cpu",                                                             \
               .shards = TF_CPU_SHARDS,                                                   \
               .threads = true,                                                           \
               .host = true,                                                              \
               .norm_chunk = TF_HOST_NORM_CHUNK,                                          \
               .poll = 1,                                                                 \
               .elem_size = TF_HOST_ELEM_SIZES(float),                                    \
               .open = open_##table,                                                      \
               .describe = describe_lane,                                                 \
               .kernels = kernels_##table,                                                \
               TF_HOST_ENTRIES TF_ACT_OPS(ENTRY) TF_PACKED_OPS(ENTRY) TF_VALUE_OPS(ENTRY) \
               TF_SELECT_OPS(ENTRY) __VA_ARGS__},                                         \
        .products = &PRODUCTS,                                                            \
        .packed = &PACKED};                                                               \
    static struct tf_ctx *open_##table(const struct tf_ctx_opts *o, struct tf_err *err)   \
    {                                                                                     \
        (void)o, (void)err;                                                               \
        return tf_host_open(&table.be);                                                   \
    }

#define FP32 \
    .precision = "fp32", .supports = TF_USE_ANY, .default_for = TF_USE_ANY, .packs_halves = true
#define FOR_DECODING .precision = "int8", .supports = TF_USE_DECODING, .tables_packed = true

TABLE(fp32, TF_CPU(fp32), TF_CPU(fp32), TF_ISA, FP32)
/* All sets make the same bits of bf16. */
TABLE(bf16, BF16, BF16, TF_ISA, .precision = "bf16", .supports = TF_USE_ANY)
TABLE(int8, TF_CPU(fp32), INT8, TF_INT8, FOR_DECODING)
TABLE(openblas_fp32, tf_cpu_openblas, TF_CPU(fp32), TF_ISA, FP32)
TABLE(openblas_int8, tf_cpu_openblas, INT8, TF_INT8, FOR_DECODING)

extern const struct tf_backend *const TF_CPU_SET(tables)[], *const TF_CPU_SET(openblas)[];
const struct tf_backend *const TF_CPU_SET(tables)[] = {&fp32.be, &bf16.be, &int8.be, NULL};
const struct tf_backend *const TF_CPU_SET(openblas)[] = {&openblas_fp32.be, &bf16.be,
                                                         &openblas_int8.be, NULL};
