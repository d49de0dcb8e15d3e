/* step.h - one update of the weights, on all lanes: gradients of fixed shards, a fixed tree of
 * sums, the norm, Adam, the moving average.
 *
 * A micro-batch is cut into be->shards ranges of sentences (tf_pairs_cut). Shards are handed out to
 * lanes in order; their gradients are added as ((0+1)+(2+3))+((4+5)+(6+7)) by whichever lane
 * finishes the second of two siblings, always left += right. Micro-batches are added one after the
 * other. The norm is summed over chunks of 65536 elements in order. So the bytes are the same for
 * any number of lanes. */
#ifndef TF_TRAIN_STEP_H
#define TF_TRAIN_STEP_H

#include "base/thread.h"
#include "model/transformer.h"

enum { TF_STEP_CHUNK = 65536, TF_STEP_SHARDS = 64 /* at most */ };

/* Weights, moments and lanes of a training run. Owns all but the backend. */
struct tf_stepper {
    const struct tf_backend *be;
    int lanes;
    struct tf_ctx **ctx;     /* lanes */
    struct tf_work **work;   /* lanes */
    struct tf_pool *pool;
    struct tf_weights w;
    tf_mem *m, *v, *e;       /* PARAM [params.size]: Adam's moments; the moving average or NULL */
    tf_mem **grads;          /* n_grads buffers, PARAM [params.size] */
    size_t n_grads;
    tf_mem **spare;          /* stack of the buffers that are free */
    size_t n_spare;
    tf_mem *total;           /* gradient of the update so far, or NULL */
    tf_mem *norms;           /* F64 [chunks] */
    /* F64 [4 * shards + 1]: the sums of each shard (tf_xent), and behind them the squares of the
     * gradient */
    tf_mem *figures, *norm2;
    size_t chunk;            /* elements of a chunk */
    bool accumulate;
};

/* p, and optionally m and v (both or neither; NULL: zeros): host blocks of params.size floats. ema:
 * keep a moving average that starts as e, or as p when e is NULL.
 * accumulate: an update may have several micro-batches. threads is cut to 1 where the backend can't
 * run lanes on threads. */
struct tf_step_start {
    const float *p, *m, *v, *e;
    /* tuning_n bytes for the backend's `tuning`, or NULL; the file's name */
    const char *tuning, *tuning_name;
    size_t tuning_n;
    bool tune;          /* measure what comes for the first time */
    bool ema, accumulate;
    int threads;
};
int tf_stepper_init(struct tf_stepper *s, const struct tf_backend *be, const struct tf_config *c,
                    const struct tf_step_start *start, struct tf_err *err) TF_MUST_CHECK;
void tf_stepper_release(struct tf_stepper *s);

/* How many gradients, of params.size each, are held at once. */
size_t tf_step_buffers(int lanes, int shards, bool accumulate);

/* Start an update: forget the gradients so far. */
void tf_step_begin(struct tf_stepper *s);
/* Add the gradient of one micro-batch. step->update must differ from micro-batch to micro-batch. p
 * may change as soon as this returns. */
int tf_step_add(struct tf_stepper *s, const struct tf_pairs *p, const struct tf_rng_state *step,
                struct tf_err *err) TF_MUST_CHECK;

/* What an update found, on its way from the backend to the host: it stays where it is between
 * tf_step_look and tf_step_found. */
struct tf_step_figures {
    double v[4 * TF_STEP_SHARDS + 1];
};
/* Measure the gradient, and send for the figures; at most two are under way. */
void tf_step_look(struct tf_stepper *s, struct tf_step_figures *f);
/* Wait for those that were sent for first: *sums is added to; *norm2 is the sum of the gradient's
 * squares, NaN or infinite when any element is. */
int tf_step_found(struct tf_stepper *s, const struct tf_step_figures *f, struct tf_sums *sums,
                  double *norm2, struct tf_err *err) TF_MUST_CHECK;
/* Apply the gradient, after tf_step_look; unless its norm is finite, nothing changes. ema_decay is
 * used when there is an average. */
void tf_step_apply(struct tf_stepper *s, const struct tf_adam *h, double ema_decay);

/* Forward only, without dropout: *sums is added to. */
int tf_step_evaluate(struct tf_stepper *s, struct tf_sums *sums, const struct tf_pairs *p,
                     struct tf_err *err) TF_MUST_CHECK;

/* Copy a PARAM block to host floats. */
int tf_step_download(struct tf_stepper *s, float *dst, const tf_mem *src,
                     struct tf_err *err) TF_MUST_CHECK;
/* Backend memory: weights, moments, gradients, and the most that activations took so far. */
size_t tf_step_bytes(const struct tf_stepper *s);

#endif
