/* comm.c - see comm.h. */
#include "comm/comm.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/parse.h"
#include "base/plugin.h"

#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

const char *const tf_comm_uses[] = {"auto", "mpi", "none", NULL};

/* ---- joining ---- */

/* The variables in which launchers tell a process the number of ranks and its own. The first that
 * are set count. srun sets those of PMI, too, unless it is called with --mpi=pmix. */
static const struct launcher {
    const char *size, *rank, *plugin;
} launchers[] = {
    {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "tf-comm-openmpi.so"},
    {"PMI_SIZE", "PMI_RANK", "tf-comm-mpich.so"},
    {"SLURM_STEP_NUM_TASKS", "SLURM_PROCID", "tf-comm-openmpi.so"},
};

static bool read_count(int *n, const char *variable)
{
    struct tf_err ignored;
    int64_t x;
    const char *text = getenv(variable);
    if (text == NULL || tf_parse_int(&x, text, 0, INT_MAX, &ignored) != 0)
        return false;
    *n = (int)x;
    return true;
}

/* A launcher that this program does not understand, or what is left of one: without a word each of
 * its processes would be a run of its own. */
static void warn_half_set(void)
{
    int size, rank;
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++)
        if (read_count(&size, launchers[i].size) && size > 1 &&
            !read_count(&rank, launchers[i].rank))
            tf_warn("%s=%d without %s: this process trains alone", launchers[i].size, size,
                    launchers[i].rank);
}

/* The launcher; NULL without one: rank 0 of 1. */
static const struct launcher *find_launcher(int *rank, int *size)
{
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++)
        if (read_count(size, launchers[i].size) && read_count(rank, launchers[i].rank))
            return &launchers[i];
    *rank = 0;
    *size = 1;
    return NULL;
}

/* The plugin of this launcher, or without one the first that is installed. */
static int load_plugin(struct tf_comm *c, const struct launcher *by, struct tf_err *err)
{
    char path[PATH_MAX];
    const struct tf_comm_table *(*entry)(void) = NULL;
    const char *name = by != NULL ? by->plugin : launchers[0].plugin;
    if (!tf_plugin_path(path, sizeof path, name, err) &&
        (by != NULL || !tf_plugin_path(path, sizeof path, launchers[1].plugin, err)))
        return tf_fail_status(err, TF_USAGE, "%s is not installed (make MPI=yes)", name);
    if (tf_plugin_load(path, "tf_comm_entry", (void **)&entry, err) == NULL)
        return -1;
    const struct tf_comm_table *table = entry != NULL ? entry() : NULL;
    if (table == NULL)
        return tf_fail(err, "%s: not a plugin for ranks", path);
    if (table->abi != TF_COMM_ABI)
        return tf_fail(err, "%s: made for another version: interface %u, this program has %u", path,
                       (unsigned)table->abi, (unsigned)TF_COMM_ABI);
    c->table = table;
    return 0;
}

/* For MPI's own waits, in which ranks connect and end. Rank 0 prints why. */
static void set_deadline(int rank, int size, double seconds, const char *when)
{
    char text[100] = "";
    if (rank == 0)
        snprintf(text, sizeof text, "at the %s, no answer for %g s from one of %d ranks", when,
                 seconds, size);
    tf_deadline(seconds, text);
}

static int connect_ranks(struct tf_comm *c, const struct launcher *by, int size, struct tf_err *err)
{
    set_deadline(c->rank, size, c->limit + 10, "start"); /* they start at different times */
    int rank, n; /* c->rank, the launcher's, stays if they differ */
    int rc = c->table->open(&rank, &n, c->library, sizeof c->library, err);
    tf_deadline(0, NULL);
    if (rc != 0) {
        c->table = NULL;
        return -1;
    }
    c->size = n;
    if (by != NULL && n != size)
        return tf_fail(err,
                       "started as one of %d ranks, but %s connects %d: the launcher is of another "
                       "MPI (srun needs --mpi=pmix)",
                       size, c->library, n);
    c->rank = rank;
    if ((c->size & (c->size - 1)) != 0)
        return tf_fail_status(err, TF_USAGE, "%d ranks: must be a power of two", c->size);
    return 0;
}

static int share_hosts(struct tf_comm *c, struct tf_err *err)
{
    size_t n = (size_t)c->size, *edge = tf_xarray(NULL, n + 1, sizeof *edge);
    char(*by_slot)[TF_HOST_NAME] = tf_xcalloc(n, sizeof *by_slot);
    for (size_t i = 0; i <= n; i++)
        edge[i] = i * sizeof *by_slot;
    gethostname(by_slot[tf_comm_slot(c, c->rank)], TF_HOST_NAME - 1);
    c->host = tf_xcalloc(n, sizeof *c->host);
    int rc = tf_comm_gather(c, by_slot, edge, err);
    for (int i = 0; i < c->size; i++)
        memcpy(c->host[i], by_slot[tf_comm_slot(c, i)], TF_HOST_NAME);
    free(by_slot);
    free(edge);
    return rc;
}

bool tf_comm_wanted(enum tf_comm_use use)
{
    int rank, size;
    (void)find_launcher(&rank, &size);
    return use == TF_COMM_MPI || (use == TF_COMM_AUTO && size > 1);
}

int tf_comm_open(struct tf_comm *c, enum tf_comm_use use, double limit, struct tf_err *err)
{
    int rank, size;
    const struct launcher *by = find_launcher(&rank, &size);
    if (by == NULL)
        warn_half_set();
    *c = (struct tf_comm){.rank = rank, .size = 1, .limit = limit};
    if (!tf_comm_wanted(use)) {
        c->rank = 0;
        return 0;
    }
    if (load_plugin(c, by, err) != 0)
        return size > 1 ? tf_context(err, "started as one of %d ranks", size) : -1;
    return connect_ranks(c, by, size, err) != 0 || share_hosts(c, err) != 0 ? -1 : 0;
}

void tf_comm_close(struct tf_comm *c)
{
    if (c->failed)
        tf_comm_abort(c, TF_FAILED);
    else if (c->table != NULL) { /* ranks may begin to wait at different times */
        set_deadline(c->rank, c->size, 2 * c->limit + 1, "end");
        c->table->close();
        tf_deadline(0, NULL);
    }
    free(c->host);
    *c = (struct tf_comm){.size = 1};
}

void tf_comm_abort(struct tf_comm *c, int status)
{
    if (c->table != NULL)
        c->table->kill(status);
}

/* ---- moving bytes ---- */

/* Between two polls: spin for a reply within microseconds, then leave the CPU to others. */
static void rest(double waited)
{
    if (waited < 0.002)
        sched_yield();
    else
        nanosleep(&(struct timespec){.tv_nsec = waited < 1 ? 50000 : 1000000}, NULL);
}

/* How many ranks the pieces are for. */
static int count_peers(const struct tf_comm_piece *piece, int n)
{
    int peers = 0;
    for (int i = 0, j; i < n; i++) {
        for (j = 0; j < i && piece[j].peer != piece[i].peer; j++)
            ;
        peers += j == i;
    }
    return peers;
}

static int too_late(const struct tf_comm *c, const struct tf_comm_piece *piece, int n,
                    struct tf_err *err)
{
    const int peer = piece[0].peer, peers = count_peers(piece, n);
    if (peers > 1)
        return tf_fail(err, "no answer for %g s from one of %d ranks", c->limit, peers);
    return tf_fail(err, "no answer for %g s from rank %d (%s)", c->limit, peer,
                   c->host != NULL ? c->host[peer] : "?");
}

static int swap_pieces(struct tf_comm *c, const struct tf_comm_piece *piece, int n,
                       struct tf_err *err)
{
    int rc;
    if (c->table->start(piece, n, err) != 0)
        return -1;
    const double start = tf_now();
    for (double waited = 0; (rc = c->table->poll(err)) == 0; waited = tf_now() - start) {
        if (waited > c->limit)
            return too_late(c, piece, n, err);
        rest(waited);
    }
    return rc < 0 ? -1 : 0;
}

int tf_comm_swap(struct tf_comm *c, const struct tf_comm_piece *piece, int n, struct tf_err *err)
{
    const double start = tf_now();
    if (c->failed)
        return tf_fail(err, "the ranks are disconnected");
    c->failed = n > 0 && swap_pieces(c, piece, n, err) != 0;
    c->waited += tf_now() - start;
    return c->failed ? -1 : 0;
}

/* The bits of the rank in reverse order. */
int tf_comm_slot(const struct tf_comm *c, int rank)
{
    int slot = 0;
    for (int bit = 1; bit < c->size; bit *= 2)
        slot = 2 * slot + ((rank & bit) != 0);
    return slot;
}

/* The largest blocks go to the nearest rank. */
struct tf_comm_step tf_comm_gather_step(const struct tf_comm *c, int n)
{
    const int slot = tf_comm_slot(c, c->rank), ours = slot & -n;
    return (struct tf_comm_step){.peer = tf_comm_slot(c, slot ^ n), /* reversed again: the rank */
                                 .ours = ours,
                                 .theirs = ours ^ n};
}

int tf_comm_gather(struct tf_comm *c, void *base, const size_t *edge, struct tf_err *err)
{
    char *p = base;
    for (int n = 1; n < c->size; n *= 2) {
        const struct tf_comm_step s = tf_comm_gather_step(c, n);
        const struct tf_comm_piece piece = {
            .peer = s.peer,
            .out = p + edge[s.ours],
            .n_out = edge[s.ours + n] - edge[s.ours],
            .in = p + edge[s.theirs],
            .n_in = edge[s.theirs + n] - edge[s.theirs],
        };
        if (tf_comm_swap(c, &piece, 1, err) != 0)
            return -1;
    }
    return 0;
}
