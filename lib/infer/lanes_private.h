/* lanes_private.h - threads that run the models: on the CPU any number, of GPUs one for each. Each
 * lane has its own backend context and workspaces; a window of work is sorted by length, cut into
 * groups and handed to the lanes. A result never depends on the group or the lane, so both are
 * chosen for speed and memory alone. */
#ifndef TF_INFER_LANES_PRIVATE_H
#define TF_INFER_LANES_PRIVATE_H

#include "infer/ensemble_private.h"
#include "text/ids.h"

#include <pthread.h>

struct tf_lane {
    struct tf_ctx *ctx;
    const struct tf_weights *model; /* on its device, one per model */
    struct tf_work **work;          /* one per model */
};

/* One sentence or pair to compute. */
struct tf_lane_item {
    void *item;       /* the tool's own */
    size_t length;    /* items of similar length share a group */
    size_t positions; /* rows of the longer side, EOS included */
    size_t cost;      /* share of a group's budget */
    size_t place;     /* filled in: place in the window */
    size_t group;     /* filled in: the number of its group, or 0 */
};

/* Compute one group of n >= 1 items on lane number `lane`. */
typedef int tf_lane_fn(void *arg, size_t lane, const struct tf_lane_item *group, size_t n,
                       struct tf_err *err);

struct tf_lanes {
    struct tf_lane *lane; /* n lanes */
    size_t n;
    struct tf_ensemble *models; /* borrowed */

    /* Private. */
    struct tf_pool *pool;
    size_t batch, budget, most; /* of a group; most: items, with what the others get */
    struct tf_lane_item *items; /* n_items */
    size_t n_items;
    tf_lane_fn *fn;
    void *arg;
    pthread_mutex_t lock;
    size_t next;   /* item, the first that is in no group */
    size_t groups; /* of the window so far */
    struct tf_lane_group {
        struct tf_lane_item *items; /* copies; [most] */
        size_t number;
    } * group;         /* of each lane */
    struct tf_err why; /* what happened on the last device, first */
};

/* Start the lanes: `threads` of them, or where the backend has its own parallelism one for each of
 * its devices. A group is of at most `batch` items, and of at most `budget` cost unless it is one
 * item. NULL on failure. */
struct tf_lanes *tf_lanes_new(struct tf_ensemble *models, int threads, size_t batch, size_t budget,
                              struct tf_err *err);
void tf_lanes_free(struct tf_lanes *l);
/* Sort items (longest first) and call fn for every group, until one fails: *err is that of the
 * first. Of several devices one that fails is left out, and its group is another's, with what it
 * had done of it, which fn then leaves as it is. */
int tf_lanes_run(struct tf_lanes *l, struct tf_lane_item *items, size_t n, tf_lane_fn *fn,
                 void *arg, struct tf_err *err) TF_MUST_CHECK;
/* In fn, on a device: is an item left? */
bool tf_lanes_wait(struct tf_lanes *l);
/* In fn, on a device: one more item for the lane's group, the next in order, or NULL where none is
 * left or fits(arg, item) is false. */
typedef bool tf_lane_fits_fn(void *arg, const void *item);
void *tf_lanes_more(struct tf_lanes *l, size_t lane, tf_lane_fits_fn *fits, void *arg);

/* Sequences of ids one after the other, as the model takes them. Zero-initialised is empty. */
struct tf_packed_ids {
    struct tf_ids ids, offsets; /* sequence i is ids.v[offsets.v[i] .. offsets.v[i + 1]) */
};
void tf_packed_ids_clear(struct tf_packed_ids *p);
void tf_packed_ids_add(struct tf_packed_ids *p, const uint32_t *ids, size_t n);
void tf_packed_ids_release(struct tf_packed_ids *p);

#endif
