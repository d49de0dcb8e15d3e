/* start.c - the beginning of a run: the directory, the stream's header, a checkpoint to go on from
 * or first weights. */
#include "train/run_parts.h"
#include "base/hash.h"
#include "model/load.h"
#include "train/signals.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_TUNING = 16 << 20 };

/* The configuration with what the stream says of its vocabulary. */
static int complete_config(struct tf_run *r, const struct tf_header *h, struct tf_err *err)
{
    struct tf_config *c = &r->config;
    *c = r->o->config;
    if (c->vocab_size == 0)
        c->vocab_size = h->size;
    if (c->vocab_size == 0)
        return tf_fail_status(
            err, TF_USAGE,
            "the stream does not tell the size of its vocabulary: --vocab-size is needed");
    if (c->vocab_size < h->size)
        return tf_fail_status(err, TF_USAGE, "--vocab-size %lld: the stream's vocabulary has %lld",
                              (long long)c->vocab_size, (long long)h->size);
    if (h->special.eos < 0)
        return tf_fail(err, "the stream's vocabulary has no eos");
    c->bos = h->special.bos;
    c->eos = h->special.eos;
    c->pad = h->special.pad;
    if (c->bos < 0 && r->o->need_bos)
        return tf_fail_status(err, TF_USAGE, "--start bos: the stream's vocabulary has no bos");
    if (c->bos < 0)
        c->start = TF_START_ZERO;
    r->schedule = r->o->schedule;
    r->schedule.d_model = c->d_model;
    return tf_config_check(c, err);
}

static int read_vocab(struct tf_run *r, struct tf_header *h, struct tf_err *err)
{
    struct tf_header own = {.has_vocab = true};
    if (r->o->vocab == NULL)
        return 0;
    if (tf_read_file(&r->vocab, &r->common.vocab_n, r->o->vocab, TF_MAX_VOCAB, err) != 0)
        return -1;
    r->common.vocab = (const uint8_t *)r->vocab;
    tf_sha256_of(own.vocab, r->vocab, r->common.vocab_n);
    if (tf_same_vocab(&own, r->o->vocab, h, "that of the stream", err) != 0)
        return -1;
    memcpy(h->vocab, own.vocab, sizeof h->vocab);
    h->has_vocab = true;
    return 0;
}

/* The header of all checkpoints of this run. `stream` is the batches' header. */
static int make_header(struct tf_run *r, const struct tf_header *stream, const char *precision,
                       struct tf_err *err)
{
    struct tf_header *h = &r->common.header;
    struct tf_value none = tf_value_map();
    *h = (struct tf_header){.kind = "checkpoint",
                            .version = 1,
                            .has_vocab = stream->has_vocab,
                            .size = stream->size > 0 ? stream->size : r->config.vocab_size,
                            .special = stream->special,
                            .config = tf_config_map(&r->config, &r->arena),
                            .extra = tf_value_map()};
    memcpy(h->vocab, stream->vocab, sizeof h->vocab);
    h->made =
        stream->made.kind == TF_ARRAY ? tf_value_clone(&r->arena, &stream->made) : tf_value_array();
    char hash[65];
    r->common.settings =
        tf_run_settings(&r->arena, r->o, precision,
                        r->tuning != NULL ? tf_hex(hash, r->tuning_sha, 32) : NULL);
    r->common.batches =
        stream->config.kind == TF_MAP ? tf_value_clone(&r->arena, &stream->config) : none;
    return read_vocab(r, h, err);
}

/* Our own stage of the provenance. */
static void add_stage(struct tf_run *r, const struct tf_value *inputs)
{
    tf_header_made(&r->common.header, &r->arena, "tf-train", r->o->opts, inputs);
}

/* ---- weights to begin with ---- */

struct weights {
    float *p, *m, *v, *e;
};

static void free_weights(struct weights *w)
{
    free(w->p);
    free(w->m);
    free(w->v);
    free(w->e);
}

/* Are the parameters of two configurations the same in name and shape? */
static int same_shapes(const struct tf_config *ours, const struct tf_config *theirs,
                       const char *path, struct tf_err *err)
{
    struct tf_params a, b;
    int rc = 0;
    tf_params_init(&a, ours);
    tf_params_init(&b, theirs);
    for (size_t i = 0; rc == 0 && i < a.n; i++) {
        const struct tf_param *x = &a.v[i], *y = tf_params_find(&b, x->name);
        if (y == NULL)
            rc = tf_fail(err, "%s: has no parameter %s", path, x->name);
        else if (x->rank != y->rank || x->dims[0] != y->dims[0] || x->dims[1] != y->dims[1])
            rc = tf_fail(err, "%s: parameter %s is %lld x %lld, must be %lld x %lld", path, x->name,
                         (long long)y->dims[0], (long long)y->dims[1], (long long)x->dims[0],
                         (long long)x->dims[1]);
    }
    if (rc == 0 && a.n != b.n)
        rc = tf_fail(err, "%s: has %zu parameters, must have %zu", path, b.n, a.n);
    tf_params_release(&a);
    tf_params_release(&b);
    return rc;
}

static int fresh_weights(struct tf_run *r, struct weights *w, struct tf_err *err)
{
    const struct tf_run_opts *o = r->o;
    struct tf_value inputs = tf_value_map();
    if (r->common.vocab != NULL)
        tf_value_put(&r->arena, &inputs, "vocab",
                     tf_value_bytes(&r->arena, r->common.header.vocab, 32));
    if (r->tuning != NULL)
        tf_value_put(&r->arena, &inputs, "tuning", tf_value_bytes(&r->arena, r->tuning_sha, 32));
    if (o->init == NULL) {
        struct tf_params params;
        tf_params_init(&params, &r->config);
        w->p = tf_try_alloc(params.size * sizeof *w->p, err);
        if (w->p != NULL)
            tf_params_fill(w->p, &params, (uint64_t)o->seed);
        tf_params_release(&params);
        add_stage(r, &inputs);
        return w->p != NULL ? 0 : -1;
    }
    struct tf_model_file m;
    struct tf_config theirs;
    if (tf_model_read(&m, o->init, TF_MODEL_WEIGHTS, 0, err) != 0)
        return -1;
    int rc = tf_same_vocab(&m.header, o->init, &r->common.header, "the stream", err);
    if (rc == 0 && (rc = tf_model_load(&m, &theirs, NULL, "p/", err)) != 0)
        tf_context(err, "%s", o->init);
    if (rc == 0)
        rc = same_shapes(&r->config, &theirs, o->init, err);
    if (rc == 0 && (rc = tf_model_load(&m, &theirs, &w->p, "p/", err)) != 0)
        tf_context(err, "%s", o->init);
    if (rc == 0 && m.header.has_model) {
        char hash[65];
        tf_value_put(&r->arena, &inputs, "init", tf_value_bytes(&r->arena, m.header.model, 32));
        tf_value_put(&r->arena, &r->common.settings, "init",
                     tf_value_str(&r->arena, tf_hex(hash, m.header.model, 32)));
    }
    add_stage(r, &inputs);
    tf_model_release(&m);
    return rc;
}

/* ---- resumption ---- */

/* Figures of other data, or of another kind, are not to be compared. */
static void forget_best(struct tf_run_state *s)
{
    s->has_best = false;
    s->best_step = s->stale = 0;
}

/* A run that is under way has weights: another model to begin with is refused, also with --force.
 * The model may be left out, and what the checkpoint says of it stays. */
static int compare_init(struct tf_run *r, const struct tf_model_file *m, const char *path,
                        struct tf_err *err)
{
    const char *init = r->o->init;
    const struct tf_value *theirs = tf_value_get(&m->state, "settings"),
                          *was = theirs != NULL && theirs->kind == TF_MAP
                                     ? tf_value_get(theirs, "init")
                                     : NULL;
    struct tf_model_file given;
    char is[65] = "";
    if (was != NULL)
        tf_value_put(&r->arena, &r->common.settings, "init", tf_value_clone(&r->arena, was));
    if (init == NULL)
        return 0;
    if (tf_model_read(&given, init, TF_MODEL_HEAD, 0, err) != 0)
        return -1;
    if (given.header.has_model)
        tf_hex(is, given.header.model, 32);
    tf_model_release(&given);
    if (was == NULL)
        tf_note("%s: not used: the run goes on with its own weights", init);
    else if (was->kind != TF_TEXT || strcmp(was->text, is) != 0)
        return tf_fail(err, "%s: began with another model than %s (without --init it goes on)",
                       path, init);
    return 0;
}

/* The settings of a checkpoint, with what it does not tell. */
static struct tf_value known_settings(struct tf_run *r, const struct tf_model_file *m)
{
    const struct tf_value *theirs = tf_value_get(&m->state, "settings");
    struct tf_value known = theirs != NULL && theirs->kind == TF_MAP
                                ? tf_value_clone(&r->arena, theirs)
                                : tf_value_map(),
                    *ours = &r->common.settings;
    /* A checkpoint that does not tell its precision is of a time when there was one. */
    if (tf_value_get(&known, "precision") == NULL)
        tf_value_put(&r->arena, &known, "precision", tf_value_str(&r->arena, "fp32"));
    /* A run may begin to validate, or leave it out for a while: what its best was chosen by is
     * kept. */
    const struct tf_value *was = tf_value_get(&known, "best_by"),
                          *is = tf_value_get(ours, "best_by");
    if (was == NULL && is != NULL)
        tf_value_put(&r->arena, &known, "best_by", *is);
    else if (was != NULL && is == NULL)
        tf_value_put(&r->arena, ours, "best_by", tf_value_clone(&r->arena, was));
    else if (was != NULL && !tf_value_equal(was, is))
        forget_best(&r->state); /* unless it is refused */
    return known;
}

/* Refuse what would silently make another run of this one. */
static int compare(struct tf_run *r, const struct tf_model_file *m, const char *path,
                   struct tf_err *err)
{
    char text[400];
    struct tf_save_common *c = &r->common;
    if (tf_same_vocab(&m->header, path, &c->header, "that of the stream", err) != 0)
        return -1;
    if (compare_init(r, m, path, err) != 0)
        return -1;
    const struct tf_value theirs = known_settings(r, m);
    const struct tf_value *pairs[][2] = {
        {&m->header.config, &c->header.config},
        {&theirs, &c->settings},
        {tf_value_get(&m->state, "batches"), &c->batches},
    };
    for (int i = 0; i < 3; i++)
        for (size_t at = 0; tf_differs(text, sizeof text, &at, pairs[i][0], "the checkpoint",
                                       pairs[i][1], i == 2 ? "the stream" : "this run");) {
            if (!r->o->force)
                return tf_fail(err, "%s: %s (--force goes on with the new)", path, text);
            tf_warn("%s: %s; going on with the new", path, text);
            r->overridden = true;
        }
    return 0;
}

static int resumed_weights(struct tf_run *r, struct weights *w, const struct tf_model_file *m,
                           const char *path, struct tf_err *err)
{
    struct tf_config theirs;
    struct tf_save_common *c = &r->common;
    if (compare(r, m, path, err) != 0)
        return -1;
    if (c->vocab == NULL && m->vocab != NULL) { /* --vocab was left out this time */
        r->vocab = tf_xmalloc(m->vocab_n);
        memcpy(r->vocab, m->vocab, m->vocab_n);
        c->vocab = (const uint8_t *)r->vocab;
        c->vocab_n = m->vocab_n;
        memcpy(c->header.vocab, m->header.vocab, 32);
        c->header.has_vocab = m->header.has_vocab;
    }
    if (tf_model_load(m, &theirs, NULL, "p/", err) != 0)
        return tf_context(err, "%s", path);
    if (same_shapes(&r->config, &theirs, path, err) != 0)
        return -1;
    if (tf_model_load(m, &theirs, &w->p, "p/", err) != 0 ||
        tf_model_load(m, &theirs, &w->m, "m/", err) != 0 ||
        tf_model_load(m, &theirs, &w->v, "v/", err) != 0)
        return tf_context(err, "%s", path);
    bool has_e = false;
    for (size_t i = 0; i < m->n_tensors; i++)
        has_e |= strncmp(m->tensors[i].name, "e/", 2) == 0;
    if (has_e && r->o->ema > 0 && tf_model_load(m, &theirs, &w->e, "e/", err) != 0)
        return tf_context(err, "%s", path);
    /* The same command makes the same bytes: the pipeline stays the one that began. */
    c->header.made = tf_value_clone(&r->arena, &m->header.made);
    return 0;
}

/* Is it the file of the grid that belongs to the state? */
static bool is_grid_file(const struct tf_run *r, const char *path)
{
    const char *slash = strrchr(path, '/');
    char *name = tf_rundir_grid_name(r->state.step);
    bool same = strcmp(slash != NULL ? slash + 1 : path, name) == 0;
    free(name);
    return same;
}

/* Was this run over already? One that was stopped at its last border has all of its updates, but
 * not its last checkpoint: it goes on. */
static bool finished(const struct tf_run *r, const char *path)
{
    const struct tf_run_opts *o = r->o;
    const struct tf_run_state *s = &r->state;
    bool all = s->step >= (uint64_t)o->steps,
         stale = o->patience > 0 && s->stale >= (uint64_t)o->patience;
    return s->step > (uint64_t)o->steps || ((all || stale) && is_grid_file(r, path));
}

static void say_finished(const struct tf_run *r)
{
    const struct tf_run_state *s = &r->state;
    if (s->step >= (uint64_t)r->o->steps)
        tf_note("%s: step %llu of %lld is done: nothing left to do", r->o->dir,
                (unsigned long long)s->step, (long long)r->o->steps);
    else
        tf_note("%s: stopped at step %llu, no better since step %llu: nothing left to do",
                r->o->dir, (unsigned long long)s->step, (unsigned long long)s->best_step);
}

static int open_stepper(struct tf_run *r, const struct weights *w, bool tune, struct tf_err *err)
{
    const struct tf_run_opts *o = r->o;
    const struct tf_step_start start = {.p = w->p,
                                        .m = w->m,
                                        .v = w->v,
                                        .e = w->e,
                                        .ema = o->ema > 0,
                                        .accumulate = o->accumulate > 1,
                                        .threads = (int)o->threads,
                                        .tuning = r->tuning,
                                        .tuning_name = o->tuning,
                                        .tuning_n = r->tuning_n,
                                        .tune = tune};
    if (tf_stepper_init(&r->stepper, r->be, &r->config, &start, err) != 0)
        return -1;
    r->has_stepper = true;
    return 0;
}

/* The file that is resumed from, when it is one of the grid, is on the grid; and best.tfm may be
 * what a killed run had no time to link. */
static int adopt(struct tf_run *r, const char *path, struct tf_err *err)
{
    const struct tf_run_state *s = &r->state;
    r->saved_step = s->step;
    if (!is_grid_file(r, path))
        return 0;
    r->grid_step = s->step;
    bool owed = s->has_best && s->best_step == s->step && !tf_rundir_best_is(r->o->dir, s->step);
    return owed ? tf_rundir_make_best(r->o->dir, path, err) : 0;
}

static int read_tuning(struct tf_run *r, struct tf_err *err)
{
    if (r->o->tuning == NULL)
        return 0;
    if (tf_read_file(&r->tuning, &r->tuning_n, r->o->tuning, MAX_TUNING, err) != 0)
        return -1;
    tf_sha256_of(r->tuning_sha, r->tuning, r->tuning_n);
    return 0;
}

/* The device, the stream's header, and what follows from both. */
static int open_input(struct tf_run *r, struct tf_err *err)
{
    const struct tf_run_opts *o = r->o;
    struct tf_err why = {0};
    if ((r->be = tf_backend_find(o->device, o->precision, TF_USE_TRAINING, &why, err)) == NULL)
        return -1;
    tf_backend_note(&why);
    if (read_tuning(r, err) != 0 || tf_feed_open(&r->feed, o->input, err) != 0)
        return -1;
    const struct tf_header *h = tf_feed_header(r->feed);
    if (complete_config(r, h, err) != 0)
        return -1;
    return make_header(r, h, r->be->precision, err);
}

/* A run that is over needs no stream, and no device; that it is the one that is asked for is looked
 * at all the same, by what its checkpoint says of its stream. */
static int compare_finished(struct tf_run *r, const struct tf_model_file *m, const char *path,
                            struct tf_err *err)
{
    const struct tf_value *batches = tf_value_get(&m->state, "batches"),
                          *settings = tf_value_get(&m->state, "settings"),
                          *was = settings != NULL && settings->kind == TF_MAP
                                     ? tf_value_get(settings, "precision")
                                     : NULL;
    const char *precision = r->o->precision != NULL             ? r->o->precision
                            : was != NULL && was->kind == TF_TEXT ? was->text
                                                                  : "fp32";
    struct tf_header stream = m->header;
    stream.config = batches != NULL ? *batches : tf_value_map();
    if (read_tuning(r, err) != 0 || complete_config(r, &stream, err) != 0 ||
        make_header(r, &stream, precision, err) != 0)
        return -1;
    return compare(r, m, path, err);
}

/* The data that this run validates on. */
static int check_valid(struct tf_run *r, struct tf_err *err)
{
    struct tf_run_state *s = &r->state;
    uint8_t sha[32];
    if (r->o->valid == NULL)
        return 0;
    if (tf_validate_check(sha, r->o->valid, &r->common.header, &r->config, err) != 0)
        return -1;
    if (s->has_valid && memcmp(s->valid, sha, sizeof sha) != 0) {
        tf_note("%s: not the data that the checkpoint was validated on: the choice of the best "
                "begins anew",
                r->o->valid);
        forget_best(s);
    }
    s->has_valid = true;
    memcpy(s->valid, sha, sizeof sha);
    return 0;
}

/* A run that --force made another one says so from here on; one that goes on as it was does not,
 * however often it was started. */
static void own_up(struct tf_run *r)
{
    struct tf_value none = tf_value_map();
    while (tf_feed_next(r->feed) == NULL && !tf_stop)
        ;
    if (tf_feed_other_corpus(r->feed))
        tf_warn("%s: another corpus than that of the checkpoint; going on with the new",
                r->o->input);
    else if (!r->overridden)
        return;
    add_stage(r, &none);
}

static int start_with(struct tf_run *r, struct tf_model_file *m, const char *path,
                      struct tf_err *err)
{
    const struct tf_run_opts *o = r->o;
    struct weights w = {0};
    if (open_input(r, err) != 0)
        return -1;
    int rc = r->resumed ? resumed_weights(r, &w, m, path, err) : fresh_weights(r, &w, err);
    if (rc == 0)
        rc = check_valid(r, err);
    if (rc == 0)
        rc = open_stepper(r, &w, false, err);
    free_weights(&w);
    if (rc != 0)
        return -1;
    r->saver = tf_saver_new(o->dir, &r->common, &r->stepper.w.params, o->ema > 0,
                            (uint64_t)o->keep, (uint64_t)o->save_every);
    if (r->resumed) {
        tf_saver_had(r->saver, path, r->state.step);
        if (adopt(r, path, err) != 0)
            return -1;
        /* What a killed run had no time to delete, or runs killed again and again would fill the
         * disk. One that is over deletes nothing. Whether the one before was on the grid of
         * that time is not known: it stays. */
        if (is_grid_file(r, path) &&
            tf_rundir_retain(o->dir, (uint64_t)o->keep, 1, r->state.step, err) != 0)
            return -1;
    }
    char *log = tf_rundir_file(o->dir, TF_RUN_LOG);
    rc = tf_journal_open(&r->journal, log, r->state.step, r->state.valid_step, o->log, err);
    free(log);
    if (rc != 0)
        return -1;
    tf_signals_catch();
    tf_feed_start(r->feed, &r->config, r->resumed ? &r->state.cursor : NULL, o->force);
    if (r->resumed && o->force)
        own_up(r);
    return 0;
}

int tf_run_start(struct tf_run *r, struct tf_err *err)
{
    struct tf_model_file m;
    char *path = NULL;
    r->saved_step = UINT64_MAX;
    r->journal = (struct tf_journal){.fd = {-1, -1}};
    if (tf_rundir_open(&r->dir, r->o->dir, err) != 0)
        return -1;
    if (r->o->log != NULL && strcmp(r->o->log, "-") != 0 && tf_rundir_owns(r->o->dir, r->o->log))
        return tf_fail_status(err, TF_USAGE, "--log %s: a file of the run itself", r->o->log);
    int rc = tf_rundir_newest(r->o->dir, &m, &r->state, &path, err);
    if (rc < 0)
        return -1;
    r->resumed = rc > 0;
    rc = 0;
    if (r->resumed && finished(r, path)) {
        rc = r->o->force ? 0 : compare_finished(r, &m, path, err);
        if (rc == 0)
            rc = adopt(r, path, err) != 0 ? -1 : 1;
        if (rc == 1)
            say_finished(r);
    }
    if (rc == 0 && (rc = start_with(r, &m, path, err)) == 0 && r->resumed)
        tf_note("going on from %s", path);
    if (r->resumed)
        tf_model_release(&m);
    free(path);
    return rc;
}

int tf_run_start_tuning(struct tf_run *r, struct tf_err *err)
{
    struct weights w = {0};
    r->journal = (struct tf_journal){.fd = {-1, -1}};
    if (open_input(r, err) != 0)
        return -1;
    int rc = fresh_weights(r, &w, err);
    if (rc == 0)
        rc = open_stepper(r, &w, true, err);
    free_weights(&w);
    if (rc == 0)
        tf_feed_start(r->feed, &r->config, NULL, true);
    return rc;
}

void tf_run_release(struct tf_run *r)
{
    tf_feed_close(r->feed);
    tf_saver_free(r->saver);
    if (r->has_stepper)
        tf_stepper_release(&r->stepper);
    tf_journal_close(&r->journal);
    if (r->dir.path != NULL)
        tf_rundir_close(&r->dir);
    free(r->vocab);
    free(r->tuning);
    tf_arena_release(&r->arena);
}
