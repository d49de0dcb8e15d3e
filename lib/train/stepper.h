/* stepper.h - updates of the weights on all lanes of a backend: gradients of micro-batches, their
 * norm, Adam, the moving average.
 *
 * One update is: begin, add (once a micro-batch), measure, apply; wait_metrics any time after
 * measure. The results do not depend on the number of lanes, because what is computed is fixed:
 * a micro-batch is cut into be->shards ranges of sentences whose gradients are added as a tree
 * (shards.h), micro-batches are added one after the other, and the norm is summed over chunks of
 * TF_NORM_CHUNK elements in order. */
#ifndef TF_TRAIN_STEPPER_H
#define TF_TRAIN_STEPPER_H

#include "train/shards.h"

enum { TF_NORM_CHUNK = 65536 };

/* Weights, optimiser state and lanes of a training run. Owns all but the backend. */
struct tf_stepper {
    const struct tf_backend *be;
    int lanes;
    struct tf_ctx **ctx;   /* lanes */
    struct tf_work **work; /* lanes */
    struct tf_pool *pool;
    struct tf_weights w;
    tf_mem *m, *v, *e; /* PARAM [params.size]: Adam's moments; the moving average or NULL */
    struct tf_grad_pool grads;
    tf_mem *total; /* gradient of the update so far, or NULL */
    tf_mem *norms; /* F64 [chunks] */
    /* F64 [4 * shards + 1]: the sums of each shard (tf_xent), then at norm2 the sum of the
     * gradient's squares */
    tf_mem *metrics, *norm2;
    size_t chunk; /* elements */
    bool accumulate;
};

struct tf_stepper_start {
    const float *p;     /* host block of params.size floats */
    const float *m, *v; /* likewise; both or neither. NULL: zeros */
    bool ema;           /* keep a moving average that starts as e, or as p when e is NULL */
    const float *e;
    bool accumulate; /* an update may have several micro-batches */
    int threads;     /* 1 is used where the backend can't run lanes on threads */
    /* tuning_n bytes for the backend's set_tuning, or NULL, and the name of their file */
    const char *tuning, *tuning_name;
    size_t tuning_n;
    bool tune; /* measure algorithms while running */
};
int tf_stepper_init(struct tf_stepper *s, const struct tf_backend *be, const struct tf_config *c,
                    const struct tf_stepper_start *start, struct tf_err *err) TF_MUST_CHECK;
void tf_stepper_release(struct tf_stepper *s); /* a zero struct may be released */

/* How many gradients of params.size elements exist at once. */
size_t tf_stepper_gradients(int lanes, int shards, bool accumulate);

/* Begin an update: forget the gradients so far. */
void tf_stepper_begin(struct tf_stepper *s);
/* Add the gradient of one micro-batch. rng->update must differ between micro-batches. p may change
 * as soon as this returns. */
int tf_stepper_add(struct tf_stepper *s, const struct tf_pairs *p, const struct tf_rng_state *rng,
                   struct tf_err *err) TF_MUST_CHECK;

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
void tf_stepper_apply(struct tf_stepper *s, const struct tf_adam *h, double ema_decay);

/* Forward only, without dropout: adds to *sums. */
int tf_stepper_evaluate(struct tf_stepper *s, struct tf_sums *sums, const struct tf_pairs *p,
                        struct tf_err *err) TF_MUST_CHECK;

/* Copy a PARAM block to host floats. */
int tf_stepper_download(struct tf_stepper *s, float *dst, const tf_mem *src,
                        struct tf_err *err) TF_MUST_CHECK;
/* Backend memory in bytes: weights, optimiser state, gradients, and the peak of activations. */
size_t tf_stepper_bytes(const struct tf_stepper *s);

#endif
