/* team.h - the ranks that train one model, and what they say to each other besides gradients and
 * weights.
 *
 * Rank 0 alone has the options, reads, writes and decides; it does what a process of its own would
 * do. Each of its calls of a stepper is also an order to the other ranks, which make the same call
 * (worker.h). So all of them make the same calls in the same order.
 *
 * Which rank does what: the gradient of an update is the sum of its leaves over a binary tree. A
 * leaf is a shard of a micro-batch, in order; to a power of two of micro-batches, leaves are
 * absent. Rank r of R has the r-th of R equal parts of the leaves, a subtree. The sums at the top
 * of the tree are made by exchanging halves with the neighbours, so that the tree is the same for
 * every number of ranks, and with it every bit of the weights. */
#ifndef TF_TRAIN_RANKS_TEAM_H
#define TF_TRAIN_RANKS_TEAM_H

#include "base/buf.h"
#include "comm/comm.h"
#include "model/config.h"
#include "ops/backend.h"
#include "train/step/frozen.h"

enum tf_order_kind {
    TF_ORDER_START,
    TF_ORDER_ADD,
    TF_ORDER_MEASURE,
    TF_ORDER_APPLY,
    TF_ORDER_EVALUATE,
    TF_ORDER_COLLECT,
    TF_ORDER_COMPARE,
    TF_ORDER_IDLE,    /* nothing to do, but all vote */
    TF_ORDER_RELEASE, /* the stepper: links between devices are closed by all ranks at once */
    TF_ORDER_QUIT,
};

/* What rank 0 does now. */
struct tf_order {
    enum tf_order_kind kind;
    uint64_t n; /* bytes that follow for this rank */
    union {
        struct tf_team_start { /* START: what steppers must agree on; a file of --tuning follows */
            struct tf_config config;
            int64_t accumulate;
            int shards;
            bool ema;     /* there is a moving average */
            bool moments; /* m and v are not zero */
            bool frozen;  /* the patterns are not NULL */
            char freeze[TF_FREEZE_MOST + 1];
        } start;
        struct {
            struct tf_rng_state rng;
            int64_t number; /* of the micro-batch in its update */
        } add;
        struct {
            struct tf_adam adam;
            double ema_decay;
        } apply;
        int block;  /* COLLECT: enum tf_stepper_block */
        int status; /* QUIT: of the run */
    };
};

struct tf_team {
    struct tf_comm comm;
    const struct tf_backend *be; /* the same kernels, and the same device's model, on all ranks */
    int sharing;                 /* ranks that share the CPUs of this one, itself included */
    int (*arrived)(void); /* the signal that this process got, asked before votes; NULL: none */
    int heard;            /* what a vote said of the ranks' signals, until tf_team_heard */
    double ordered;       /* time of the last order */
    bool joined;          /* tf_team_open succeeded */
    double worked;        /* seconds that this rank computed before the next vote */
    int slowest;          /* the rank that computed longest before the last vote */
    /* what links the ranks' devices (link_private.h); "": their memory passes through the host's */
    char link[32];
};

/* Join the ranks of this run (comm.h), which must be of the same build and have the same kernels.
 * limit: seconds that one of them may take to answer.
 * With one rank there is no team: t->comm.size is 1, and nothing else of *t is set. On failure,
 * too, *t must be closed, after the message is printed; see tf_comm_open. */
int tf_team_open(struct tf_team *t, enum tf_comm_use use, double limit, const char *device,
                 const char *precision, struct tf_err *err) TF_MUST_CHECK;
/* Rank 0 ends the run with this status, on all ranks. */
void tf_team_close(struct tf_team *t, int status);

/* Has rank 0 given no order for so long that it should show the others that it is alive? */
bool tf_team_silent(const struct tf_team *t);
/* After a failure that the other ranks do not know of, which sets t->comm.failed: -1. */
int tf_team_lost(struct tf_team *t);

/* On rank 0, give an order to all others; n bytes follow for ranks first .. last - 1. On another
 * rank, nothing. */
int tf_team_order(struct tf_team *t, struct tf_order order, const void *bytes, size_t n, int first,
                  int last, struct tf_err *err) TF_MUST_CHECK;
/* On another rank, wait for the next order; the bytes that follow replace the contents of *b. */
int tf_team_receive(struct tf_team *t, struct tf_order *order, struct tf_buf *b,
                    struct tf_err *err) TF_MUST_CHECK;
/* An item of n bytes from each rank: all [ranks], by slot (comm.h). */
int tf_team_share(struct tf_team *t, void *all, const void *mine, size_t n,
                  struct tf_err *err) TF_MUST_CHECK;
/* Is the number the same on all ranks? what: of what it is a fingerprint. */
int tf_team_compare(struct tf_team *t, uint32_t number, const char *what,
                    struct tf_err *err) TF_MUST_CHECK;

/* Most sums of a vote. */
enum { TF_VOTE_SUMS = 256 };
/* All ranks report how they fared (mine->status 0: well) and the signal that they got (0: none):
 * -1 on all of them, with the reason of the first in *err, when one failed. Otherwise *any becomes
 * a signal that some rank got (0: none; NULL: not asked), sums [n] the totals over ranks, added in
 * their order, and t->slowest is set. */
int tf_team_vote(struct tf_team *t, const struct tf_err *mine, int signal, int *any, double *sums,
                 size_t n, struct tf_err *err) TF_MUST_CHECK;
/* The signal in the votes since the last call: one that stops the run or else USR1, which requests
 * a save; 0: none. */
int tf_team_heard(struct tf_team *t);

#endif
