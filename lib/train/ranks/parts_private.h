/* parts_private.h - the parts of the weights that ranks own, and moving whole blocks and parts
 * between them. A block has one element of the backend's PARAM for each weight. It is cut by slot
 * (comm.h) into parts of whole be->norm_chunk.
 *
 * Gradients, norms and weights go from device to device where those are linked (link_private.h).
 * Otherwise, and with all else, ranks exchange host memory, and what is in a device's is copied to
 * the host and back. A failure of the device leaves the team broken, since the other ranks do not
 * know. */
#ifndef TF_TRAIN_RANKS_PARTS_PRIVATE_H
#define TF_TRAIN_RANKS_PARTS_PRIVATE_H

#include "train/ranks/team.h"

struct tf_parts {
    struct tf_team *team;
    const struct tf_backend *be;
    struct tf_ctx *ctx;
    size_t n;        /* elements of a block */
    size_t from, to; /* those of our part; from is 0 on rank 0 */
    size_t *edge;    /* [ranks + 1]: where parts begin, by slot */
    /* a block in host memory; NULL where that is backend memory, and where devices are linked */
    char *stage;
};

/* Cut n elements between chunks. team and be are borrowed, and p->ctx, which the caller sets before
 * the next call. On failure too, *p must be released. */
int tf_parts_init(struct tf_parts *p, struct tf_team *team, const struct tf_backend *be, size_t n,
                  struct tf_err *err) TF_MUST_CHECK;
/* All ranks at once, after tf_parts_init and before the first exchange: link their devices. */
int tf_parts_link(struct tf_parts *p, struct tf_err *err) TF_MUST_CHECK;
/* Before the lane's memory is freed. */
void tf_parts_release(struct tf_parts *p);

/* Sum a block over all ranks, in our part of `total`: the levels of the tree above the ranks. The
 * rest of it and the block `theirs` are overwritten. add(arg, ...): total += theirs in a range. May
 * only queue: a gather must follow, which waits, for another rank no longer than it may take. */
typedef void tf_parts_add_fn(void *arg, tf_mem *total, tf_mem *theirs, size_t from, size_t to);
int tf_parts_reduce(const struct tf_parts *p, tf_mem *total, tf_mem *theirs, tf_parts_add_fn *add,
                    void *arg, struct tf_err *err) TF_MUST_CHECK;
/* All parts to all ranks. `base` has an element of this kind for each `per` elements of a block;
 * per is 1 for PARAM and at least 2 for F64. */
int tf_parts_gather(const struct tf_parts *p, tf_mem *base, enum tf_elem e, size_t per,
                    struct tf_err *err) TF_MUST_CHECK;
/* From rank 0: each rank gets all of a block, or its part (parts). from: host floats on rank 0; to:
 * backend memory on the others, of n elements or those of the part. */
int tf_parts_spread(const struct tf_parts *p, const float *from, tf_mem *to, bool parts,
                    struct tf_err *err) TF_MUST_CHECK;
/* To rank 0: the part `src` of each rank, as host floats of a block in dst (NULL on the others). */
int tf_parts_collect(const struct tf_parts *p, float *dst, const tf_mem *src,
                     struct tf_err *err) TF_MUST_CHECK;

#endif
