/* groups.h - a window of items over threads: sorted by length, cut into groups of about equal
 * items, handed to lanes. */
#ifndef TF_INFER_GROUPS_H
#define TF_INFER_GROUPS_H

#include "base/err.h"
#include <stdint.h>

struct tf_group_item {
    void *item;
    size_t length; /* items of one length go together */
    size_t cost;   /* what it takes of a group's budget */
    size_t at;     /* filled in: place in the window */
};

/* Do a group of n items on a lane. */
typedef int tf_group_fn(void *arg, int lane, struct tf_group_item *v, size_t n, struct tf_err *err);

struct tf_groups;
struct tf_groups *tf_groups_new(int lanes, size_t most_items, size_t budget);
void tf_groups_free(struct tf_groups *g);
/* Sort v (longest first, ties in order) and do it group by group: at most most_items and budget
 * each, but at least one item. The first failure in order of groups is told. */
int tf_groups_run(struct tf_groups *g, struct tf_group_item *v, size_t n, tf_group_fn *fn,
                  void *arg, struct tf_err *err) TF_MUST_CHECK;

#endif
