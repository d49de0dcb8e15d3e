/* rows.h - the row space of the backends whose memory is host memory (ops/ref and ops/cpu). Rows of
 * an activation are counted from 0 in the buffer; off[] counts packed rows of the whole batch, of
 * which this space may be a part: buffer row i is packed row off[0] + i, and sentence s owns buffer
 * rows off[s] - off[0] .. off[s+1] - off[0] - 1. */
#ifndef TF_OPS_ROWS_H
#define TF_OPS_ROWS_H

#include <stddef.h>
#include <stdint.h>

struct tf_rows {
    size_t cap_rows, cap_sentences; /* limits given to rows_new */
    size_t n;                       /* sentences now; 0 until rows_set */
    /* own copy, n + 1 entries, cap_sentences + 1 allocated; off[0] = packed row of the first row */
    uint32_t *off;
};

static inline size_t tf_rows_count(const struct tf_rows *r)
{
    return r->off[r->n] - r->off[0];
}

#endif
