/* exchange.c - the sum of a block of floats over all ranks, in every rank: tf_parts_reduce and
 * tf_parts_gather, as an update makes it, and MPI_Allreduce of the same MPI beside it, whose order
 * of sums is its own. Prints the medians of both in seconds, slowest rank, judges nothing.
 * `make bench` builds it for each MPI: mpirun -n 2 build/tests/bench/exchange-openmpi [FLOATS] */
#include "../harness/plugin.h"
#include "train/ranks/parts_private.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { RUNS = 7 };

static _Noreturn void die(const char *why)
{
    fprintf(stderr, "exchange: %s\n", why);
    exit(1);
}

static void must(int rc, const struct tf_err *err)
{
    if (rc != 0)
        die(err->msg);
}

static void add(void *arg, tf_mem *total, tf_mem *theirs, size_t from, size_t to)
{
    const struct tf_parts *p = arg;
    p->be->add(p->ctx, tf_at(p->be, TF_ELEM_PARAM, total, from),
               tf_at(p->be, TF_ELEM_PARAM, theirs, from), to - from);
}

static void ours(struct tf_parts *p, float *x, float *y)
{
    struct tf_err err = {0};
    must(tf_parts_reduce(p, (tf_mem *)x, (tf_mem *)y, add, p, &err), &err);
    must(tf_parts_gather(p, (tf_mem *)x, TF_ELEM_PARAM, 1, &err), &err);
}

static void theirs(struct tf_parts *p, float *x, float *y)
{
    MPI_Allreduce(x, y, (int)p->n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

static double seconds(void (*sum)(struct tf_parts *, float *, float *), struct tf_parts *p,
                      float *x, float *y)
{
    for (size_t i = 0; i < p->n; i++)
        x[i] = y[i] = 1.0F;
    MPI_Barrier(MPI_COMM_WORLD);
    double took = -MPI_Wtime(), slowest = 0;
    sum(p, x, y);
    took += MPI_Wtime();
    MPI_Allreduce(&took, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    const float *total = sum == ours ? x : y;
    for (size_t i = 0; i < p->n; i += 1000)
        if (total[i] != (float)p->team->comm.size)
            die("a wrong sum");
    return slowest;
}

static int ascending(const void *a, const void *b)
{
    return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b);
}

int main(int argc, char **argv)
{
    const size_t n = argc > 1 ? strtoull(argv[1], NULL, 10) : 65000000;
    double took[2][RUNS + 1];
    struct tf_err err = {0};
    struct tf_team team = {0};
    struct tf_parts p;
    use_built_plugin();
    must(tf_team_open(&team, TF_COMM_MPI, 60, "cpu", "fp32", &err), &err);
    if (team.comm.size < 2)
        die("start it as several ranks: mpirun -n 2");
    struct tf_ctx *ctx = team.be->open(&(struct tf_ctx_opts){.threads = 1}, &err);
    must(ctx == NULL ? -1 : tf_parts_init(&p, &team, team.be, n, &err), &err);
    p.ctx = ctx;
    float *x = malloc(n * sizeof *x), *y = malloc(n * sizeof *y);
    if (x == NULL || y == NULL)
        die("no memory");
    for (int i = 0; i <= RUNS; i++) { /* in turn; the first is not counted */
        took[0][i] = seconds(ours, &p, x, y);
        took[1][i] = seconds(theirs, &p, x, y);
    }
    for (int k = 0; k < 2; k++)
        qsort(took[k] + 1, RUNS, sizeof took[k][0], ascending);
    if (team.comm.rank == 0)
        printf("%d ranks, %s, %zu floats: %.4f s; MPI_Allreduce %.4f s; %.2f times as fast\n",
               team.comm.size, team.comm.library, n, took[0][1 + RUNS / 2], took[1][1 + RUNS / 2],
               took[1][1 + RUNS / 2] / took[0][1 + RUNS / 2]);
    free(x);
    free(y);
    tf_parts_release(&p);
    team.be->close(ctx);
    struct tf_order quit;
    struct tf_buf none = {0};
    if (team.comm.rank > 0)
        must(tf_team_receive(&team, &quit, &none, &err), &err);
    tf_team_close(&team, 0);
    return 0;
}
