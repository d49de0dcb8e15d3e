/* Bytes between ranks, by each MPI that is installed: the program starts itself under mpirun. */
#include "../harness/ranks.h"
#include "../harness/tap.h"
#include "base/memory.h"
#include "comm/comm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static unsigned char byte_of(int from, int to, size_t i)
{
    return (unsigned char)(31 * from + 7 * to + (int)(i % 251));
}

static bool is_from(const unsigned char *p, size_t n, int from, int to)
{
    for (size_t i = 0; i < n; i++)
        if (p[i] != byte_of(from, to, i))
            return false;
    return true;
}

/* Bytes from each rank to each other one, two messages in order, the second of another length and
 * larger than what MPI sends at once; nothing at all for some. */
static bool swap_all(struct tf_comm *c)
{
    struct tf_err err;
    const size_t n[2] = {5, 3000000};
    struct tf_comm_piece *piece = tf_xcalloc((size_t)c->size * 2, sizeof *piece);
    int k = 0;
    bool good = true;
    for (int peer = 0; peer < c->size; peer++)
        for (int turn = 0; peer != c->rank && turn < 2; turn++) {
            unsigned char *out = tf_xcalloc(n[turn], 1);
            for (size_t i = 0; i < n[turn]; i++)
                out[i] = byte_of(c->rank, peer, i + (size_t)turn);
            bool sends = turn == 0 || c->rank < peer, gets = turn == 0 || peer < c->rank;
            piece[k++] = (struct tf_comm_piece){peer, out, sends ? n[turn] : 0,
                                                tf_xcalloc(n[turn], 1), gets ? n[turn] : 0};
        }
    good &= tf_comm_swap(c, piece, k, &err) == 0;
    for (int i = 0; i < k; i++) {
        const size_t first = piece[i].n_in == n[0] ? 0 : 1;
        for (size_t at = 0; at < piece[i].n_in; at++)
            good &=
                ((unsigned char *)piece[i].in)[at] == byte_of(piece[i].peer, c->rank, at + first);
        free((void *)piece[i].out);
        free(piece[i].in);
    }
    free(piece);
    return good;
}

/* Slots of unequal size, some of them empty. */
static bool gather(struct tf_comm *c)
{
    struct tf_err err;
    size_t edge[9] = {0};
    for (int i = 0; i < c->size; i++)
        edge[i + 1] = edge[i] + (size_t)(i % 3) * 1000;
    unsigned char *all = tf_xcalloc(edge[c->size] + 1, 1);
    int own = tf_comm_slot(c, c->rank);
    for (size_t i = edge[own]; i < edge[own + 1]; i++)
        all[i] = byte_of(own, 0, i - edge[own]);
    bool good = tf_comm_gather(c, all, edge, &err) == 0;
    for (int i = 0; i < c->size; i++)
        good &= is_from(all + edge[i], edge[i + 1] - edge[i], i, 0);
    free(all);
    return good;
}

static bool slots(const struct tf_comm *c)
{
    unsigned seen = 0;
    for (int rank = 0; rank < c->size; rank++)
        seen |= 1u << tf_comm_slot(c, rank);
    return tf_comm_slot(c, 0) == 0 && seen == (1u << c->size) - 1 &&
           (c->size < 2 || tf_comm_slot(c, 1) == c->size / 2);
}

/* A rank that says nothing for longer than the limit. */
static int wait_too_long(struct tf_comm *c)
{
    struct tf_err err = {0};
    char byte;
    c->limit = 0.2;
    if (c->rank == 0) {
        const struct tf_comm_piece piece = {.peer = 1, .in = &byte, .n_in = 1};
        if (tf_comm_swap(c, &piece, 1, &err) == 0 ||
            strncmp(err.msg, "no answer for 0.2 s from rank 1 (", 33) != 0)
            return 1;
        tf_comm_abort(c, 7);
    }
    for (;;)
        pause();
}

/* A rank that never closes: the others do not wait for ever. */
static int never_close(struct tf_comm *c)
{
    c->limit = 0.2;
    if (c->rank == 1)
        for (;;)
            pause();
    tf_comm_close(c);
    return 5;
}

/* The statuses of ranks, which the launcher returns: 0 for all is well. */
static int run_rank(const char *what, int size)
{
    struct tf_comm c;
    struct tf_err err = {0};
    if (tf_comm_open(&c, TF_COMM_AUTO, 60, &err) != 0) {
        fprintf(stderr, "%s\n", err.msg);
        tf_comm_close(&c);
        return err.status == TF_USAGE ? 2 : 1;
    }
    if (strcmp(what, "wait") == 0)
        return wait_too_long(&c);
    if (strcmp(what, "never") == 0)
        return never_close(&c);
    bool good =
        c.size == size && slots(&c) && swap_all(&c) && gather(&c) && gather(&c) && swap_all(&c);
    for (int i = 0; size > 1 && i < size; i++)
        good &= strcmp(c.host[i], c.host[0]) == 0 && c.host[0][0] != 0;
    tf_comm_close(&c);
    return good ? 0 : 1;
}

/* ---- without MPI: ranks that never answer ---- */

static int killed, closed;

static int start_nothing(const struct tf_comm_piece *piece, int n, struct tf_err *err)
{
    (void)piece, (void)n, (void)err;
    return 0;
}

static int not_yet(struct tf_err *err)
{
    (void)err;
    return 0;
}

static void note_kill(int status)
{
    killed = status;
}

static void note_close(void)
{
    closed++;
}

/* The message after a swap with these peers; then close. */
static void no_answer(const int *peer, int n, const char *want)
{
    static const struct tf_comm_table silent = {.start = start_nothing,
                                                .poll = not_yet,
                                                .kill = note_kill,
                                                .close = note_close};
    struct tf_comm c = {.table = &silent, .size = 8, .limit = 0.001};
    struct tf_comm_piece piece[4] = {0};
    struct tf_err err = {0};
    killed = closed = 0;
    for (int i = 0; i < n; i++)
        piece[i] = (struct tf_comm_piece){.peer = peer[i]};
    is_int(tf_comm_swap(&c, piece, n, &err), n > 0 ? -1 : 0, "%d pieces", n);
    if (n > 0)
        is_str(err.msg, want, "the ranks that it names");
    tf_comm_close(&c);
    ok(killed == (n > 0 ? TF_FAILED : 0) && closed == (n == 0),
       "closing ends all ranks after a failure, and waits for them otherwise");
}

static void test_no_answer(void)
{
    no_answer((const int[]){3}, 1, "no answer for 0.001 s from rank 3 (?)");
    no_answer((const int[]){3, 3}, 2, "no answer for 0.001 s from rank 3 (?)");
    no_answer((const int[]){1, 1, 2, 4}, 4, "no answer for 0.001 s from one of 3 ranks");
    no_answer(NULL, 0, "");
}

int main(int argc, char **argv)
{
    if (argc == 3)
        return run_rank(argv[1], atoi(argv[2]));
    test_no_answer();
    for (int i = 0; mpis[i] != NULL; i++) {
        const char *mpi = mpis[i];
        if (!have_mpi(mpi))
            continue;
        for (int n = 2; n <= 8; n *= 2)
            is_int(launch_ranks(mpi, n, "run"), 0, "%s: %d ranks", mpi, n);
        is_int(launch_ranks(mpi, 3, "run"), 2, "%s: 3 ranks are refused", mpi);
        ok(launch_ranks(mpi, 2, "wait") != 0, "%s: a rank that does not answer ends all", mpi);
        const int status = launch_ranks(mpi, 2, "never");
        ok(status != 0 && status != 124 && status != 5,
           "%s: a rank that does not end ends all (%d)", mpi, status);
    }
    return done();
}
