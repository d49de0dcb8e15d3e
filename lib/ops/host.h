/* host.h - what the backends on host memory (ops/ref and ops/cpu) share: the lane, row spaces, and
 * all of TF_LANE_OPS. Nothing is queued: every operation is finished when it returns. Contracts:
 * ops/backend.h. */
#ifndef TF_OPS_HOST_H
#define TF_OPS_HOST_H

#include "base/arena.h"
#include "ops/backend.h"

/* A row space. Rows of an activation are counted from 0 in the buffer; off[] counts packed rows of
 * the whole batch, of which this space may be a part: buffer row i is packed row off[0] + i, and
 * sentence s owns buffer rows off[s] - off[0] .. off[s+1] - off[0] - 1. */
struct tf_rows {
    size_t cap_rows, cap_sentences; /* limits given to rows_new */
    size_t n;                       /* sentences now; 0 until rows_set */
    uint32_t *off;                  /* own copy, n + 1 of cap_sentences + 1 entries in use */
};

static inline size_t tf_rows_count(const struct tf_rows *r)
{
    return r->off[r->n] - r->off[0];
}

/* A lane. Scratch buffers are kept from operation to operation, but not their contents. */
enum { TF_HOST_SCRATCHES = 7, TF_HOST_NORM_CHUNK = 65536 };
struct tf_ctx {
    const struct tf_backend *be; /* the table that it was opened from */
    struct tf_rng_state rng;
    struct tf_arena packed; /* weights: matrix by matrix they would be in small pages */
    struct {
        void *base, *p; /* as allocated; 64-byte aligned */
        size_t size;
    } scratch[TF_HOST_SCRATCHES];
};

/* The `open`, `probe` and `devices` of a table: they always succeed. */
struct tf_ctx *tf_host_open(const struct tf_backend *be);
tf_probe_fn tf_host_probe;
tf_devices_fn tf_host_devices;

/* At least `size` bytes, 64-byte aligned, not cleared, valid until the same buffer (which <
 * TF_HOST_SCRATCHES) is requested again. */
void *tf_host_scratch(struct tf_ctx *c, int which, size_t size);

#define TF_HOST_OP(op) tf_##op##_fn tf_host_##op;
TF_LANE_OPS(TF_HOST_OP)
#undef TF_HOST_OP

/* For the initialiser of a table whose PARAM, ACT and STAT are `real`. */
#define TF_HOST_ELEM_SIZES(real)                                         \
    {                                                                    \
        [TF_ELEM_PARAM] = sizeof(real), [TF_ELEM_ACT] = sizeof(real),    \
        [TF_ELEM_STAT] = sizeof(real), [TF_ELEM_U32] = sizeof(uint32_t), \
        [TF_ELEM_F64] = sizeof(double), [TF_ELEM_WEIGHT] = sizeof(real), \
    }
#define TF_HOST_ENTRY(op) .op = tf_host_##op,
#define TF_HOST_ENTRIES \
    .probe = tf_host_probe, .devices = tf_host_devices, TF_LANE_OPS(TF_HOST_ENTRY)

#endif
