/* parts.c - see parts_private.h. */
#include "train/ranks/parts_private.h"
#include "base/memory.h"
#include "ops/floats.h"
#include "train/ranks/link_private.h"

#include <stdlib.h>

int tf_parts_init(struct tf_parts *p, struct tf_team *team, const struct tf_backend *be, size_t n,
                  struct tf_err *err)
{
    *p = (struct tf_parts){.team = team, .be = be, .n = n};
    const struct tf_comm *c = &team->comm;
    const size_t chunk = be->norm_chunk, chunks = (n + chunk - 1) / chunk, ranks = (size_t)c->size;
    const int slot = tf_comm_slot(c, c->rank);
    p->edge = tf_xarray(NULL, ranks + 1, sizeof *p->edge);
    for (size_t i = 0; i <= ranks; i++)
        p->edge[i] = i < ranks ? chunks * i / ranks * chunk : n;
    p->from = p->edge[slot];
    p->to = p->edge[slot + 1];
    /* Also enough for the F64 of chunks, even if there is only one. */
    const size_t size = n * be->elem_size[TF_ELEM_PARAM] + sizeof(double);
    if (!be->host && (p->stage = malloc(size)) == NULL)
        return tf_fail(err, "no memory for %.3g MB to exchange gradients", (double)size / 1e6);
    return 0;
}

static bool linked(const struct tf_parts *p)
{
    return p->team->link[0] != 0;
}

int tf_parts_link(struct tf_parts *p, struct tf_err *err)
{
    if (p->be->host)
        return 0;
    if (tf_link_open(p->team, p->ctx, err) != 0)
        return -1;
    if (linked(p)) {
        free(p->stage);
        p->stage = NULL;
    }
    return 0;
}

void tf_parts_release(struct tf_parts *p)
{
    tf_link_close(p->team, p->ctx);
    free(p->edge);
    free(p->stage);
    *p = (struct tf_parts){0};
}

/* ---- between the device and the host memory that ranks exchange ---- */

/* Element i of x, or its place in host memory. */
static void *host_at(const struct tf_parts *p, tf_mem *x, enum tf_elem e, size_t i)
{
    return tf_at(p->be, e, p->stage != NULL ? (tf_mem *)p->stage : x, i);
}

/* Afterwards earlier copies have ended, too, also when the range is empty. */
static int to_host(const struct tf_parts *p, const tf_mem *x, enum tf_elem e, size_t from,
                   size_t to, struct tf_err *err)
{
    if (p->stage == NULL)
        return 0;
    return p->be->download(p->ctx, tf_at(p->be, e, p->stage, from), e, tf_at(p->be, e, x, from),
                           to - from, err) == 0
               ? 0
               : tf_team_lost(p->team);
}

static void to_device(const struct tf_parts *p, tf_mem *x, enum tf_elem e, size_t from, size_t to)
{
    if (p->stage != NULL && from < to)
        p->be->upload(p->ctx, tf_at(p->be, e, x, from), e, tf_at(p->be, e, p->stage, from),
                      to - from);
}

/* ---- exchanges ---- */

/* PARAMs from .. to - 1 of `in` from a rank, and others of `out` to it. */
static int swap_params(const struct tf_parts *p, int peer, tf_mem *out, size_t out_from,
                       size_t out_to, tf_mem *in, size_t from, size_t to, struct tf_err *err)
{
    const enum tf_elem e = TF_ELEM_PARAM;
    const size_t size = p->be->elem_size[e];
    if (linked(p)) {
        p->be->send_receive(p->ctx, peer, e, tf_at(p->be, e, out, out_from), out_to - out_from,
                            tf_at(p->be, e, in, from), to - from);
        return 0;
    }
    const struct tf_comm_piece piece = {
        .peer = peer,
        .out = host_at(p, out, e, out_from),
        .n_out = (out_to - out_from) * size,
        .in = host_at(p, in, e, from),
        .n_in = (to - from) * size,
    };
    if (to_host(p, out, e, out_from, out_to, err) != 0 ||
        tf_comm_swap(&p->team->comm, &piece, 1, err) != 0)
        return -1;
    to_device(p, in, e, from, to);
    return 0;
}

/* Neighbours exchange halves of the block and each adds one, then quarters with the next, and so
 * on, until each has its own part. */
int tf_parts_reduce(const struct tf_parts *p, tf_mem *total, tf_mem *theirs, tf_parts_add_fn *add,
                    void *arg, struct tf_err *err)
{
    const struct tf_comm *c = &p->team->comm;
    for (int bit = 1, first = 0, last = c->size; bit < c->size; bit *= 2) {
        const int middle = (first + last) / 2;
        const bool upper = (c->rank & bit) != 0;
        const size_t *edge = p->edge, from = edge[upper ? middle : first],
                     to = edge[upper ? last : middle], other = edge[upper ? first : middle],
                     other_to = edge[upper ? middle : last];
        if (swap_params(p, c->rank ^ bit, total, other, other_to, theirs, from, to, err) != 0)
            return -1;
        add(arg, total, theirs, from, to);
        *(upper ? &first : &last) = middle;
    }
    return 0;
}

/* edge: where the parts begin in `base`. By the same steps as tf_comm_gather. */
static int gather_linked(const struct tf_parts *p, tf_mem *base, enum tf_elem e, const size_t *edge,
                         struct tf_err *err)
{
    const struct tf_comm *c = &p->team->comm;
    for (int n = 1; n < c->size; n *= 2) {
        const struct tf_comm_step s = tf_comm_gather_step(c, n);
        p->be->send_receive(p->ctx, s.peer, e, tf_at(p->be, e, base, edge[s.ours]),
                            edge[s.ours + n] - edge[s.ours], tf_at(p->be, e, base, edge[s.theirs]),
                            edge[s.theirs + n] - edge[s.theirs]);
    }
    return tf_link_wait(p->team, p->ctx, err);
}

static int gather_by_host(const struct tf_parts *p, tf_mem *base, enum tf_elem e,
                          const size_t *edge, struct tf_err *err)
{
    struct tf_comm *c = &p->team->comm;
    const size_t ranks = (size_t)c->size, size = p->be->elem_size[e],
                 slot = (size_t)tf_comm_slot(c, c->rank);
    size_t *bytes = tf_xarray(NULL, ranks + 1, sizeof *bytes);
    for (size_t i = 0; i <= ranks; i++)
        bytes[i] = edge[i] * size;
    int rc = to_host(p, base, e, edge[slot], edge[slot + 1], err);
    if (rc == 0)
        rc = tf_comm_gather(c, host_at(p, base, e, 0), bytes, err);
    if (rc == 0) {
        to_device(p, base, e, 0, edge[slot]);
        to_device(p, base, e, edge[slot + 1], edge[ranks]);
    }
    free(bytes);
    return rc;
}

int tf_parts_gather(const struct tf_parts *p, tf_mem *base, enum tf_elem e, size_t per,
                    struct tf_err *err)
{
    const size_t ranks = (size_t)p->team->comm.size;
    size_t *edge = tf_xarray(NULL, ranks + 1, sizeof *edge);
    for (size_t i = 0; i <= ranks; i++)
        edge[i] = (p->edge[i] + per - 1) / per;
    int rc = (linked(p) ? gather_linked : gather_by_host)(p, base, e, edge, err);
    free(edge);
    return rc;
}

/* The pieces of all other ranks in a block of rank 0, for it to send or to receive. */
static struct tf_comm_piece *pieces(const struct tf_parts *p, const float *out, float *in,
                                    bool parts)
{
    const struct tf_comm *c = &p->team->comm;
    struct tf_comm_piece *all = tf_xcalloc((size_t)c->size, sizeof *all);
    for (int rank = 1; rank < c->size; rank++) {
        const int slot = tf_comm_slot(c, rank);
        const size_t from = parts ? p->edge[slot] : 0, to = parts ? p->edge[slot + 1] : p->n,
                     bytes = (to - from) * sizeof(float);
        all[rank - 1].peer = rank;
        if (out != NULL) {
            all[rank - 1].out = out + from;
            all[rank - 1].n_out = bytes;
        } else {
            all[rank - 1].in = in + from;
            all[rank - 1].n_in = bytes;
        }
    }
    return all;
}

int tf_parts_spread(const struct tf_parts *p, const float *from, tf_mem *to, bool parts,
                    struct tf_err *err)
{
    const size_t n = parts ? p->to - p->from : p->n;
    if (p->team->comm.rank == 0) {
        struct tf_comm_piece *all = pieces(p, from, NULL, parts);
        int rc = tf_comm_swap(&p->team->comm, all, p->team->comm.size - 1, err);
        free(all);
        return rc;
    }
    float *x = tf_xarray(NULL, n + 1, sizeof *x);
    const struct tf_comm_piece piece = {.peer = 0, .in = x, .n_in = n * sizeof *x};
    int rc = tf_comm_swap(&p->team->comm, &piece, 1, err);
    if (rc == 0) {
        tf_floats_up(p->be, p->ctx, to, TF_ELEM_PARAM, x, n);
        if (p->be->sync(p->ctx, err) != 0)
            rc = tf_team_lost(p->team);
    }
    free(x);
    return rc;
}

/* Our part. */
static int part_down(const struct tf_parts *p, float *dst, const tf_mem *src, struct tf_err *err)
{
    return tf_floats_down(p->be, p->ctx, dst, TF_ELEM_PARAM, src, p->to - p->from, err) == 0
               ? 0
               : tf_team_lost(p->team);
}

int tf_parts_collect(const struct tf_parts *p, float *dst, const tf_mem *src, struct tf_err *err)
{
    const size_t n = p->to - p->from;
    if (p->team->comm.rank == 0) {
        struct tf_comm_piece *all = pieces(p, NULL, dst, true);
        int rc = part_down(p, dst, src, err);
        if (rc == 0)
            rc = tf_comm_swap(&p->team->comm, all, p->team->comm.size - 1, err);
        free(all);
        return rc;
    }
    float *x = tf_xarray(NULL, n + 1, sizeof *x);
    const struct tf_comm_piece piece = {.peer = 0, .out = x, .n_out = n * sizeof *x};
    int rc = part_down(p, x, src, err);
    if (rc == 0)
        rc = tf_comm_swap(&p->team->comm, &piece, 1, err);
    free(x);
    return rc;
}
