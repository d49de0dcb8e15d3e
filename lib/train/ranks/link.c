/* link.c - see link_private.h. */
#include "train/ranks/link_private.h"
#include "base/log.h"
#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A rank's device, or why it has no link. */
struct card {
    bool able;
    struct tf_link_info info;
    char why[128];
};

/* Of the ranks before this one on the same machine, the one that uses the same device; or -1. */
static int shares_device(const struct tf_team *t, const struct card *all, int rank)
{
    const struct tf_comm *c = &t->comm;
    const struct card *own = &all[tf_comm_slot(c, rank)];
    for (int r = 0; r < rank; r++)
        if (strcmp(c->host[r], c->host[rank]) == 0 &&
            strcmp(all[tf_comm_slot(c, r)].info.device, own->info.device) == 0)
            return r;
    return -1;
}

/* Can they be linked? If not, why. */
static bool can_link(const struct tf_team *t, const struct card *all, char *why, size_t size)
{
    const struct tf_comm *c = &t->comm;
    for (int rank = 0, other; rank < c->size; rank++) {
        const struct card *own = &all[tf_comm_slot(c, rank)];
        if (!own->able)
            snprintf(why, size, "rank %d (%s): %s", rank, c->host[rank], own->why);
        else if (strcmp(own->info.library, all[0].info.library) != 0)
            snprintf(why, size, "rank %d (%s) has %s, rank 0 (%s) %s", rank, c->host[rank],
                     own->info.library, c->host[0], all[0].info.library);
        else if ((other = shares_device(t, all, rank)) >= 0)
            snprintf(why, size, "ranks %d and %d (%s) use the same GPU", other, rank,
                     c->host[rank]);
        else
            continue;
        return false;
    }
    return true;
}

/* The device's library waits for other ranks without a limit of its own. */
static void set_deadline(const struct tf_team *t, double seconds)
{
    char text[100] = "";
    if (t->comm.rank == 0)
        snprintf(text, sizeof text, "GPUs: no answer for %g s from one of %d ranks", seconds,
                 t->comm.size);
    tf_deadline(seconds, text);
}

static void close_link(struct tf_team *t, struct tf_ctx *ctx, bool stop)
{
    set_deadline(t, 2 * t->comm.limit + 1);
    t->be->link_close(ctx, stop);
    tf_deadline(0, NULL);
    t->link[0] = 0;
}

/* Exchange the elements of `pair` with every rank that training will exchange with (parts.c). The
 * library connects two devices at their first exchange, on the host: here that has a deadline. */
static int meet(struct tf_team *t, struct tf_ctx *ctx, tf_mem *pair, struct tf_err *err)
{
    const enum tf_elem e = TF_ELEM_U32;
    set_deadline(t, t->comm.limit + 1);
    for (int bit = 1; bit < t->comm.size; bit *= 2)
        t->be->send_receive(ctx, t->comm.rank ^ bit, e, pair, 1, tf_at(t->be, e, pair, 1), 1);
    int rc = t->be->sync_within(ctx, t->comm.limit, err);
    tf_deadline(0, NULL);
    return rc;
}

static int open_all(struct tf_team *t, struct tf_ctx *ctx, const struct tf_link_info *info,
                    tf_mem *pair, struct tf_err *err)
{
    struct tf_err mine = {0};
    set_deadline(t, t->comm.limit + 10);
    int rc = t->be->link_open(ctx, info, t->comm.rank, t->comm.size, &mine);
    tf_deadline(0, NULL);
    if (rc == 0)
        memcpy(t->link, info->library, sizeof t->link);
    rc = tf_team_vote(t, &mine, 0, NULL, NULL, 0, err);
    if (rc == 0) {
        (void)meet(t, ctx, pair, &mine);
        rc = tf_team_vote(t, &mine, 0, NULL, NULL, 0, err);
    }
    if (rc != 0)
        close_link(t, ctx, true);
    return rc;
}

int tf_link_open(struct tf_team *t, struct tf_ctx *ctx, struct tf_err *err)
{
    struct card own = {0}, *all = tf_xcalloc((size_t)t->comm.size, sizeof *all);
    struct tf_err none = {0};
    char why[256] = "";
    tf_mem *pair = NULL;
    own.able = t->be->link_info(ctx, &own.info, t->comm.rank == 0, &none) == 0 &&
               (pair = t->be->alloc(ctx, TF_ELEM_U32, 2, &none)) != NULL;
    snprintf(own.why, sizeof own.why, "%.127s", none.msg);
    int rc = tf_team_share(t, all, &own, sizeof own, err);
    if (rc == 0 && can_link(t, all, why, sizeof why))
        rc = open_all(t, ctx, &all[0].info, pair, err);
    else if (rc == 0 && t->comm.rank == 0)
        tf_note("GPUs exchange through host memory: %s", why);
    t->be->free(ctx, pair);
    free(all);
    return rc;
}

void tf_link_close(struct tf_team *t, struct tf_ctx *ctx)
{
    if (t->link[0] == 0)
        return;
    close_link(t, ctx, t->comm.failed);
}

int tf_link_wait(struct tf_team *t, struct tf_ctx *ctx, struct tf_err *err)
{
    const double start = tf_now();
    set_deadline(t, 2 * t->comm.limit + 1); /* also after a failure, which ends what is queued */
    int rc = t->be->sync_within(ctx, t->comm.limit, err);
    tf_deadline(0, NULL);
    t->comm.failed |= rc != 0;
    t->comm.waited += tf_now() - start;
    return rc;
}
