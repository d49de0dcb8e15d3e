/* table.c - the tables of one instruction set: fp32, and int8 for decoding. */
#include "ops/cpu/cpu.h"

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)
#define TABLES_(set) tf_cpu_backends_##set
#define TABLES(set) TABLES_(set)

static tf_open_fn open_fp32, open_int8;

static const char *describe(struct tf_ctx *c)
{
    (void)c;
    return "own kernels, " TEXT(TF_ISA) ", int8 by " TEXT(TF_SET);
}

#define FP32(op) .op = TF_CPU(op),
#define INT8(op) .op = TF_CPU_INT8(op),

/* clang-format off */
static const struct tf_backend fp32 = {
    .abi = TF_BACKEND_ABI,
    .name = "cpu",
    .precision = "fp32",
    .supports = TF_USE_ANY,
    .default_for = TF_USE_ANY,
    .shards = TF_CPU_SHARDS,
    .threads = true,
    .poll = 1,
    .elem_size = TF_HOST_ELEM_SIZES(float),
    .open = open_fp32,
    .describe = describe,
    TF_HOST_ENTRIES
    TF_ACT_OPS(FP32)
    TF_PACKED_OPS(FP32)
    TF_VALUE_OPS(FP32)
};

static const struct tf_backend int8 = {
    .abi = TF_BACKEND_ABI,
    .name = "cpu",
    .precision = "int8",
    .supports = TF_USE_DECODING,
    .shards = TF_CPU_SHARDS,
    .threads = true,
    .poll = 1,
    .elem_size = TF_HOST_ELEM_SIZES(float),
    .open = open_int8,
    .describe = describe,
    TF_HOST_ENTRIES
    TF_ACT_OPS(FP32)
    TF_PACKED_OPS(INT8)
    TF_VALUE_OPS(FP32)
};
/* clang-format on */

static struct tf_ctx *open_fp32(const struct tf_ctx_opts *o, struct tf_err *err)
{
    (void)o, (void)err;
    return tf_host_open(&fp32);
}

static struct tf_ctx *open_int8(const struct tf_ctx_opts *o, struct tf_err *err)
{
    (void)o, (void)err;
    return tf_host_open(&int8);
}

extern const struct tf_backend *const TABLES(TF_SET)[];
const struct tf_backend *const TABLES(TF_SET)[] = {&fp32, &int8, NULL};
