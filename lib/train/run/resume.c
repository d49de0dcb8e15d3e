/* resume.c - comparing a run with its checkpoint, and loading it. */
#include "train/run/resume_private.h"
#include "train/run/length_private.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/path.h"
#include "model/load.h"
#include "train/store/newest.h"
#include "train/store/retain.h"

#include <stdlib.h>
#include <string.h>

/* ---- finding ---- */

static bool is_regular(const struct tf_resume *r)
{
    char *name = tf_rundir_regular_name(r->state.step);
    bool same = strcmp(tf_path_name(r->path), name) == 0;
    free(name);
    return same;
}

int tf_resume_find(struct tf_resume *r, const struct tf_rundir *d, struct tf_err *err)
{
    *r = (struct tf_resume){0};
    int rc = tf_rundir_newest(d, &r->file, &r->state, &r->path, err);
    if (rc > 0)
        r->regular = is_regular(r);
    return rc < 0 ? -1 : 0;
}

void tf_resume_release(struct tf_resume *r)
{
    if (r->path != NULL)
        tf_model_release(&r->file);
    free(r->path);
    *r = (struct tf_resume){0};
}

bool tf_resume_finished(const struct tf_resume *r, const struct tf_settings *o)
{
    const struct tf_run_state *s = &r->state; /* of a new run: step 0, not regular */
    bool all = tf_run_length_reached(o, s) != NULL,
         stale = o->patience > 0 && s->stale >= (uint64_t)o->patience;
    return (o->steps > 0 && s->step > (uint64_t)o->steps) || ((all || stale) && r->regular);
}

/* ---- comparing ---- */

/* The model that the checkpoint's run started from, or NULL. */
static const struct tf_value *started_from(const struct tf_resume *r)
{
    return tf_value_get(tf_value_get(&r->file.state, "settings"), "init");
}

/* A run that has begun has weights: starting from another model is refused, also with --force. The
 * model is not read again, but without --init other options must repeat what it gave:
 * configuration and schedule. */
static int compare_init(struct tf_resume *r, struct tf_setup *s, struct tf_err *err)
{
    const struct tf_start_model *from = s->env->from;
    const struct tf_value *was = started_from(r);
    char is[65];
    if (was != NULL)
        tf_value_put(&s->arena, &s->common.settings, "init", tf_value_clone(&s->arena, was));
    if (from == NULL)
        return 0;
    tf_hex(is, from->file.header.model, 32);
    if (was == NULL)
        tf_note("%s: ignored: the run resumes with its own weights", from->path);
    else if (was->kind != TF_TEXT || strcmp(was->text, is) != 0)
        return tf_fail(
            err, "%s: started from another model than %s (repeat the command with that model)",
            r->path, from->path);
    return 0;
}

/* Where one of the two has no hash, sizes may show that their vocabularies differ. A stream that
 * lacks a size has the checkpoint's. */
static int compare_vocab(const struct tf_resume *r, struct tf_setup *s, struct tf_err *err)
{
    const struct tf_header *theirs = &r->file.header;
    struct tf_header *ours = &s->common.header;
    const int64_t was = theirs->size, is = s->stream_size;
    if (tf_same_vocab(theirs, r->path, ours, "that of the stream", err) != 0)
        return -1;
    if (is == 0 && was > 0)
        ours->size = was;
    if ((theirs->has_vocab && ours->has_vocab) || is == 0 || was == 0 || is == was)
        return 0;
    return tf_fail(err, "%s: vocabulary of %lld ids, that of the stream has %lld", r->path,
                   (long long)was, (long long)is);
}

/* A stream that lacks a label has the checkpoint's. */
static int compare_langs(struct tf_resume *r, struct tf_setup *s, struct tf_err *err)
{
    char was[TF_LANGS_TEXT], is[TF_LANGS_TEXT];
    struct tf_header *ours = &s->common.header;
    const struct tf_header *theirs = &r->file.header;
    if (tf_label_differs(ours->lang, theirs->lang) ||
        tf_label_differs(ours->target_lang, theirs->target_lang)) {
        tf_langs_describe(was, theirs);
        tf_langs_describe(is, ours);
        if (!s->o->force)
            return tf_fail(err,
                           "%s: languages %s in the checkpoint, %s in the stream (another -o "
                           "starts a new run; --force continues with the new value)",
                           r->path, was, is);
        tf_warn("%s: languages %s in the checkpoint, %s in the stream; continuing with the new "
                "value",
                r->path, was, is);
        r->overridden = true;
    }
    if (ours->lang[0] == 0)
        memcpy(ours->lang, theirs->lang, sizeof ours->lang);
    if (ours->target_lang[0] == 0)
        memcpy(ours->target_lang, theirs->target_lang, sizeof ours->target_lang);
    return 0;
}

/* Give a setting that only one of the two has to the other. Returns whether theirs and ours
 * differ. */
static bool share_setting(struct tf_value *theirs, struct tf_setup *s, const char *key)
{
    struct tf_value *ours = &s->common.settings;
    const struct tf_value *was = tf_value_get(theirs, key), *is = tf_value_get(ours, key);
    if (was != NULL && is != NULL)
        return !tf_value_equal(was, is);
    if (is != NULL)
        tf_value_put(&s->arena, theirs, key, *is);
    else if (was != NULL)
        tf_value_put(&s->arena, ours, key, tf_value_clone(&s->arena, was));
    return false;
}

/* The checkpoint's settings, with defaults for what it does not record. */
static struct tf_value recorded_settings(struct tf_resume *r, struct tf_setup *s)
{
    const struct tf_value *theirs = tf_value_find(&r->file.state, "settings", TF_MAP);
    struct tf_value known = theirs != NULL ? tf_value_clone(&s->arena, theirs) : tf_value_map();
    tf_settings_complete(&known, &s->arena);
    /* The first versions knew one precision and did not record it. */
    if (tf_value_get(&known, "precision") == NULL)
        tf_value_put(&s->arena, &known, "precision", tf_value_str(&s->arena, "fp32"));
    /* The first versions did not record the kernels, and a finished run has no device: only two
     * known sets can differ. */
    r->other_kernels = share_setting(&known, s, "kernels");
    /* A run may start validating later, or pause it; the measure of its best is kept. */
    if (share_setting(&known, s, "best_by"))
        tf_state_forget_best(&r->state); /* without --force it is refused */
    return known;
}

/* Do the checkpoint's weights fit this run? Other differences --force can accept. */
static bool fits(const struct tf_resume *r, const struct tf_setup *s)
{
    struct tf_config theirs;
    struct tf_err quiet = {0};
    return tf_config_read(&theirs, &r->file.header.config, &quiet) == 0 &&
           tf_same_shapes(&s->config, &theirs, r->path, &quiet) == 0;
}

/* The id that the decoder starts with is that of the model of --init, which the checkpoint has, and
 * else that of the stream. */
static void take_start(const struct tf_resume *r, struct tf_setup *s)
{
    struct tf_config theirs;
    struct tf_err quiet = {0};
    if (started_from(r) != NULL && tf_config_read(&theirs, &r->file.header.config, &quiet) == 0)
        tf_setup_take_start(s, &theirs);
}

int tf_resume_compare(struct tf_resume *r, struct tf_setup *s, struct tf_err *err)
{
    char text[400];
    take_start(r, s);
    const bool can_force = fits(r, s),
               lacks_init = s->env->from == NULL && started_from(r) != NULL;
    struct tf_save_common *c = &s->common;
    if (compare_vocab(r, s, err) != 0 || compare_init(r, s, err) != 0 ||
        compare_langs(r, s, err) != 0)
        return -1;
    c->header.search = tf_value_clone(&s->arena, &r->file.header.search);
    struct tf_value settings = recorded_settings(r, s);
    if (tf_setup_guide(s, err) != 0)
        return -1;
    if (tf_setup_shards(s, &settings, err) != 0)
        return tf_context(err, "%s", r->path);
    const struct tf_value theirs = tf_config_explicit(&r->file.header.config, &s->arena),
                          ours = tf_config_explicit(&c->header.config, &s->arena);
    const struct {
        const struct tf_value *theirs, *ours;
        const char *whose;
    } maps[] = {
        {&theirs, &ours, "this run"},
        {&settings, &c->settings, "this run"},
        {tf_value_get(&r->file.state, "batches"), &c->batches, "the stream"},
    };
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
        for (size_t at = 0; tf_differs(text, sizeof text, &at, maps[i].theirs, "the checkpoint",
                                       maps[i].ours, maps[i].whose);) {
            if (!s->o->force || !can_force)
                return tf_fail(err, "%s: %s (%s%s)", r->path, text,
                               lacks_init ? "it started from a model: repeat its --init; " : "",
                               can_force ? "another -o starts a new run; --force continues with "
                                           "the new value"
                                         : "the weights have other shapes; another -o starts a "
                                           "new run");
            tf_note("warning: %s: %s; continuing with the new value", r->path, text); /* all */
            r->overridden = true;
        }
    return 0;
}

/* ---- loading ---- */

/* Without --vocab, the checkpoint's copy stays in the checkpoints that follow. */
static void keep_vocab(const struct tf_resume *r, struct tf_setup *s)
{
    const struct tf_model_file *m = &r->file;
    tf_setup_keep_target(s, m);
    if (s->common.vocab != NULL || m->vocab == NULL)
        return;
    char *copy = tf_xmalloc(m->vocab_n);
    memcpy(copy, m->vocab, m->vocab_n);
    tf_setup_take_vocab(s, copy, m->vocab_n);
    memcpy(s->common.header.vocab, m->header.vocab, sizeof m->header.vocab);
    s->common.header.has_vocab = m->header.has_vocab;
}

static bool has_block(const struct tf_model_file *m, const char *prefix)
{
    for (size_t i = 0; i < m->n_tensors; i++)
        if (strncmp(m->tensors[i].name, prefix, 2) == 0)
            return true;
    return false;
}

int tf_resume_load(const struct tf_resume *r, struct tf_setup *s, struct tf_start_weights *w,
                   struct tf_err *err)
{
    const struct tf_model_file *m = &r->file;
    struct tf_config theirs;
    const bool moments = has_block(m, "m/"); /* before the first update they are zero */
    if (!moments && r->state.step > 0)
        return tf_fail(err,
                       "%s: has the weights alone (--weights-only), from which no run resumes; a "
                       "new one with another -o starts from them with --init",
                       r->path);
    TF_ASSERT(fits(r, s)); /* tf_resume_compare refuses the others, also with --force */
    keep_vocab(r, s);
    if (tf_model_load(m, &theirs, &w->p, "p/", err) != 0 ||
        (moments && (tf_model_load(m, &theirs, &w->m, "m/", err) != 0 ||
                     tf_model_load(m, &theirs, &w->v, "v/", err) != 0)) ||
        (has_block(m, "e/") && s->o->ema > 0 && tf_model_load(m, &theirs, &w->e, "e/", err) != 0))
        return tf_context(err, "%s", r->path);
    /* A resumed run writes the bytes of one that was never stopped: the provenance stays. */
    s->common.header.made = tf_value_clone(&s->arena, &m->header.made);
    return 0;
}

int tf_resume_repair_best(const struct tf_resume *r, const struct tf_rundir *d, struct tf_err *err)
{
    const struct tf_run_state *s = &r->state;
    bool missing =
        r->regular && s->has_best && s->best_step == s->step && !tf_rundir_best_is(d, s->step);
    return missing ? tf_rundir_make_best(d, r->path, err) : 0;
}
