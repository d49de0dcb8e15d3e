/* groups.c - see groups.h. The result of an item does not depend on its group, so groups are cut
 * for speed and memory alone. */
#include "infer/groups.h"
#include "base/thread.h"

#include <stdlib.h>
#include <string.h>

struct tf_groups {
    struct tf_pool *pool;
    size_t lanes, most, budget;
    size_t *cut;         /* group i is v[cut[i] .. cut[i + 1]) */
    struct tf_err *errs; /* one a group */
    struct tf_group_item *v;
    tf_group_fn *fn;
    void *arg;
};

struct tf_groups *tf_groups_new(int lanes, size_t most_items, size_t budget)
{
    struct tf_groups *g = tf_xcalloc(1, sizeof *g);
    *g = (struct tf_groups){.pool = tf_pool_new(lanes),
                            .lanes = (size_t)lanes,
                            .most = most_items,
                            .budget = budget};
    return g;
}

void tf_groups_free(struct tf_groups *g)
{
    if (g == NULL)
        return;
    tf_pool_free(g->pool);
    free(g->cut);
    free(g->errs);
    free(g);
}

/* Longest first: the last groups are short ones, and the lanes end at about the same time. */
static int by_length(const void *pa, const void *pb)
{
    const struct tf_group_item *a = pa, *b = pb;
    if (a->length != b->length)
        return a->length > b->length ? -1 : 1;
    return a->at < b->at ? -1 : 1;
}

static size_t cut(struct tf_groups *g, size_t n)
{
    size_t share = (n + g->lanes - 1) / g->lanes, most = share < g->most ? share : g->most,
           groups = 0;
    for (size_t i = 0; i < n; groups++) {
        size_t cost = 0, from = i;
        g->cut[groups] = i;
        for (; i < n && i - from < most; i++) {
            cost += g->v[i].cost;
            if (i > from && cost > g->budget)
                break;
        }
    }
    g->cut[groups] = n;
    return groups;
}

static void run_group(void *arg, size_t i, int lane)
{
    struct tf_groups *g = arg;
    struct tf_err *err = &g->errs[i];
    if (g->fn(g->arg, lane, g->v + g->cut[i], g->cut[i + 1] - g->cut[i], err) < 0 &&
        err->status == 0)
        err->status = TF_FAILED;
}

int tf_groups_run(struct tf_groups *g, struct tf_group_item *v, size_t n, tf_group_fn *fn,
                  void *arg, struct tf_err *err)
{
    for (size_t i = 0; i < n; i++)
        v[i].at = i;
    if (n > 1)
        qsort(v, n, sizeof *v, by_length);
    g->cut = tf_xarray(g->cut, n + 1, sizeof *g->cut);
    g->v = v, g->fn = fn, g->arg = arg;
    size_t groups = cut(g, n);
    g->errs = tf_xarray(g->errs, groups + 1, sizeof *g->errs);
    memset(g->errs, 0, groups * sizeof *g->errs);
    if (groups > 0)
        tf_pool_run(g->pool, run_group, g, groups);
    for (size_t i = 0; i < groups; i++)
        if (g->errs[i].status != 0) {
            *err = g->errs[i];
            return -1;
        }
    return 0;
}
