/* start_model.c - see start_model.h. */
#include "train/run/start_model.h"
#include "base/buf.h"
#include "base/log.h"
#include "model/load.h"
#include "train/settings/settings.h"
#include "train/store/state.h"

#include <string.h>

int tf_start_model_open(struct tf_start_model *i, const char *path, struct tf_err *err)
{
    *i = (struct tf_start_model){.path = path};
    if (tf_model_read(&i->file, path, TF_MODEL_WEIGHTS, NULL, err) != 0)
        return -1;
    if (tf_model_is_int8(&i->file))
        tf_fail(err, "parameters in 8 bits: training needs those that they were made from "
                     "(tf-convert --to tfm --dtype f32 makes f32 of these)");
    else if (tf_model_load(&i->file, &i->config, NULL, "p/", err) == 0)
        return 0;
    tf_start_model_release(i);
    return tf_context(err, "%s", path);
}

void tf_start_model_release(struct tf_start_model *i)
{
    if (i->path != NULL)
        tf_model_release(&i->file);
    *i = (struct tf_start_model){0};
}

/* Labels that the stream lacks are the model's. */
static int compare_langs(const struct tf_header *model, struct tf_header *stream, const char *path,
                         bool force, struct tf_err *err)
{
    if (!force && tf_langs_fit(stream, "the stream", model, err) != 0)
        return tf_fail(err, "%s: %s (--force accepts it)", path, err->msg);
    if (stream->lang[0] == 0)
        memcpy(stream->lang, model->lang, sizeof stream->lang);
    if (stream->target_lang[0] == 0)
        memcpy(stream->target_lang, model->target_lang, sizeof stream->target_lang);
    return 0;
}

int tf_start_model_complete(const struct tf_start_model *i, struct tf_header *stream, bool force,
                            struct tf_err *err)
{
    const struct tf_header *model = &i->file.header;
    const struct tf_config *c = &i->config;
    struct tf_special *s = &stream->special;
    const bool same = stream->has_vocab && model->has_vocab;
    if (tf_same_vocab(model, i->path, stream, "the stream", err) != 0)
        return -1;
    if (compare_langs(model, stream, i->path, force, err) != 0)
        return -1;
    const int64_t source = tf_config_source_ids(c),
                  most = source > c->vocab_size ? source : c->vocab_size;
    if (stream->size > most)
        return tf_fail(err, "%s: vocabulary of %lld, the stream's has %lld", i->path,
                       (long long)most, (long long)stream->size);
    if (!stream->has_vocab && model->has_vocab) {
        memcpy(stream->vocab, model->vocab, sizeof stream->vocab);
        stream->has_vocab = true;
    }
    if (stream->size == 0 || stream->size > c->vocab_size)
        stream->size = model->size;
    stream->search = model->search;
    if (s->unk < 0)
        s->unk = model->special.unk;
    if (same || s->bos < 0 || tf_config_own_start(c))
        s->bos = c->bos;
    if (same || s->eos < 0)
        s->eos = c->eos;
    if (same || s->pad < 0)
        s->pad = c->pad;
    return 0;
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

int tf_same_shapes(const struct tf_config *ours, const struct tf_config *theirs, const char *path,
                   struct tf_err *err)
{
    struct tf_params a, b;
    int rc = 0;
    tf_params_init(&a, ours);
    tf_params_init(&b, theirs);
    for (size_t i = 0; rc == 0 && i < a.n; i++)
        rc = same_shape(&a.v[i], tf_params_find(&b, a.v[i].name), path, err);
    if (rc == 0 && a.n != b.n)
        rc = tf_fail(err, "%s: has %zu parameters, must have %zu", path, b.n, a.n);
    tf_params_release(&a);
    tf_params_release(&b);
    return rc;
}

/* What only training uses may differ. */
static void take_training(struct tf_config *c, const struct tf_config *run)
{
    struct tf_setting row;
    for (int i = -1; tf_settings_next(&i, TF_SETTING_MODEL | TF_SETTING_TRAINING, &row);) {
        const struct tf_member *f = tf_config_field(row.field.name);
        tf_member_set(f, c, tf_member_number(f, run));
    }
}

int tf_start_model_compare(const struct tf_start_model *i, const struct tf_config *run, bool force,
                           struct tf_err *err)
{
    struct tf_arena a = {0};
    struct tf_err quiet = {0};
    struct tf_config theirs = i->config;
    char text[400];
    int rc = 0;
    take_training(&theirs, run);
    bool fits = tf_same_shapes(run, &theirs, i->path, &quiet) == 0;
    const struct tf_value maps[2] = {tf_config_map(&theirs, &a), tf_config_map(run, &a)},
                          x = tf_config_explicit(&maps[0], &a),
                          y = tf_config_explicit(&maps[1], &a);
    struct tf_buf list = {0};
    for (size_t at = 0; tf_differs(text, sizeof text, &at, &x, "the model", &y, "this run");) {
        if (fits && force)
            tf_note("warning: %s: %s; continuing with the new value", i->path, text); /* all */
        else
            tf_buf_printf(&list, "%s%s", list.len > 0 ? "; " : "", text);
    }
    if (list.len > 0)
        rc = tf_fail(err, "%s: %.600s (%s)", i->path, list.p,
                     fits ? "--force continues with the new value"
                          : "the weights have other shapes");
    tf_buf_release(&list);
    tf_arena_release(&a);
    return rc;
}
