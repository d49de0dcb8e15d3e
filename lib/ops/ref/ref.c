/* ref.c - the tables of the reference backends: "ref" in float and "ref64" in double. */
#include "ops/ref/ref.h"

#define DOUBLE (sizeof(tf_real) == sizeof(double))

static int probe(struct tf_err *err)
{
    (void)err;
    return 0;
}

static const char *describe(struct tf_ctx *c)
{
    (void)c;
    return DOUBLE ? "plain loops, double" : "plain loops, float";
}

static size_t free_memory(struct tf_ctx *c)
{
    (void)c;
    return 0;
}

#define TABLE_(name) tf_backend_ref_##name
#define TABLE(name) TABLE_(name)

const struct tf_backend TABLE(TF_REF_NAME) = {
    .abi = TF_BACKEND_ABI,
    .name = DOUBLE ? "ref64" : "ref",
    .precision = DOUBLE ? "fp64" : "fp32",
    .supports = TF_USE_ANY,
    .default_for = TF_USE_ANY,
    .shards = 1,
    .threads = true,
    .poll = 1,
    .elem_size =
        {
            [TF_ELEM_PARAM] = sizeof(tf_real),
            [TF_ELEM_ACT] = sizeof(tf_real),
            [TF_ELEM_STAT] = sizeof(tf_real),
            [TF_ELEM_U32] = sizeof(uint32_t),
            [TF_ELEM_F64] = sizeof(double),
        },
    .probe = probe,
    .open = TF_REF(open),
    .close = TF_REF(close),
    .describe = describe,
    .set_tuning = tf_nothing_to_choose,
    .start_tuning = tf_nothing_to_tune,
    .get_tuning = tf_nothing_tuned,
    .alloc = TF_REF(alloc),
    .free = TF_REF(free),
    .upload = TF_REF(upload),
    .download = TF_REF(download),
    .download_async = TF_REF(download_async),
    .download_wait = TF_REF(download_wait),
    .free_memory = free_memory,
    .zero = TF_REF(zero),
    .copy = TF_REF(copy),
    .sync = TF_REF(sync),
    .rows_new = TF_REF(rows_new),
    .rows_free = TF_REF(rows_free),
    .rows_set = TF_REF(rows_set),
    .rows_shape = tf_rows_no_shape,
    .set_rng_state = TF_REF(set_rng_state),
    .graph_begin = TF_REF(graph_begin),
    .graph_end = TF_REF(graph_end),
    .embed_fwd = TF_REF(embed_fwd),
    .embed_bwd = TF_REF(embed_bwd),
    .linear_fwd = TF_REF(linear_fwd),
    .linear_bwd = TF_REF(linear_bwd),
    .add_norm_fwd = TF_REF(add_norm_fwd),
    .add_norm_bwd = TF_REF(add_norm_bwd),
    .attention_fwd = TF_REF(attention_fwd),
    .attention_bwd = TF_REF(attention_bwd),
    .xent = TF_REF(xent),
    .add = TF_REF(add),
    .sumsq = TF_REF(sumsq),
    .sum = TF_REF(sum),
    .adam = TF_REF(adam),
    .ema = TF_REF(ema),
    .pack = TF_REF(pack),
    .pack_free = TF_REF(pack_free),
    .linear_packed = TF_REF(linear_packed),
    .embed_rows = TF_REF(embed_rows),
    .add_norm_rows = TF_REF(add_norm_rows),
    .cached_attention = TF_REF(cached_attention),
    .scatter_rows = TF_REF(scatter_rows),
    .log_softmax = TF_REF(log_softmax),
    .log_inplace = TF_REF(log_inplace),
    .search_step = TF_REF(search_step),
};
