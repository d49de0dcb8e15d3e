/* tune.c - a few passes, for what the device measures in them. */
#include "train/run/tune.h"
#include "base/output.h"
#include "base/path.h"
#include "train/run/new_weights_private.h"

#include <stdlib.h>
#include <string.h>

enum { BATCHES = 32 }; /* these have nearly all numbers of rows that a run will see */

/* Forward and backward on the next batch; 1 when there is none. Applying an update needs no matrix
 * product. */
static int pass(struct tf_setup *s, struct tf_stepper *stepper, uint32_t number, struct tf_err *err)
{
    const struct tf_feed_item *item;
    while ((item = tf_feed_next(s->feed)) == NULL && !tf_run_stopping(s->env))
        ;
    if (item == NULL || item->kind == TF_FEED_END)
        return 1;
    if (item->kind == TF_FEED_ERROR) {
        *err = item->err;
        return -1;
    }
    const struct tf_rng_state rng = {.seed = (uint64_t)s->o->seed, .update = number};
    tf_stepper_begin(stepper);
    if (tf_stepper_add(stepper, &item->pairs, &rng, err) != 0)
        return -1;
    tf_feed_pop(s->feed);
    return 0;
}

static int open_stepper(struct tf_setup *s, struct tf_stepper *stepper, struct tf_err *err)
{
    struct tf_start_weights w = {0};
    int rc = tf_setup_new_weights(s, &w, err);
    if (rc == 0)
        rc = tf_setup_stepper(s, stepper, &w, true, err);
    tf_start_weights_release(&w);
    return rc;
}

static int measure_model(struct tf_setup *s, struct tf_stepper *stepper, struct tf_out *out,
                         struct tf_err *err)
{
    uint32_t batches = 0;
    int rc = 0;
    if (open_stepper(s, stepper, err) != 0)
        return -1;
    tf_feed_start(s->feed, &s->config, NULL, true);
    while (batches < BATCHES && (rc = pass(s, stepper, batches, err)) == 0)
        batches++;
    if (rc < 0)
        return -1;
    if (batches == 0)
        return tf_fail(err, "%s: no batch to measure with",
                       tf_is_std(s->o->input) ? "stdin" : s->o->input);
    char *text = stepper->be->get_tuning(stepper->ctx[0], err);
    if (text == NULL)
        return -1;
    rc = tf_out_write(out, text, strlen(text), err);
    free(text);
    return rc;
}

int tf_run_tune(const struct tf_settings *o, const struct tf_run_env *env, const char *path,
                struct tf_err *err)
{
    struct tf_setup s = {0};
    struct tf_stepper stepper = {0};
    struct tf_out out = {0};
    if (tf_out_open(&out, path, 0, err) != 0)
        return -1;
    int rc = tf_setup_open(&s, o, env, err);
    if (rc == 0)
        rc = measure_model(&s, &stepper, &out, err);
    if (rc == 0)
        rc = tf_out_commit(&out, err);
    tf_out_abort(&out);
    tf_stepper_release(&stepper);
    tf_setup_release(&s);
    return rc;
}
