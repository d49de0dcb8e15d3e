/* new_weights.c - the weights of a run that does not resume: random, or another model's. */
#include "train/run/new_weights_private.h"
#include "base/hash.h"
#include "base/memory.h"
#include "model/load.h"

static int random_weights(const struct tf_setup *s, float **p, struct tf_err *err)
{
    struct tf_params params;
    tf_params_init(&params, &s->config);
    *p = tf_try_alloc(params.size * sizeof **p, err);
    if (*p != NULL)
        tf_params_fill(*p, &params, (uint64_t)s->o->seed);
    tf_params_release(&params);
    return *p != NULL ? 0 : -1;
}

/* The weights of --init; its fingerprint goes into *inputs and the settings. */
static int load_init(struct tf_setup *s, float **p, struct tf_value *inputs, struct tf_err *err)
{
    const struct tf_start_model *from = s->env->from;
    const struct tf_header *h = &from->file.header;
    struct tf_config theirs;
    char hash[65];
    if (tf_start_model_compare(from, &s->config, s->o->force, err) != 0)
        return -1;
    if (tf_model_load(&from->file, &theirs, p, "p/", err) != 0)
        return tf_context(err, "%s", from->path);
    tf_value_put(&s->arena, inputs, "init", tf_value_bytes(&s->arena, h->model, 32));
    tf_value_put(&s->arena, &s->common.settings, "init",
                 tf_value_str(&s->arena, tf_hex(hash, h->model, 32)));
    return 0;
}

int tf_setup_new_weights(struct tf_setup *s, struct tf_start_weights *w, struct tf_err *err)
{
    struct tf_value inputs = tf_value_map();
    if (s->common.vocab != NULL)
        tf_value_put(&s->arena, &inputs, "vocab",
                     tf_value_bytes(&s->arena, s->common.header.vocab, 32));
    if (s->tuning.text != NULL)
        tf_value_put(&s->arena, &inputs, "tuning", tf_value_bytes(&s->arena, s->tuning.sha, 32));
    int rc =
        s->env->from != NULL ? load_init(s, &w->p, &inputs, err) : random_weights(s, &w->p, err);
    if (rc == 0)
        rc = tf_setup_shards(s, NULL, err);
    if (rc == 0)
        tf_setup_add_stage(s, &inputs);
    return rc;
}
