/* stepper.h - updates of the weights on all lanes of a backend: gradients of micro-batches, their
 * norm, Adam, the moving average.
 *
 * One update is: begin, add (once a micro-batch), measure, apply; wait_metrics any time after
 * measure. The results depend neither on the number of lanes nor on that of ranks, because what is
 * computed is fixed: a micro-batch is cut into a number of shards, ranges of sentences; the
 * gradients of all shards of an update are added over one binary tree (team.h); and the norm is
 * summed over chunks of be->norm_chunk elements in order.
 *
 * With ranks, each of them has all weights, its part of the moments and of the moving average, and
 * applies that part of an update. Functions that return int then also fail if another rank does. */
#ifndef TF_TRAIN_STEP_STEPPER_H
#define TF_TRAIN_STEP_STEPPER_H

#include "train/ranks/parts.h"
#include "train/step/shards.h"

/* What a rank computes of an update. */
struct tf_share {
    int64_t first, last;          /* micro-batches, by their number in the update */
    struct tf_shard_range shards; /* of each of them */
};

/* A micro-batch that ranks have received; its gradient is computed by tf_stepper_measure. */
struct tf_received {
    struct tf_pairs pairs;
    struct tf_rng_state rng;
};

/* Weights, optimiser state and lanes of a training run. Owns all but backend and team. */
struct tf_stepper {
    const struct tf_backend *be;
    int lanes, shards;
    struct tf_ctx **ctx;   /* lanes */
    struct tf_work **work; /* lanes */
    struct tf_pool *pool;
    struct tf_weights w;
    struct tf_team *team; /* NULL: a process of its own */
    struct tf_share share;
    struct tf_parts parts;
    tf_mem *m, *v, *e; /* PARAM [to - from]: Adam's moments; the moving average or NULL */
    struct tf_grad_pool grads;
    int64_t accumulate;           /* micro-batches of an update */
    int64_t given;                /* to tf_stepper_add */
    int64_t added;                /* whose gradients are in the tree */
    tf_mem *level[64];            /* sum of the last 2^i of them, where bit i of `added` is set */
    tf_mem *total;                /* after tf_stepper_measure: gradient of the update */
    struct tf_received *received; /* [last - first]; with a team */
    int64_t n_received;
    tf_mem *norms; /* F64 [chunks] */
    /* F64 [4 * shards + 1]: the sums of each shard (tf_xent), then at norm2 the sum of the
     * gradient's squares */
    tf_mem *metrics, *norm2;
};

struct tf_stepper_start {
    struct tf_team *team; /* or NULL. Other ranks than 0 give it, threads and what the order says */
    const float *p;       /* host block of params.size floats */
    const float *m, *v;   /* likewise; both or neither. NULL: zeros */
    bool moments;         /* another rank: m and v are to be received */
    bool ema;             /* keep a moving average that starts as e, or as p when e is NULL */
    const float *e;
    int64_t accumulate; /* micro-batches of an update; 0: 1 */
    int shards;         /* a power of two, at most TF_MAX_SHARDS; 0: the backend's default */
    int threads;        /* 1 is used where the backend can't run lanes on threads */
    /* tuning_n bytes for the backend's set_tuning, or NULL, and the name of their file */
    const char *tuning, *tuning_name;
    size_t tuning_n;
    bool tune; /* measure algorithms while running */
};
int tf_stepper_init(struct tf_stepper *s, const struct tf_backend *be, const struct tf_config *c,
                    const struct tf_stepper_start *start, struct tf_err *err) TF_MUST_CHECK;
/* A zero struct may be released. On rank 0 also an order to the others. */
void tf_stepper_release(struct tf_stepper *s);

/* How many gradients of params.size elements exist at once. */
size_t tf_stepper_gradients(int lanes, size_t shards, int64_t accumulate);

/* While rank 0 waits for something else it calls this, and once a second all ranks vote: nobody
 * takes it for dead, and it learns of their signals. */
int tf_stepper_idle(struct tf_stepper *s, struct tf_err *err) TF_MUST_CHECK;

/* Begin an update: forget the gradients so far. */
void tf_stepper_begin(struct tf_stepper *s);
/* Add the gradient of one micro-batch. rng->update must differ between micro-batches. p may change
 * as soon as this returns. */
int tf_stepper_add(struct tf_stepper *s, const struct tf_pairs *p, const struct tf_rng_state *rng,
                   struct tf_err *err) TF_MUST_CHECK;
/* In its place on another rank, for each micro-batch of the share: the bytes are of tf_pairs_put.
 */
void tf_stepper_receive(struct tf_stepper *s, const void *bytes, const struct tf_rng_state *rng);

/* The metrics of an update on their way to the host; must stay in place from tf_stepper_measure to
 * tf_stepper_wait_metrics. */
struct tf_stepper_metrics {
    double v[4 * TF_MAX_SHARDS + 1];
};
/* Compute the gradient's norm and start to download the metrics; at most two downloads at once. -1
 * when the device had no memory for part of the update: it must not be applied, and the weights are
 * those of the last one. */
int tf_stepper_measure(struct tf_stepper *s, struct tf_stepper_metrics *m,
                       struct tf_err *err) TF_MUST_CHECK;
/* Wait for the oldest download: adds to *sums; *norm2 becomes the sum of the gradient's squares,
 * NaN or infinite when any element is. */
int tf_stepper_wait_metrics(struct tf_stepper *s, const struct tf_stepper_metrics *m,
                            struct tf_sums *sums, double *norm2, struct tf_err *err) TF_MUST_CHECK;
/* Apply the gradient, after tf_stepper_measure; when its norm is not finite, nothing changes.
 * ema_decay is used when there is a moving average. */
int tf_stepper_apply(struct tf_stepper *s, const struct tf_adam *h, double ema_decay,
                     struct tf_err *err) TF_MUST_CHECK;

/* Forward only, without dropout: adds to *sums, in the order of the shards. */
int tf_stepper_evaluate(struct tf_stepper *s, struct tf_sums *sums, const struct tf_pairs *p,
                        struct tf_err *err) TF_MUST_CHECK;

/* Copy a block to params.size host floats on rank 0; on the others dst is NULL. */
enum tf_stepper_block { TF_BLOCK_P, TF_BLOCK_M, TF_BLOCK_V, TF_BLOCK_E, TF_BLOCKS };
int tf_stepper_collect(struct tf_stepper *s, float *dst, enum tf_stepper_block block,
                       struct tf_err *err) TF_MUST_CHECK;
/* Backend memory in bytes: weights, optimiser state, gradients, and the peak of activations. */
size_t tf_stepper_bytes(const struct tf_stepper *s);
/* Do all ranks have the same weights? -1 names one that differs from rank 0. */
int tf_stepper_compare(struct tf_stepper *s, struct tf_err *err) TF_MUST_CHECK;

#endif
