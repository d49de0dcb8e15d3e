/* lanes.c - see lanes_private.h. */
#include "infer/lanes_private.h"
#include "base/memory.h"
#include "base/thread.h"

#include <stdlib.h>
#include <string.h>

static size_t devices_left(const struct tf_lanes *l)
{
    size_t left = 0;
    for (size_t i = 0; i < l->models->replicas; i++)
        left += !l->models->replica[i].lost;
    return left;
}

struct tf_lanes *tf_lanes_new(struct tf_ensemble *models, int threads, size_t batch, size_t budget,
                              struct tf_err *err)
{
    struct tf_lanes *l = tf_xcalloc(1, sizeof *l);
    *l = (struct tf_lanes){.models = models,
                           .n = models->be->threads && threads > 1 ? (size_t)threads
                                                                   : models->replicas,
                           .batch = batch,
                           .budget = budget};
    pthread_mutex_init(&l->lock, NULL);
    l->pool = tf_pool_new((int)l->n);
    l->lane = tf_xcalloc(l->n, sizeof *l->lane);
    for (size_t i = 0; i < l->n; i++) {
        const struct tf_replica *r = &models->replica[i % models->replicas];
        struct tf_ctx_opts open = {.threads = threads, .device = (int)(i % models->replicas)};
        struct tf_lane *lane = &l->lane[i];
        struct tf_err why = {0}; /* of a device that is left out nothing is left in err */
        lane->model = r->model;
        if (r->lost)
            continue;
        lane->ctx = models->be->open(&open, &why);
        if (lane->ctx == NULL && devices_left(l) > 1) {
            tf_ensemble_lose(models, i, &why);
            continue;
        }
        if (lane->ctx == NULL) {
            *err = why;
            tf_lanes_free(l);
            return NULL;
        }
        lane->work = tf_xcalloc(models->n, sizeof *lane->work);
        for (size_t k = 0; k < models->n; k++)
            lane->work[k] = tf_work_new(&r->model[k], lane->ctx);
    }
    return l;
}

void tf_lanes_free(struct tf_lanes *l)
{
    if (l == NULL)
        return;
    for (size_t i = 0; i < l->n; i++) {
        if (l->lane[i].ctx == NULL)
            continue;
        for (size_t k = 0; k < l->models->n; k++)
            tf_work_free(l->lane[i].work[k]);
        free(l->lane[i].work);
        l->models->be->close(l->lane[i].ctx);
    }
    tf_pool_free(l->pool);
    pthread_mutex_destroy(&l->lock);
    free(l->lane);
    free(l->cut);
    free(l->errs);
    free(l->back);
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

static void cut_groups(struct tf_lanes *l, size_t n)
{
    size_t share = (n + l->n - 1) / l->n, most = share < l->batch ? share : l->batch;
    l->groups = 0;
    for (size_t i = 0; i < n; l->groups++) {
        size_t cost = 0, from = i;
        l->cut[l->groups] = i;
        for (; i < n && i - from < most; i++) {
            cost += l->items[i].cost;
            if (i > from && cost > l->budget)
                break;
        }
    }
    l->cut[l->groups] = n;
}

static int compute(struct tf_lanes *l, size_t g, int lane, struct tf_err *err)
{
    const size_t n = l->cut[g + 1] - l->cut[g];
    if (l->fn(l->arg, (size_t)lane, l->items + l->cut[g], n, err) == 0)
        return 0;
    if (err->status == 0)
        err->status = TF_FAILED;
    return -1;
}

static void run_group(void *arg, size_t g, int lane)
{
    struct tf_lanes *l = arg;
    (void)compute(l, g, lane, &l->errs[g]);
}

/* ---- of several devices ---- */

/* A group that the device is to compute; false: none is left, or it is lost. */
static bool take_group(struct tf_lanes *l, int lane, size_t *g)
{
    pthread_mutex_lock(&l->lock);
    const bool again = l->n_back > 0;
    const bool some = (again || l->next < l->groups) && l->why.status == 0 &&
                      !l->models->replica[lane].lost;
    if (some)
        *g = again ? l->back[--l->n_back] : l->next++;
    pthread_mutex_unlock(&l->lock);
    return some;
}

static void give_back(struct tf_lanes *l, int lane, size_t g, const struct tf_err *why)
{
    pthread_mutex_lock(&l->lock);
    l->back[l->n_back++] = g;
    if (devices_left(l) > 1)
        tf_ensemble_lose(l->models, (size_t)lane, why);
    else
        l->why = *why;
    pthread_mutex_unlock(&l->lock);
}

static void run_device(void *arg, size_t job, int lane)
{
    struct tf_lanes *l = arg;
    size_t g;
    (void)job;
    while (take_group(l, lane, &g)) {
        struct tf_err err = {0};
        if (compute(l, g, lane, &err) != 0)
            give_back(l, lane, g, &err);
    }
}

/* The last groups of a device that fails may come back when the others have nothing left to do. */
static int run_devices(struct tf_lanes *l, struct tf_err *err)
{
    l->next = l->n_back = 0;
    l->back = tf_xarray(l->back, l->groups + 1, sizeof *l->back);
    while (l->next < l->groups || l->n_back > 0) {
        tf_pool_run(l->pool, run_device, l, l->n);
        if (l->why.status != 0) {
            *err = l->why;
            return -1;
        }
    }
    return 0;
}

static int run_threads(struct tf_lanes *l, struct tf_err *err)
{
    l->errs = tf_xarray(l->errs, l->groups + 1, sizeof *l->errs);
    memset(l->errs, 0, l->groups * sizeof *l->errs);
    if (l->groups > 0)
        tf_pool_run(l->pool, run_group, l, l->groups);
    for (size_t g = 0; g < l->groups; g++)
        if (l->errs[g].status != 0) {
            *err = l->errs[g];
            return -1;
        }
    return 0;
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
    cut_groups(l, n);
    return l->models->replicas > 1 ? run_devices(l, err) : run_threads(l, err);
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
