/* stepper.h - updates of the weights on all lanes of a backend: gradients of micro-batches, their
 * norm, Adam, the moving average.
 *
 * One update is: begin, add (once a micro-batch), measure, apply; wait_metrics any time after
 * measure. The results depend neither on the number of lanes nor on who computes which share of
 * them, because what is computed is fixed: a micro-batch is cut into a number of shards, ranges of
 * sentences; the gradients of all shards of an update are added over one binary tree; and the norm
 * is summed over chunks of be->norm_chunk elements in order.
 *
 * The calls of a run are a table. Those of a process of its own are here; ranks/ranked.h has others
 * around its parts, for processes that share updates. */
#ifndef TF_TRAIN_STEP_STEPPER_H
#define TF_TRAIN_STEP_STEPPER_H

#include "train/step/frozen.h"
#include "train/step/shards.h"

/* What a process computes of an update. */
struct tf_share {
    int64_t first, last;          /* micro-batches, by their number in the update */
    struct tf_shard_range shards; /* of each of them */
    /* the elements of a block of weights that it measures and applies; it has only these of the
     * moments and of the moving average */
    size_t from, to;
};

/* The metrics of an update on their way to the host; must stay in place from measure to
 * wait_metrics. */
struct tf_stepper_metrics {
    double v[4 * TF_MAX_SHARDS + 1];
};
enum tf_stepper_block { TF_BLOCK_P, TF_BLOCK_M, TF_BLOCK_V, TF_BLOCK_E, TF_BLOCKS };

struct tf_stepper;

/* What a run calls, as functions below of these names say it. */
struct tf_step_calls {
    int (*idle)(struct tf_stepper *s, struct tf_err *err);
    void (*begin)(struct tf_stepper *s);
    int (*add)(struct tf_stepper *s, const struct tf_pairs *p, const struct tf_rng_state *rng,
               struct tf_err *err);
    int (*measure)(struct tf_stepper *s, struct tf_stepper_metrics *m, struct tf_err *err);
    int (*wait)(struct tf_stepper *s, struct tf_err *err);
    int (*apply)(struct tf_stepper *s, const struct tf_adam *h, double ema_decay,
                 struct tf_err *err);
    int (*evaluate)(struct tf_stepper *s, struct tf_sums *shard, const struct tf_pairs *p,
                    struct tf_err *err);
    int (*collect)(struct tf_stepper *s, float *dst, enum tf_stepper_block block,
                   struct tf_err *err);
    int (*compare)(struct tf_stepper *s, struct tf_err *err);
    void (*release)(struct tf_stepper *s);
};

/* Weights, optimiser state and lanes of a training run. Owns all but the backend. */
struct tf_stepper {
    const struct tf_step_calls *calls;
    void *around; /* what other calls than those of a process of its own have */
    const struct tf_backend *be;
    int lanes, shards;
    struct tf_ctx **ctx;   /* lanes */
    struct tf_work **work; /* lanes */
    struct tf_pool *pool;
    struct tf_weights w;
    struct tf_share share;
    struct tf_frozen frozen;
    tf_mem *m, *v, *e; /* PARAM [to - from]: Adam's moments; the moving average or NULL */
    struct tf_grad_pool grads;
    int64_t accumulate; /* micro-batches of an update */
    int64_t added;      /* whose gradients are in the tree */
    tf_mem *level[64];  /* sum of the last 2^i of them, where bit i of `added` is set */
    tf_mem *total;      /* after measure: gradient of the update */
    tf_mem *norms;      /* F64 [chunks] */
    /* F64 [4 * shards + 1]: the sums of each shard (tf_xent), then at norm2 the sum of the
     * gradient's squares */
    tf_mem *metrics, *norm2;
};

struct tf_stepper_start {
    const float *p;     /* host block of params.size floats */
    const float *m, *v; /* likewise; both or neither. NULL: zeros */
    bool ema;           /* keep a moving average that starts as e, or as p when e is NULL */
    const float *e;
    int64_t accumulate; /* micro-batches of an update; 0: 1 */
    int shards;         /* a power of two, at most TF_MAX_SHARDS; 0: the backend's default */
    int threads;        /* 1 is used where the backend can't run lanes on threads */
    /* tuning_n bytes for the backend's set_tuning, or NULL, and the name of their file */
    const char *tuning, *tuning_name;
    size_t tuning_n;
    const char *freeze; /* patterns of parameters that do not change (frozen.h), or NULL */
    bool tune; /* measure algorithms while running */
    /* a part of every update, and then at least so many gradients at once; NULL: all of it */
    const struct tf_share *share;
    size_t gradients;
};

/* A stepper of a process of its own, or the part that a process has of it. */
int tf_stepper_init(struct tf_stepper *s, const struct tf_backend *be, const struct tf_config *c,
                    const struct tf_stepper_start *start, struct tf_err *err) TF_MUST_CHECK;
/* How many gradients of params.size elements exist at once. */
size_t tf_stepper_gradients(int lanes, size_t shards, int64_t accumulate);

/* ---- the calls of a run ---- */

/* A zero struct may be released. */
void tf_stepper_release(struct tf_stepper *s);
/* To be called while something else is waited for. */
int tf_stepper_idle(struct tf_stepper *s, struct tf_err *err) TF_MUST_CHECK;
/* Begin an update: forget the gradients so far. */
void tf_stepper_begin(struct tf_stepper *s);
/* Add the gradient of one micro-batch. rng->update must differ between micro-batches. p may change
 * as soon as this returns. */
int tf_stepper_add(struct tf_stepper *s, const struct tf_pairs *p, const struct tf_rng_state *rng,
                   struct tf_err *err) TF_MUST_CHECK;
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
/* Copy a block to params.size host floats. */
int tf_stepper_collect(struct tf_stepper *s, float *dst, enum tf_stepper_block block,
                       struct tf_err *err) TF_MUST_CHECK;
/* The block itself where it is host floats of this process; NULL: only tf_stepper_collect has it.
 * Valid and constant until the next tf_stepper_apply. */
const float *tf_stepper_live(const struct tf_stepper *s, enum tf_stepper_block block);
/* Do all that share updates have the same weights? */
int tf_stepper_compare(struct tf_stepper *s, struct tf_err *err) TF_MUST_CHECK;
/* Backend memory in bytes: weights, optimiser state, gradients, and the peak of activations. */
size_t tf_stepper_bytes(const struct tf_stepper *s);

/* ---- the parts of these calls, for a process that has a share ---- */

void tf_share_begin(struct tf_stepper *s);
/* The gradient of our shards of a micro-batch into the tree. */
int tf_share_add(struct tf_stepper *s, const struct tf_pairs *p, const struct tf_rng_state *rng,
                 struct tf_err *err) TF_MUST_CHECK;
/* The top of the tree over what was added; what is absent comes after it. NULL: no sentence. */
tf_mem *tf_share_total(struct tf_stepper *s);
/* a += b, from element `from` to `to`. May only queue. */
void tf_share_sum(struct tf_stepper *s, tf_mem *a, tf_mem *b, size_t from, size_t to);
/* Queue the norms of the chunks of our part of s->total, in which what is frozen becomes 0. */
void tf_share_norms(struct tf_stepper *s);
/* Once s->norms has all chunks: queue their sum, and start to download the metrics. */
int tf_share_metrics(struct tf_stepper *s, struct tf_stepper_metrics *m,
                     struct tf_err *err) TF_MUST_CHECK;
/* Queue Adam and the moving average of our part, without what is frozen. */
void tf_share_apply(struct tf_stepper *s, const struct tf_adam *h, double ema_decay);
/* The sums of some shards of a batch, each at its place in shard. */
int tf_share_evaluate(struct tf_stepper *s, struct tf_sums *shard, const struct tf_pairs *p,
                      struct tf_shard_range range, struct tf_err *err) TF_MUST_CHECK;
/* The memory of a block. */
tf_mem *tf_share_block(const struct tf_stepper *s, enum tf_stepper_block block);
/* Give back all that tf_stepper_init took. */
void tf_share_release(struct tf_stepper *s);

#endif
