/* new_weights.c - the weights of a run that does not resume: random, or another model's. */
#include "base/hash.h"
#include "base/memory.h"
#include "model/load.h"
#include "train/setup.h"

#include <stdlib.h>

void tf_start_weights_release(struct tf_start_weights *w)
{
    free(w->p);
    free(w->m);
    free(w->v);
    free(w->e);
    *w = (struct tf_start_weights){0};
}

static int same_shape(const struct tf_param *ours, const struct tf_param *theirs, const char *path,
                      struct tf_err *err)
{
    if (theirs == NULL)
        return tf_fail(err, "%s: has no parameter %s", path, ours->name);
    if (ours->rank == theirs->rank && ours->dims[0] == theirs->dims[0] &&
        ours->dims[1] == theirs->dims[1])
        return 0;
    return tf_fail(err, "%s: parameter %s is %lld x %lld, must be %lld x %lld", path, ours->name,
                   (long long)theirs->dims[0], (long long)theirs->dims[1], (long long)ours->dims[0],
                   (long long)ours->dims[1]);
}

int tf_setup_same_shapes(const struct tf_setup *s, const struct tf_config *theirs, const char *path,
                         struct tf_err *err)
{
    struct tf_params a, b;
    int rc = 0;
    tf_params_init(&a, &s->config);
    tf_params_init(&b, theirs);
    for (size_t i = 0; rc == 0 && i < a.n; i++)
        rc = same_shape(&a.v[i], tf_params_find(&b, a.v[i].name), path, err);
    if (rc == 0 && a.n != b.n)
        rc = tf_fail(err, "%s: has %zu parameters, must have %zu", path, b.n, a.n);
    tf_params_release(&a);
    tf_params_release(&b);
    return rc;
}

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
    const char *path = s->o->init;
    struct tf_model_file m;
    struct tf_config theirs;
    if (tf_model_read(&m, path, TF_MODEL_WEIGHTS, 0, err) != 0)
        return -1;
    int rc = tf_same_vocab(&m.header, path, &s->common.header, "the stream", err);
    if (rc == 0 && (rc = tf_model_load(&m, &theirs, NULL, "p/", err)) != 0)
        tf_context(err, "%s", path);
    if (rc == 0)
        rc = tf_setup_same_shapes(s, &theirs, path, err);
    if (rc == 0 && (rc = tf_model_load(&m, &theirs, p, "p/", err)) != 0)
        tf_context(err, "%s", path);
    if (rc == 0 && m.header.has_model) {
        char hash[65];
        tf_value_put(&s->arena, inputs, "init", tf_value_bytes(&s->arena, m.header.model, 32));
        tf_value_put(&s->arena, &s->common.settings, "init",
                     tf_value_str(&s->arena, tf_hex(hash, m.header.model, 32)));
    }
    tf_model_release(&m);
    return rc;
}

int tf_setup_new_weights(struct tf_setup *s, struct tf_start_weights *w, struct tf_err *err)
{
    struct tf_value inputs = tf_value_map();
    if (s->common.vocab != NULL)
        tf_value_put(&s->arena, &inputs, "vocab",
                     tf_value_bytes(&s->arena, s->common.header.vocab, 32));
    if (s->tuning.text != NULL)
        tf_value_put(&s->arena, &inputs, "tuning", tf_value_bytes(&s->arena, s->tuning.sha, 32));
    int rc = s->o->init != NULL ? load_init(s, &w->p, &inputs, err) : random_weights(s, &w->p, err);
    if (rc == 0)
        tf_setup_add_stage(s, &inputs);
    return rc;
}
