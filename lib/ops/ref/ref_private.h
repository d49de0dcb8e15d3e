/* ref_private.h - what the files of the reference backend share: plain loops over tf_real with sums
 * in double. Compiled twice, with -DTF_REAL=float -DTF_REF_NAME=f32 and with -DTF_REAL=double
 * -DTF_REF_NAME=f64; TF_REF(name) keeps the symbols of the two apart. Contracts: ops/backend.h. */
#ifndef TF_OPS_REF_REF_PRIVATE_H
#define TF_OPS_REF_REF_PRIVATE_H

#include "ops/host.h"

#include <math.h>

#if !defined TF_REAL || !defined TF_REF_NAME
#error "ops/ref is compiled with -DTF_REAL=float -DTF_REF_NAME=f32, and with double and f64"
#endif

typedef TF_REAL tf_real;

#define TF_REF_PASTE_(name, op) tf_ref_##name##_##op
#define TF_REF_PASTE(name, op) TF_REF_PASTE_(name, op)
#define TF_REF(op) TF_REF_PASTE(TF_REF_NAME, op)

#define TF_REF_OP(op) tf_##op##_fn TF_REF(op);
TF_ACT_OPS(TF_REF_OP)
TF_PACKED_OPS(TF_REF_OP)
TF_VALUE_OPS(TF_REF_OP)
TF_SELECT_OPS(TF_REF_OP)
#undef TF_REF_OP

/* Elements from i on. PARAM, ACT and STAT are all tf_real here. */
static inline const tf_real *in(const tf_mem *p, size_t i)
{
    return (const tf_real *)p + i;
}
static inline tf_real *out(tf_mem *p, size_t i)
{
    return (tf_real *)p + i;
}

static inline double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

/* n doubles, not cleared, valid until the next call on this lane. */
static inline double *tf_ref_scratch(struct tf_ctx *c, size_t n)
{
    return tf_host_scratch(c, 0, n * sizeof(double));
}

/* The factor of dropout for element (row, column) of a site: 0, or 1 / (1 - p). row is packed. */
double TF_REF(dropout_factor)(const struct tf_ctx *c, struct tf_dropout dropout, size_t row,
                              size_t column);

#endif
