/* Votes and comparisons of ranks. */
#include "../harness/ranks.h"
#include "../harness/tap.h"
#include "base/log.h"
#include "train/ranks/team.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* All fare well: sums over ranks, the signal of one, the one that computed longest. */
static bool good_vote(struct tf_team *t)
{
    struct tf_err none = {0}, err = {0};
    const int rank = t->comm.rank, n = t->comm.size;
    double sums[2] = {rank, 1};
    int signal;
    t->worked = rank == 1 ? 2 : 1;
    return tf_team_vote(t, &none, rank == n - 1 ? 12 : 0, &signal, sums, 2, &err) == 0 &&
           sums[0] == n * (n - 1) / 2 && sums[1] == n && signal == 12 && t->slowest == 1 &&
           tf_team_vote(t, &none, 0, &signal, NULL, 0, &err) == 0 && signal == 0;
}

/* Two fail: all learn of the first one. */
static bool bad_vote(struct tf_team *t)
{
    struct tf_err mine = {0}, err = {0};
    char want[200];
    if (t->comm.rank >= t->comm.size - 2)
        tf_fail_status(&mine, TF_DIVERGED, "no %s at %d", "luck", t->comm.rank);
    const int first = t->comm.size - 2;
    snprintf(want, sizeof want, "rank %d (%s): no luck at %d", first, t->comm.host[first], first);
    return tf_team_vote(t, &mine, 0, NULL, NULL, 0, &err) == -1 && err.status == TF_DIVERGED &&
           strcmp(err.msg, first > 0 ? want : "no luck at 0") == 0;
}

static bool comparison(struct tf_team *t)
{
    struct tf_err err = {0};
    return tf_team_compare(t, 77, "weights", &err) == 0 &&
           tf_team_compare(t, t->comm.rank == 1 ? 78 : 77, "weights", &err) == -1 &&
           strncmp(err.msg, "rank 1 (", 8) == 0 && strstr(err.msg, "other weights") != NULL;
}

/* Orders come in order, with bytes only for whom they are. */
static bool orders(struct tf_team *t)
{
    struct tf_err err = {0};
    const struct tf_order o = {.kind = TF_ORDER_ADD, .add = {.number = 5}};
    if (t->comm.rank == 0)
        return tf_team_order(t, o, "abc", 3, 1, 2, &err) == 0 &&
               tf_team_order(t, (struct tf_order){.kind = TF_ORDER_MEASURE}, NULL, 0, 0, 0, &err) ==
                   0;
    struct tf_order got;
    struct tf_buf b = {0};
    bool good = tf_team_receive(t, &got, &b, &err) == 0 && got.kind == TF_ORDER_ADD &&
                got.add.number == 5 && got.n == (t->comm.rank == 1 ? 3 : 0) &&
                (got.n == 0 || memcmp(b.p, "abc", 3) == 0) &&
                tf_team_receive(t, &got, &b, &err) == 0 && got.kind == TF_ORDER_MEASURE;
    tf_buf_release(&b);
    return good;
}

static int run_rank(const char *precision)
{
    struct tf_team t;
    struct tf_err err = {0};
    if (strcmp(precision, "other") == 0) /* rank 1 has other kernels */
        setenv("TF_CPU_ISA",
               getenv("OMPI_COMM_WORLD_RANK") != NULL &&
                       strcmp(getenv("OMPI_COMM_WORLD_RANK"), "1") == 0
                   ? "generic"
                   : "",
               1);
    if (tf_team_open(&t, TF_COMM_AUTO, 60, "cpu", NULL, &err) != 0) {
        tf_team_close(&t, 1);
        return strstr(err.msg, "differ in kernels: ") != NULL ? 9 : 1;
    }
    const int size = t.comm.size;
    bool good = t.sharing == size && good_vote(&t) && bad_vote(&t) && comparison(&t) &&
                orders(&t) && good_vote(&t);
    struct tf_order o;
    struct tf_buf b = {0};
    if (t.comm.rank > 0)
        good &= tf_team_receive(&t, &o, &b, &err) == 0 && o.kind == TF_ORDER_QUIT && o.status == 3;
    tf_team_close(&t, 3);
    return good ? 0 : 1;
}

static void test_silent(void)
{
    struct tf_team t = {.comm = {.limit = 600}, .ordered = tf_now() - 0.6};
    ok(!tf_team_silent(&t), "an order each second suffices");
    t.comm.limit = 1;
    ok(tf_team_silent(&t), "unless the others wait for no longer than that");
}

int main(int argc, char **argv)
{
    if (argc == 3)
        return run_rank(argv[1]);
    test_silent();
    for (int i = 0; mpis[i] != NULL; i++)
        if (have_mpi(mpis[i]))
            for (int n = 2; n <= 4; n *= 2)
                is_int(launch_ranks(mpis[i], n, "run"), 0, "%s: %d ranks", mpis[i], n);
    if (have_mpi("openmpi"))
        is_int(launch_ranks("openmpi", 2, "other"), 9, "other kernels are refused");
    return done();
}
