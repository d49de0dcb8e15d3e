/* lanes.c - see lanes_private.h. */
#include "infer/lanes_private.h"
#include "base/memory.h"
#include "base/thread.h"

#include <stdlib.h>
#include <string.h>

struct tf_lanes *tf_lanes_new(struct tf_ensemble *models, int threads, size_t batch, size_t budget,
                              struct tf_err *err)
{
    struct tf_lanes *l = tf_xcalloc(1, sizeof *l);
    *l = (struct tf_lanes){.models = models,
                           .n = models->be->threads && threads > 1 ? (size_t)threads : 1,
                           .batch = batch,
                           .budget = budget};
    l->pool = tf_pool_new((int)l->n);
    l->lane = tf_xcalloc(l->n, sizeof *l->lane);
    for (size_t i = 0; i < l->n; i++) {
        struct tf_ctx_opts open = {.threads = threads};
        struct tf_lane *lane = &l->lane[i];
        lane->ctx = models->be->open(&open, err);
        if (lane->ctx == NULL) {
            tf_lanes_free(l);
            return NULL;
        }
        lane->work = tf_xcalloc(models->n, sizeof *lane->work);
        for (size_t k = 0; k < models->n; k++)
            lane->work[k] = tf_work_new(&models->model[k], lane->ctx);
    }
    return l;
}

void tf_lanes_free(struct tf_lanes *l)
{
    if (l == NULL)
        return;
    for (size_t i = 0; i < l->n && l->lane[i].ctx != NULL; i++) {
        for (size_t k = 0; k < l->models->n; k++)
            tf_work_free(l->lane[i].work[k]);
        free(l->lane[i].work);
        l->models->be->close(l->lane[i].ctx);
    }
    tf_pool_free(l->pool);
    free(l->lane);
    free(l->cut);
    free(l->errs);
    free(l);
}

/* Longest first: the last groups are short, and the lanes finish at about the same time. */
static int by_length(const void *pa, const void *pb)
{
    const struct tf_lane_item *a = pa, *b = pb;
    if (a->length != b->length)
        return a->length > b->length ? -1 : 1;
    return a->place < b->place ? -1 : 1;
}

static size_t cut_groups(struct tf_lanes *l, size_t n)
{
    size_t share = (n + l->n - 1) / l->n, most = share < l->batch ? share : l->batch, groups = 0;
    for (size_t i = 0; i < n; groups++) {
        size_t cost = 0, from = i;
        l->cut[groups] = i;
        for (; i < n && i - from < most; i++) {
            cost += l->items[i].cost;
            if (i > from && cost > l->budget)
                break;
        }
    }
    l->cut[groups] = n;
    return groups;
}

static void run_group(void *arg, size_t g, int lane)
{
    struct tf_lanes *l = arg;
    struct tf_err *err = &l->errs[g];
    size_t n = l->cut[g + 1] - l->cut[g];
    if (l->fn(l->arg, (size_t)lane, l->items + l->cut[g], n, err) < 0 && err->status == 0)
        err->status = TF_FAILED;
}

int tf_lanes_run(struct tf_lanes *l, struct tf_lane_item *items, size_t n, tf_lane_fn *fn,
                 void *arg, struct tf_err *err)
{
    size_t positions = 1;
    for (size_t i = 0; i < n; i++) {
        items[i].place = i;
        positions = items[i].positions > positions ? items[i].positions : positions;
    }
    if (tf_ensemble_positions(l->models, positions, err) != 0)
        return -1;
    if (n > 1)
        qsort(items, n, sizeof *items, by_length);
    l->cut = tf_xarray(l->cut, n + 1, sizeof *l->cut);
    l->items = items, l->fn = fn, l->arg = arg;
    size_t groups = cut_groups(l, n);
    l->errs = tf_xarray(l->errs, groups + 1, sizeof *l->errs);
    memset(l->errs, 0, groups * sizeof *l->errs);
    if (groups > 0)
        tf_pool_run(l->pool, run_group, l, groups);
    for (size_t g = 0; g < groups; g++)
        if (l->errs[g].status != 0) {
            *err = l->errs[g];
            return -1;
        }
    return 0;
}

/* ---- packed ids ---- */

void tf_packed_ids_clear(struct tf_packed_ids *p)
{
    static const uint32_t zero = 0;
    p->ids.n = p->offsets.n = 0;
    if (p->ids.v == NULL) { /* never NULL, even when all sequences are empty */
        tf_ids_add(&p->ids, &zero, 1);
        p->ids.n = 0;
    }
    tf_ids_add(&p->offsets, &zero, 1);
}

void tf_packed_ids_add(struct tf_packed_ids *p, const uint32_t *ids, size_t n)
{
    tf_ids_add(&p->ids, ids, n);
    uint32_t end = (uint32_t)p->ids.n;
    tf_ids_add(&p->offsets, &end, 1);
}

void tf_packed_ids_release(struct tf_packed_ids *p)
{
    tf_ids_release(&p->ids);
    tf_ids_release(&p->offsets);
}
