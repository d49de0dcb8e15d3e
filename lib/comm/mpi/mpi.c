/* mpi.c - the plugin tf-comm-NAME.so: the table of comm.h by calls of MPI. Compiled once for each
 * MPI, whose binary interfaces differ. */
#include "comm/comm.h"

#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* MPI counts in int. */
#define MOST ((size_t)1 << 30)

static MPI_Request *request;
static int n_requests, cap_requests;

/* The plugin has no access to lib/base. */
static int fail(struct tf_err *err, const char *what, int code)
{
    char why[MPI_MAX_ERROR_STRING] = "";
    int n;
    if (code != MPI_SUCCESS)
        MPI_Error_string(code, why, &n);
    snprintf(err->msg, sizeof err->msg, "%s%s%s", what, code != MPI_SUCCESS ? ": " : "", why);
    err->status = TF_FAILED;
    err->sys = 0;
    return -1;
}

/* "Open MPI v4.1.4, package: ..." and "MPICH Version:\t4.0.2\n...": up to the first comma or end of
 * line, without the tab. */
static void describe_library(char *library, size_t size)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int n;
    MPI_Get_library_version(text, &n);
    text[strcspn(text, ",\n")] = 0;
    for (char *p = text; *p != 0; p++)
        if (*p == '\t')
            *p = ' ';
    snprintf(library, size, "%s", text);
}

static int mpi_open(int *rank, int *size, char *library, size_t library_size, struct tf_err *err)
{
    int provided, rc = MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided);
    if (rc != MPI_SUCCESS)
        return fail(err, "MPI_Init_thread", rc);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, rank);
    MPI_Comm_size(MPI_COMM_WORLD, size);
    describe_library(library, library_size);
    return provided >= MPI_THREAD_FUNNELED ? 0 : fail(err, "MPI: no support for threads", 0);
}

static void mpi_close(void)
{
    free(request);
    request = NULL;
    cap_requests = n_requests = 0;
    MPI_Finalize();
}

/* MPI_Abort waits for the launcher, which may be what is gone. */
static void mpi_kill(int status)
{
    signal(SIGALRM, SIG_DFL);
    alarm(3);
    MPI_Abort(MPI_COMM_WORLD, status);
    _exit(status);
}

/* Room for one more request. */
static MPI_Request *next_request(void)
{
    if (n_requests == cap_requests) {
        int cap = 2 * cap_requests + 8;
        MPI_Request *more = realloc(request, (size_t)cap * sizeof *more);
        if (more == NULL)
            return NULL;
        request = more;
        cap_requests = cap;
    }
    return &request[n_requests++];
}

/* One direction of a piece. */
static int post(char *p, size_t n, int peer, int sends, struct tf_err *err)
{
    for (size_t count; n > 0; n -= count, p += count) {
        MPI_Request *r = next_request();
        count = n < MOST ? n : MOST;
        if (r == NULL)
            return fail(err, "no memory for a message", 0);
        int rc = sends ? MPI_Isend(p, (int)count, MPI_BYTE, peer, 0, MPI_COMM_WORLD, r)
                       : MPI_Irecv(p, (int)count, MPI_BYTE, peer, 0, MPI_COMM_WORLD, r);
        if (rc != MPI_SUCCESS)
            return fail(err, sends ? "MPI_Isend" : "MPI_Irecv", rc);
    }
    return 0;
}

static int mpi_start(const struct tf_comm_piece *piece, int n, struct tf_err *err)
{
    n_requests = 0;
    for (int i = 0; i < n; i++)
        if (post(piece[i].in, piece[i].n_in, piece[i].peer, 0, err) != 0)
            return -1;
    for (int i = 0; i < n; i++)
        if (post((char *)piece[i].out, piece[i].n_out, piece[i].peer, 1, err) != 0)
            return -1;
    return 0;
}

static int mpi_poll(struct tf_err *err)
{
    int done = 0, rc = MPI_Testall(n_requests, request, &done, MPI_STATUSES_IGNORE);
    return rc != MPI_SUCCESS ? fail(err, "MPI_Testall", rc) : done != 0;
}

__attribute__((visibility("default"))) const struct tf_comm_table *tf_comm_entry(void);

const struct tf_comm_table *tf_comm_entry(void)
{
    static const struct tf_comm_table table = {
        .abi = TF_COMM_ABI,
        .open = mpi_open,
        .close = mpi_close,
        .kill = mpi_kill,
        .start = mpi_start,
        .poll = mpi_poll,
    };
    return &table;
}
