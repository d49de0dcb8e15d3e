/* team.c - see team.h. */
#include "train/ranks/team.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/version.h"
#include "ops/registry.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what each rank has to say ---- */

int tf_team_share(struct tf_team *t, void *all, const void *mine, size_t n, struct tf_err *err)
{
    size_t ranks = (size_t)t->comm.size, *edge = tf_xarray(NULL, ranks + 1, sizeof *edge);
    for (size_t i = 0; i <= ranks; i++)
        edge[i] = i * n;
    memcpy((char *)all + edge[tf_comm_slot(&t->comm, t->comm.rank)], mine, n);
    int rc = tf_comm_gather(&t->comm, all, edge, err);
    free(edge);
    return rc;
}

struct vote {
    int status, signal;
    double worked;
    char msg[256];
    double sums[TF_VOTE_SUMS];
};

int tf_team_vote(struct tf_team *t, const struct tf_err *mine, int signal, int *any, double *sums,
                 size_t n, struct tf_err *err)
{
    const size_t size = offsetof(struct vote, sums) + n * sizeof *sums;
    struct vote *all = tf_xcalloc((size_t)t->comm.size, sizeof *all),
                own = {.status = mine->status, .signal = signal, .worked = t->worked};
    char *at = (char *)all;
    TF_ASSERT(n <= TF_VOTE_SUMS);
    snprintf(own.msg, sizeof own.msg, "%.255s", mine->msg);
    if (n > 0)
        memcpy(own.sums, sums, n * sizeof *sums);
    int rc = tf_team_share(t, all, &own, size, err);
    for (size_t i = 0; i < n; i++)
        sums[i] = 0;
    double longest = -1;
    int heard = 0;
    t->worked = 0;
    for (int rank = 0; rc == 0 && rank < t->comm.size; rank++) {
        struct vote v = {0};
        memcpy(&v, at + size * (size_t)tf_comm_slot(&t->comm, rank), size);
        if (v.status != 0) {
            rc = tf_fail_status(err, v.status, "%s", v.msg);
            if (rank > 0)
                tf_context(err, "rank %d (%s)", rank, t->comm.host[rank]);
        }
        if (v.signal != 0 && (heard == 0 || heard == SIGUSR1))
            heard = v.signal;
        if (v.worked > longest) {
            longest = v.worked;
            t->slowest = rank;
        }
        for (size_t i = 0; i < n; i++)
            sums[i] += v.sums[i];
    }
    if (any != NULL)
        *any = heard;
    free(all);
    return rc;
}

int tf_team_heard(struct tf_team *t)
{
    int signal = t->heard;
    t->heard = 0;
    return signal;
}

int tf_team_compare(struct tf_team *t, uint32_t number, const char *what, struct tf_err *err)
{
    uint32_t *all = tf_xcalloc((size_t)t->comm.size, sizeof *all);
    int rc = tf_team_share(t, all, &number, sizeof number, err);
    for (int rank = 1; rc == 0 && rank < t->comm.size; rank++)
        if (all[tf_comm_slot(&t->comm, rank)] != all[0])
            rc = tf_fail(err, "rank %d (%s): other %s than on rank 0 (%s): a fault of the machine",
                         rank, t->comm.host[rank], what, t->comm.host[0]);
    free(all);
    return rc;
}

/* ---- joining ---- */

/* What a rank says first. */
struct hello {
    char build[64], kernels[256], precision[8];
    cpu_set_t cpus; /* that it may use */
};

static const char *different(const struct hello *a, const struct hello *b)
{
    return strcmp(a->build, b->build) != 0           ? "version"
           : strcmp(a->kernels, b->kernels) != 0     ? "kernels"
           : strcmp(a->precision, b->precision) != 0 ? "--precision"
                                                     : NULL;
}

static int compare_hellos(struct tf_team *t, const struct hello *all, struct tf_err *err)
{
    const struct tf_comm *c = &t->comm;
    const struct hello *first = &all[0], *own = &all[tf_comm_slot(c, c->rank)];
    for (int rank = 0; rank < c->size; rank++) {
        const struct hello *h = &all[tf_comm_slot(c, rank)];
        const char *what = different(h, first);
        if (what != NULL)
            return tf_fail(err, "rank %d (%s) and rank 0 (%s) differ in %s: %s %s, %s %s", rank,
                           c->host[rank], c->host[0], what, h->build, h->kernels, first->build,
                           first->kernels);
        t->sharing +=
            strcmp(c->host[rank], c->host[c->rank]) == 0 && CPU_EQUAL(&h->cpus, &own->cpus);
    }
    return 0;
}

static int greet(struct tf_team *t, struct tf_err *err)
{
    struct hello own = {0}, *all = tf_xcalloc((size_t)t->comm.size, sizeof *all);
    snprintf(own.build, sizeof own.build, "%s", tf_build);
    snprintf(own.kernels, sizeof own.kernels, "%s", t->be->kernels());
    snprintf(own.precision, sizeof own.precision, "%s", t->be->precision);
    sched_getaffinity(0, sizeof own.cpus, &own.cpus);
    int rc = tf_team_share(t, all, &own, sizeof own, err);
    if (rc == 0)
        rc = compare_hellos(t, all, err);
    free(all);
    return rc;
}

/* How many ranks before this one run on the same machine. */
static int number_on_host(const struct tf_comm *c)
{
    int n = 0;
    for (int rank = 0; rank < c->rank; rank++)
        n += strcmp(c->host[rank], c->host[c->rank]) == 0;
    return n;
}

static int find_backend(struct tf_team *t, const char *device, const char *precision,
                        struct tf_err *err)
{
    const struct tf_err well = {0};
    struct tf_err mine = {0};
    t->be =
        tf_backend_find_shared(device, number_on_host(&t->comm), precision, TF_USE_TRAINING, &mine);
    return tf_team_vote(t, t->be != NULL ? &well : &mine, 0, NULL, NULL, 0, err);
}

int tf_team_open(struct tf_team *t, enum tf_comm_use use, double limit, const char *device,
                 const char *precision, struct tf_err *err)
{
    *t = (struct tf_team){0};
    if (tf_comm_open(&t->comm, use, limit, err) != 0)
        return -1;
    if (t->comm.size == 1)
        return 0;
    if (find_backend(t, device, precision, err) != 0 || greet(t, err) != 0)
        return -1;
    t->joined = true;
    return 0;
}

void tf_team_close(struct tf_team *t, int status)
{
    struct tf_err err = {0};
    const struct tf_order quit = {.kind = TF_ORDER_QUIT, .status = status};
    if (t->joined && !t->comm.failed && tf_team_order(t, quit, NULL, 0, 0, 0, &err) != 0)
        tf_warn("%s", err.msg);
    if (t->comm.failed)
        tf_comm_abort(&t->comm, status);
    tf_comm_close(&t->comm);
}

bool tf_team_silent(const struct tf_team *t)
{
    const double often = t->comm.limit / 4;
    return tf_now() - t->ordered >= (often < 1 ? often : 1);
}

int tf_team_lost(struct tf_team *t)
{
    t->comm.failed = true;
    return -1;
}

/* ---- orders ---- */

int tf_team_order(struct tf_team *t, struct tf_order order, const void *bytes, size_t n, int first,
                  int last, struct tf_err *err)
{
    if (t->comm.rank > 0)
        return 0;
    const int ranks = t->comm.size;
    struct tf_order with = order;
    struct tf_comm_piece *piece = tf_xcalloc(2 * (size_t)ranks, sizeof *piece);
    int k = 0;
    with.n = n;
    for (int rank = 1; rank < ranks; rank++) {
        bool more = n > 0 && first <= rank && rank < last;
        piece[k++] = (struct tf_comm_piece){.peer = rank,
                                            .out = more ? &with : &order,
                                            .n_out = sizeof order};
        if (more)
            piece[k++] = (struct tf_comm_piece){.peer = rank, .out = bytes, .n_out = n};
    }
    int rc = tf_comm_swap(&t->comm, piece, k, err);
    free(piece);
    t->ordered = tf_now();
    return rc;
}

int tf_team_receive(struct tf_team *t, struct tf_order *order, struct tf_buf *b, struct tf_err *err)
{
    struct tf_comm_piece piece = {.peer = 0, .in = order, .n_in = sizeof *order};
    if (tf_comm_swap(&t->comm, &piece, 1, err) != 0)
        return -1;
    if (order->n == 0)
        return 0;
    tf_buf_clear(b);
    piece.n_in = order->n;
    piece.in = tf_buf_grow(b, piece.n_in);
    return tf_comm_swap(&t->comm, &piece, 1, err);
}
