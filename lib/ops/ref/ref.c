/* ref.c - the tables of the reference backend, "ref" in float and "ref64" in double, and its
 * dropout. */
#include "ops/ref/ref_private.h"

#include "base/rng.h"

#define DOUBLE (sizeof(tf_real) == sizeof(double))

double TF_REF(dropout_factor)(const struct tf_ctx *c, struct tf_dropout dropout, size_t row,
                              size_t column)
{
    if (dropout.p == 0)
        return 1;
    const uint32_t counter[4] = {(uint32_t)(column / 4), (uint32_t)row, dropout.site,
                                 c->rng.update};
    uint32_t u[4];
    tf_philox(u, counter, c->rng.seed);
    return u[column % 4] >= dropout.p * 0x1p32 ? 1 / (1 - (double)dropout.p) : 0;
}

static const char *describe_lane(struct tf_ctx *c)
{
    (void)c;
    return DOUBLE ? "plain loops, double" : "plain loops, float";
}

static const char *kernels(void)
{
    return DOUBLE ? "ref64" : "ref";
}

#define TABLE_(name) tf_backend_ref_##name
#define TABLE(name) TABLE_(name)

static struct tf_ctx *open_lane(const struct tf_ctx_opts *o, struct tf_err *err)
{
    (void)o, (void)err;
    return tf_host_open(&TABLE(TF_REF_NAME));
}

#define ENTRY(op) .op = TF_REF(op),

/* clang-format off */
const struct tf_backend TABLE(TF_REF_NAME) = {
    .abi = TF_BACKEND_ABI,
    .name = DOUBLE ? "ref64" : "ref",
    .precision = DOUBLE ? "fp64" : "fp32",
    .supports = TF_USE_ANY,
    .default_for = TF_USE_ANY,
    .shards = 1,
    .threads = true,
    .host = true,
    .norm_chunk = TF_HOST_NORM_CHUNK,
    .poll = 1,
    .elem_size = TF_HOST_ELEM_SIZES(tf_real),
    .open = open_lane,
    .describe = describe_lane,
    .kernels = kernels,
    TF_HOST_ENTRIES
    TF_ACT_OPS(ENTRY)
    TF_PACKED_OPS(ENTRY)
    TF_VALUE_OPS(ENTRY)
    TF_SELECT_OPS(ENTRY)
};
