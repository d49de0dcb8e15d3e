/* tune.c - a few passes for the sake of what the device measures in them. */
#include "base/file.h"
#include "train/run_parts.h"
#include "train/signals.h"

#include <stdlib.h>
#include <string.h>

enum { BATCHES = 32 }; /* among so many there are about all numbers of rows that a run will see */

/* Forward and backward on the next batch; 1 when there is none. Updating the weights needs no
 * product. */
static int pass(struct tf_run *r, struct tf_err *err)
{
    const struct tf_feed_item *item;
    while ((item = tf_feed_next(r->feed)) == NULL && !tf_stop)
        ;
    if (item == NULL || item->kind == TF_FEED_END)
        return 1;
    if (item->kind == TF_FEED_ERROR) {
        *err = item->err;
        return -1;
    }
    const struct tf_rng_state step = {.seed = (uint64_t)r->o->seed,
                                      .update = (uint32_t)r->state.micro++};
    tf_step_begin(&r->stepper);
    if (tf_step_add(&r->stepper, &item->pairs, &step, err) != 0)
        return -1;
    tf_feed_pop(r->feed);
    return 0;
}

static int measure(struct tf_run *r, struct tf_out *out, struct tf_err *err)
{
    int rc = tf_run_start_tuning(r, err);
    while (rc == 0 && r->state.micro < BATCHES)
        rc = pass(r, err);
    if (rc < 0)
        return -1;
    if (r->state.micro == 0)
        return tf_fail(err, "%s: no batch to measure with", r->o->input);
    char *text = r->be->get_tuning(r->stepper.ctx[0], err);
    if (text == NULL)
        return -1;
    rc = tf_out_write(out, text, strlen(text), err);
    free(text);
    return rc;
}

int tf_run_tune(const struct tf_run_opts *o, const char *path, struct tf_err *err)
{
    struct tf_run r = {.o = o};
    struct tf_out out = {0};
    if (tf_out_open(&out, path, 0, err) != 0)
        return -1;
    int rc = measure(&r, &out, err);
    if (rc == 0)
        rc = tf_out_commit(&out, err);
    tf_out_abort(&out);
    tf_run_release(&r);
    return rc;
}
