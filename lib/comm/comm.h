/* comm.h - the processes that train together ("ranks", numbered from 0), and bytes between them.
 *
 * A launcher such as mpirun starts them, and MPI connects them and moves the bytes. Nothing here
 * knows what the bytes are, and MPI never adds numbers: the order of every sum is ours. MPI is a
 * plugin, tf-comm-openmpi.so or tf-comm-mpich.so, so that programs link nothing for it.
 *
 * Their number is a power of two. Each call but swap is made by all ranks, and all calls by a
 * process's main thread. No wait is without end: after `limit` seconds a swap or gather fails, and
 * tf_comm_open and tf_comm_close end the process with TF_FAILED, after somewhat longer. After a
 * failure of swap or gather the ranks no longer agree: tf_comm_abort is what is left. */
#ifndef TF_COMM_COMM_H
#define TF_COMM_COMM_H

#include "base/err.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TF_COMM_ABI 1

/* Bytes for a rank and bytes from it; either may be none. */
struct tf_comm_piece {
    int peer;
    const void *out;
    size_t n_out;
    void *in;
    size_t n_in;
};

/* What a plugin exports, as `const struct tf_comm_table *tf_comm_entry(void)`. */
struct tf_comm_table {
    uint32_t abi; /* TF_COMM_ABI */
    /* Connect all ranks that the launcher started. library: its name and release. */
    int (*open)(int *rank, int *size, char *library, size_t library_size, struct tf_err *err);
    void (*close)(void);
    void (*kill)(int status);
    /* Start to send and receive; the memory must stay in place until poll has returned 1. Between
     * two ranks, messages arrive in the order of their pieces. */
    int (*start)(const struct tf_comm_piece *piece, int n, struct tf_err *err);
    int (*poll)(struct tf_err *err); /* 1: all pieces are done; 0: not yet */
};

enum { TF_HOST_NAME = 64 };

struct tf_comm {
    const struct tf_comm_table *table; /* NULL: a process of its own, rank 0 of 1 */
    int rank, size;
    char library[64];           /* "Open MPI v4.1.4" */
    char (*host)[TF_HOST_NAME]; /* [size]: where they run */
    double limit;               /* seconds */
    bool failed;                /* the ranks no longer agree: every swap fails */
    double waited;              /* seconds spent in swaps; for the log */
};

enum tf_comm_use { TF_COMM_AUTO, TF_COMM_MPI, TF_COMM_NONE };
extern const char *const tf_comm_uses[]; /* their words, NULL-terminated */

/* Would tf_comm_open load a plugin? MPI starts processes and uses sockets and files of its own: it
 * gets no sandbox (base/sandbox.h). */
bool tf_comm_wanted(enum tf_comm_use use);
/* Join the other ranks. AUTO: if the launcher's environment has any. On failure, too, *c must be
 * closed, and c->rank is what the launcher said: only one rank should report what all of them find,
 * and before it closes, because launchers kill the others when one has ended with an error. */
int tf_comm_open(struct tf_comm *c, enum tf_comm_use use, double limit,
                 struct tf_err *err) TF_MUST_CHECK;
/* After the last message, on all ranks: none ends before the last one closes, or after twice
 * `limit` the process ends. After a failure, tf_comm_abort with TF_FAILED: the
 * others may wait for this rank elsewhere. A zero struct may be closed. */
void tf_comm_close(struct tf_comm *c);
/* End all ranks. Returns only for a process of its own. */
void tf_comm_abort(struct tf_comm *c, int status);

/* Send and receive all pieces. */
int tf_comm_swap(struct tf_comm *c, const struct tf_comm_piece *piece, int n,
                 struct tf_err *err) TF_MUST_CHECK;
/* Each rank has a slot; neighbours in rank own halves, then quarters and so on of all slots. */
int tf_comm_slot(const struct tf_comm *c, int rank);
/* A step of a gather by doubling, with n = 1, 2, 4 ... below size: we have n slots from `ours`, and
 * exchange them for the n slots from `theirs`. */
struct tf_comm_step {
    int peer, ours, theirs;
};
struct tf_comm_step tf_comm_gather_step(const struct tf_comm *c, int n);
/* Slot i is bytes edge[i] .. edge[i + 1] of base. Each rank fills its own slot; afterwards all
 * ranks have all of them. */
int tf_comm_gather(struct tf_comm *c, void *base, const size_t *edge,
                   struct tf_err *err) TF_MUST_CHECK;

#endif
