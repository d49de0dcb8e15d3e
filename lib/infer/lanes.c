/* lanes.c - see lanes_private.h. */
#include "infer/lanes_private.h"
#include "base/memory.h"
#include "base/thread.h"

#include <stdlib.h>

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
    l->group = tf_xcalloc(l->n, sizeof *l->group);
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
    for (size_t i = 0; i < l->n; i++)
        free(l->group[i].items);
    free(l->group);
    free(l->lane);
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

/* Of the CPU, which is one device, all lanes work until one fails. */
static bool works(const struct tf_lanes *l, size_t lane)
{
    return l->why.status == 0 && !l->models->replica[lane % l->models->replicas].lost;
}

/* The next item is the lane's. */
static struct tf_lane_item *take(struct tf_lanes *l, size_t lane)
{
    struct tf_lane_item *item = &l->items[l->next];
    item->group = l->group[lane].number;
    while (l->next < l->n_items && l->items[l->next].group > 0)
        l->next++;
    return item;
}

/* A group for the lane: how many items; 0: none is left, or its device is lost. */
static size_t take_group(struct tf_lanes *l, size_t lane)
{
    pthread_mutex_lock(&l->lock);
    struct tf_lane_group *g = &l->group[lane];
    size_t n = 0, cost = 0;
    g->items = tf_xarray(g->items, l->most, sizeof *g->items);
    g->number = ++l->groups;
    while (works(l, lane) && l->next < l->n_items && n < l->most) {
        cost += l->items[l->next].cost;
        if (n > 0 && cost > l->budget)
            break;
        g->items[n++] = *take(l, lane);
    }
    pthread_mutex_unlock(&l->lock);
    return n;
}

bool tf_lanes_wait(struct tf_lanes *l)
{
    pthread_mutex_lock(&l->lock);
    const bool some = l->next < l->n_items;
    pthread_mutex_unlock(&l->lock);
    return some;
}

void *tf_lanes_more(struct tf_lanes *l, size_t lane, tf_lane_fits_fn *fits, void *arg)
{
    pthread_mutex_lock(&l->lock);
    void *item = NULL;
    if (works(l, lane) && l->next < l->n_items && fits(arg, l->items[l->next].item))
        item = take(l, lane)->item;
    pthread_mutex_unlock(&l->lock);
    return item;
}

static void give_back(struct tf_lanes *l, size_t lane, const struct tf_err *why)
{
    pthread_mutex_lock(&l->lock);
    for (size_t i = l->n_items; i-- > 0;)
        if (l->items[i].group == l->group[lane].number) {
            l->items[i].group = 0;
            l->next = i < l->next ? i : l->next;
        }
    if (devices_left(l) > 1)
        tf_ensemble_lose(l->models, lane, why);
    else if (l->why.status == 0)
        l->why = *why;
    pthread_mutex_unlock(&l->lock);
}

static void run_lane(void *arg, size_t job, int lane)
{
    struct tf_lanes *l = arg;
    size_t n;
    (void)job;
    while ((n = take_group(l, (size_t)lane)) > 0) {
        struct tf_err err = {0};
        if (l->fn(l->arg, (size_t)lane, l->group[lane].items, n, &err) == 0)
            continue;
        err.status = err.status == 0 ? TF_FAILED : err.status;
        give_back(l, (size_t)lane, &err);
    }
}

int tf_lanes_run(struct tf_lanes *l, struct tf_lane_item *items, size_t n, tf_lane_fn *fn,
                 void *arg, struct tf_err *err)
{
    size_t positions = 1;
    for (size_t i = 0; i < n; i++) {
        items[i].place = i;
        items[i].group = 0;
        positions = items[i].positions > positions ? items[i].positions : positions;
    }
    if (tf_ensemble_positions(l->models, positions, err) != 0)
        return -1;
    if (n > 1)
        qsort(items, n, sizeof *items, by_length);
    l->items = items, l->n_items = n, l->fn = fn, l->arg = arg;
    const size_t share = (n + l->n - 1) / l->n, few = l->models->replicas == 1 && n < l->n;
    l->most = share < l->batch ? share : l->batch;
    l->groups = 0;
    /* What a device that fails had may come back when the others have nothing left to do. */
    for (l->next = 0; l->next < n && l->why.status == 0;)
        tf_pool_run(l->pool, run_lane, l, few ? n : l->n);
    if (l->why.status == 0)
        return 0;
    *err = l->why;
    return -1;
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
