/* kern.c - the table of one instruction set's kernels. */
#include "ops/cpu/kern.h"

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)
#define TABLE_(isa) tf_cpu_kernels_##isa
#define TABLE(isa) TABLE_(isa)

const struct tf_cpu_kernels TABLE(TF_ISA) = {
    .isa = TEXT(TF_ISA),
    .embed_fwd = TF_CPU(embed_fwd),
    .embed_bwd = TF_CPU(embed_bwd),
    .linear_fwd = TF_CPU(linear_fwd),
    .linear_bwd = TF_CPU(linear_bwd),
    .add_norm_fwd = TF_CPU(add_norm_fwd),
    .add_norm_bwd = TF_CPU(add_norm_bwd),
    .attention_fwd = TF_CPU(attention_fwd),
    .attention_bwd = TF_CPU(attention_bwd),
    .xent = TF_CPU(xent),
    .add = TF_CPU(add),
    .sumsq = TF_CPU(sumsq),
    .adam = TF_CPU(adam),
    .ema = TF_CPU(ema),
    .packing = {.pack = TF_CPU(pack), .free = TF_CPU(pack_free), .linear = TF_CPU(linear_packed)},
    .embed_rows = TF_CPU(embed_rows),
    .add_norm_rows = TF_CPU(add_norm_rows),
    .cached_attention = TF_CPU(cached_attention),
    .log_softmax = TF_CPU(log_softmax),
    .log_inplace = TF_CPU(log_inplace),
};
