/* setup.c - from options and the header of the stream to what a run works on. */
#include "train/run/setup_private.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/memory.h"
#include "stream/search_settings.h"
#include "ops/registry.h"
#include "text/text_file.h"
#include "text/vocab_file.h"
#include "train/ranks/ranked.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_TUNING = 16 << 20 };

/* ---- the configuration: options and the stream's vocabulary ---- */

static int complete_config(struct tf_setup *s, const struct tf_header *h, struct tf_err *err)
{
    struct tf_config *c = &s->config;
    *c = s->o->config;
    if (s->env->from == NULL && c->tie != TF_TIE_ALL)
        c->source_vocab_size = h->source_size;
    if (c->vocab_size == 0)
        c->vocab_size = h->size;
    if (c->vocab_size == 0)
        return tf_fail_status(err, TF_USAGE,
                              "the stream does not contain its vocabulary's size: --vocab-size is "
                              "required");
    const bool fewer = c->source_vocab_size > 0 && h->source_size == h->size;
    if (c->vocab_size < h->size && !fewer)
        return tf_fail_status(err, TF_USAGE, "--vocab-size %lld: the stream's vocabulary has %lld",
                              (long long)c->vocab_size, (long long)h->size);
    if (h->special.eos < 0)
        return tf_fail(err, "the stream's vocabulary has no eos");
    if (tf_config_takes(c, h, err) != 0)
        return -1;
    c->bos = h->special.bos;
    c->eos = h->special.eos;
    c->pad = h->special.pad;
    if (c->bos < 0 && s->o->need_bos)
        return tf_fail_status(err, TF_USAGE, "--start bos: the stream's vocabulary has no bos");
    if (c->bos < 0)
        c->start = TF_START_ZERO;
    s->schedule = s->o->schedule;
    s->schedule.d_model = c->d_model;
    return tf_config_check(c, err);
}

/* ---- what all checkpoints share ---- */

/* The settings of training and the machine's as a map: kept in checkpoints, compared at resume.
 * kernels: NULL without a device. */
static struct tf_value settings_map(struct tf_setup *s, const char *precision, const char *kernels)
{
    struct tf_arena *a = &s->arena;
    struct tf_value v = tf_settings_map(s->o, a);
    tf_value_put(a, &v, "precision", tf_value_str(a, precision));
    if (kernels != NULL)
        tf_value_put(a, &v, "kernels", tf_value_str(a, kernels));
    if (s->o->freeze != NULL)
        tf_value_put(a, &v, "freeze", tf_value_str(a, s->o->freeze));
    if (s->tuning.text != NULL) {
        char hash[65];
        tf_value_put(a, &v, "tuning", tf_value_str(a, tf_hex(hash, s->tuning.sha, 32)));
    }
    return v;
}

void tf_setup_keep_target(struct tf_setup *s, const struct tf_model_file *m)
{
    const struct tf_value *target = tf_value_find(&m->state, "vocab_target", TF_BYTES);
    if (target != NULL)
        s->common.vocab_target = tf_value_clone(&s->arena, target);
}

void tf_setup_take_vocab(struct tf_setup *s, char *vocab, size_t n)
{
    s->vocab = vocab;
    s->common.vocab = (const uint8_t *)vocab;
    s->common.vocab_n = n;
}

/* What is no vocabulary of tf-tokenize may be one of another tokenizer, and right for its streams:
 * only after a mismatch the likely mistake is named. path: of --vocab, or NULL. */
static int explain_mismatch(const char *bytes, size_t n, const char *path, struct tf_err *err)
{
    struct tf_err why = {0};
    if (path != NULL && tf_vocab_file_check(bytes, n, &why) != 0) {
        *err = why;
        tf_context(err, "%s", path);
    }
    return -1;
}

/* --vocab, and the segmenter of targets of a model. */
static int read_vocab_file(struct tf_setup *s, char **bytes, size_t *n, struct tf_err *err)
{
    struct tf_buf target = {0};
    const int rc = tf_vocab_file_read(bytes, n, &target, s->o->vocab, false, err);
    if (rc == 0 && target.len > 0)
        s->common.vocab_target = tf_value_bytes(&s->arena, target.p, target.len);
    tf_buf_release(&target);
    return rc;
}

/* A vocabulary from --vocab, which must be that of the stream; else that of --init. Sets the hash
 * of *h. */
static int read_vocab(struct tf_setup *s, struct tf_header *h, struct tf_err *err)
{
    const struct tf_settings *o = s->o;
    const struct tf_model_file *m = s->env->from != NULL ? &s->env->from->file : NULL;
    struct tf_header own = {.has_vocab = true};
    char *bytes;
    size_t n;
    if (o->vocab == NULL && (m == NULL || m->vocab == NULL))
        return 0;
    if (o->vocab == NULL) {
        n = m->vocab_n;
        bytes = memcpy(tf_xmalloc(n), m->vocab, n);
    } else if (read_vocab_file(s, &bytes, &n, err) != 0) {
        return -1;
    }
    tf_setup_take_vocab(s, bytes, n);
    if (m != NULL)
        tf_setup_keep_target(s, m);
    tf_sha256_of(own.vocab, bytes, n);
    if (tf_same_vocab(&own, o->vocab, h, "that of the stream", err) != 0)
        return explain_mismatch(bytes, n, o->vocab, err);
    if (!h->has_vocab &&
        tf_vocab_file_fits(bytes, n, o->vocab, s->config.vocab_size, false, &h->special, err) != 0)
        return -1;
    memcpy(h->vocab, own.vocab, sizeof h->vocab);
    h->has_vocab = true;
    return 0;
}

int tf_setup_guide(struct tf_setup *s, struct tf_err *err)
{
    const struct tf_settings *o = s->o;
    const int64_t layers = s->config.decoder_layers,
                  layer = o->guided_layer > 0 ? o->guided_layer : layers;
    char head[32];
    if (!(o->guided_alignment > 0))
        return 0;
    if (layer > layers)
        return tf_fail_status(err, TF_USAGE, "--guided-layer %lld: the decoder has %lld layers",
                              (long long)layer, (long long)layers);
    if (s->be != NULL && !s->be->host)
        return tf_fail_status(err, TF_USAGE,
                              "--guided-alignment: runs on the CPU only; use --device cpu");
    const struct tf_guide g = {o->guided_alignment, (int)layer - 1, 0};
    if (s->feed != NULL)
        tf_feed_guide(s->feed, &g);
    snprintf(head, sizeof head, "%lld,1", (long long)layer);
    return tf_search_settings_set(&s->common.header.search, &s->arena, TF_ALIGNMENT_HEAD, head,
                                  err);
}

/* The provenance so far is the stream's. */
static int make_common(struct tf_setup *s, const struct tf_header *stream, const char *precision,
                       const char *kernels, struct tf_err *err)
{
    struct tf_save_common *c = &s->common;
    struct tf_arena *a = &s->arena;
    bool has_made = stream->made.kind == TF_ARRAY, has_config = stream->config.kind == TF_MAP;
    c->header = (struct tf_header){
        .kind = "checkpoint",
        .has_vocab = stream->has_vocab,
        .size = stream->size > 0 ? stream->size : s->config.vocab_size,
        .special = stream->special,
        .config = tf_config_map(&s->config, a),
        .made = has_made ? tf_value_clone(a, &stream->made) : tf_value_array(),
        .search = stream->search.kind == TF_MAP ? tf_value_clone(a, &stream->search)
                                                : tf_value_map(),
    };
    if (tf_setup_guide(s, err) != 0)
        return -1;
    memcpy(c->header.vocab, stream->vocab, sizeof c->header.vocab);
    memcpy(c->header.lang, stream->lang, sizeof c->header.lang);
    memcpy(c->header.target_lang, stream->target_lang, sizeof c->header.target_lang);
    c->settings = settings_map(s, precision, kernels);
    c->weights_only = s->o->weights_only;
    c->batches = has_config ? tf_value_clone(a, &stream->config) : tf_value_map();
    return read_vocab(s, &c->header, err);
}

struct tf_header tf_setup_streams(const struct tf_setup *s)
{
    struct tf_header h = s->common.header;
    const struct tf_special *own = &s->stream_special;
    if (s->stream_size > 0)
        h.size = s->stream_size;
    if (own->bos >= 0 || tf_config_own_start(&s->config))
        h.special.bos = own->bos;
    if (own->eos >= 0)
        h.special.eos = own->eos;
    if (own->pad >= 0)
        h.special.pad = own->pad;
    return h;
}

void tf_setup_take_start(struct tf_setup *s, const struct tf_config *c)
{
    if (c->start != s->config.start || !tf_config_own_start(c))
        return;
    s->config.bos = s->common.header.special.bos = c->bos;
    s->common.header.config = tf_config_map(&s->config, &s->arena);
}

void tf_setup_add_stage(struct tf_setup *s, const struct tf_value *inputs)
{
    tf_header_made(&s->common.header, &s->arena, "tf-train", s->env->opts, inputs);
}

void tf_setup_add_kernels(struct tf_setup *s)
{
    struct tf_value *made = &s->common.header.made;
    tf_value_put(&s->arena, &made->items[made->n - 1], "kernels",
                 tf_value_str(&s->arena, s->be->kernels()));
}

/* The most tokens of a side that a batch has; 0: the stream does not say. */
static int64_t batch_tokens(const struct tf_setup *s)
{
    int64_t tokens = 0;
    struct tf_err none = {0};
    (void)!tf_value_int_of(&s->common.batches, "tokens", 1, 1 << 20, &tokens, &none);
    return tokens;
}

static int new_shards(const struct tf_setup *s)
{
    const struct tf_team *t = s->env->team;
    const int usual = s->be->shards;
    if (s->be->host)
        return tf_shards_usual(batch_tokens(s));
    const int ranks = t != NULL ? t->comm.size : 1;
    return ranks <= usual ? usual : ranks < TF_MAX_SHARDS ? ranks : TF_MAX_SHARDS;
}

/* A finished run has no device: what the checkpoint does not record is 8, or 1 if it was a GPU. */
int tf_setup_shards(struct tf_setup *s, struct tf_value *known, struct tf_err *err)
{
    const struct tf_settings *o = s->o;
    struct tf_value *ours = &s->common.settings;
    const struct tf_value *was = tf_value_get(known, "shards");
    const int64_t usual = s->be != NULL ? s->be->shards : o->shards == 1 ? 1 : TF_CPU_SHARDS;
    int64_t shards = o->shards, before = usual;
    if (was != NULL && tf_value_int_of(known, "shards", 1, TF_MAX_SHARDS, &before, err) != 0)
        return -1;
    if ((before & (before - 1)) != 0)
        return tf_fail(err, "shards: %lld is not a power of two", (long long)before);
    if (shards == 0)
        shards = known != NULL ? before : new_shards(s);
    if (was != NULL || shards != usual)
        tf_value_put(&s->arena, ours, "shards", tf_value_int(shards));
    if (known != NULL && was == NULL && tf_value_get(ours, "shards") != NULL)
        tf_value_put(&s->arena, known, "shards", tf_value_int(usual));
    s->shards = (int)shards;
    return 0;
}

/* ---- opening ---- */

static int read_tuning(struct tf_setup *s, struct tf_err *err)
{
    struct tf_tuning_file *t = &s->tuning;
    if (s->o->tuning == NULL)
        return 0;
    if (tf_text_read_file(&t->text, &t->n, s->o->tuning, MAX_TUNING, err) != 0)
        return -1;
    tf_sha256_of(t->sha, t->text, t->n);
    return 0;
}

static int configure(struct tf_setup *s, struct tf_header stream, const char *precision,
                     const char *kernels, struct tf_err *err)
{
    const struct tf_start_model *from = s->env->from;
    s->stream_special = stream.special;
    s->stream_size = stream.size;
    if ((from != NULL && tf_start_model_complete(from, &stream, s->o->force, err) != 0) ||
        complete_config(s, &stream, err) != 0)
        return -1;
    return make_common(s, &stream, precision, kernels, err);
}

int tf_setup_open(struct tf_setup *s, const struct tf_settings *o, const struct tf_run_env *env,
                  struct tf_err *err)
{
    struct tf_err why = {0};
    *s = (struct tf_setup){.o = o, .env = env};
    if ((s->be = tf_backend_find(o->device, o->precision, TF_USE_TRAINING, &why, err)) == NULL)
        return -1;
    if (!o->quiet)
        tf_backend_note(&why);
    if (read_tuning(s, err) != 0 || tf_feed_open(&s->feed, o->input, err) != 0)
        return -1;
    if (configure(s, *tf_feed_header(s->feed), s->be->precision, s->be->kernels(), err) != 0)
        return -1;
    if (o->tokens > 0 && o->tokens <= batch_tokens(s))
        return tf_fail_status(err, TF_USAGE,
                              "--tokens %lld: the length of the run, not of a batch, which has up "
                              "to %lld (tf-batch --tokens)",
                              (long long)o->tokens, (long long)batch_tokens(s));
    return 0;
}

int tf_setup_from_checkpoint(struct tf_setup *s, const struct tf_settings *o,
                             const struct tf_run_env *env, const struct tf_model_file *m,
                             struct tf_err *err)
{
    const struct tf_value *batches = tf_value_get(&m->state, "batches"),
                          *precision = tf_value_find(tf_value_get(&m->state, "settings"),
                                                     "precision", TF_TEXT);
    struct tf_header stream = m->header;
    const char *word = "fp32";
    if (o->precision != NULL)
        word = o->precision;
    else if (precision != NULL)
        word = precision->text;
    *s = (struct tf_setup){.o = o, .env = env};
    stream.config = batches != NULL ? *batches : tf_value_map();
    if (o->config.tie != TF_TIE_ALL &&
        tf_value_int_of(&m->header.config, "source_vocab_size", 0, UINT32_MAX, &stream.source_size,
                        err) < 0)
        return -1;
    return read_tuning(s, err) != 0 ? -1 : configure(s, stream, word, NULL, err);
}

static void check_batches(const struct tf_setup *s)
{
    const struct tf_settings *o = s->o;
    const int64_t tokens = batch_tokens(s), fit = o->fit_tokens;
    char more[40] = "";
    if (fit == 0 || tokens == 0)
        return;
    int64_t update = tokens * o->accumulate;
    if (update >= fit / 2 && update <= fit * 2)
        return;
    if (tokens < fit)
        snprintf(more, sizeof more, ", or --accumulate %lld",
                 (long long)((fit + tokens / 2) / tokens));
    tf_warn("updates of up to %lld tokens: the learning rate of preset %s is for %lld "
            "(tf-batch --preset %s%s)",
            (long long)update, o->preset, (long long)fit, o->preset, more);
}

void tf_setup_check(const struct tf_setup *s)
{
    check_batches(s);
    if (s->env->from != NULL && s->config.decoder_self == TF_DECODER_SSRU && !s->o->quiet)
        tf_note("%s: its decoder is recurrent: of other programs only Marian can use what is "
                "trained here (tf-convert --to marian)",
                s->env->from->path);
    if (s->common.header.has_vocab && s->common.vocab == NULL && !s->o->no_save)
        tf_warn("no --vocab: the model will carry no vocabulary");
}

void tf_setup_release(struct tf_setup *s)
{
    tf_feed_close(s->feed);
    free(s->vocab);
    free(s->tuning.text);
    tf_arena_release(&s->arena);
    *s = (struct tf_setup){0};
}

void tf_start_weights_release(struct tf_start_weights *w)
{
    free(w->p);
    free(w->m);
    free(w->v);
    free(w->e);
    *w = (struct tf_start_weights){0};
}

int tf_setup_stepper(const struct tf_setup *s, struct tf_stepper *stepper,
                     const struct tf_start_weights *w, bool tune, struct tf_err *err)
{
    const struct tf_settings *o = s->o;
    const struct tf_stepper_start start = {
        .p = w->p,
        .m = w->m,
        .v = w->v,
        .e = w->e,
        .ema = o->ema > 0,
        .accumulate = o->accumulate,
        .shards = s->shards,
        .threads = (int)o->threads,
        .tuning = s->tuning.text,
        .tuning_name = o->tuning,
        .tuning_n = s->tuning.n,
        .tune = tune,
        .freeze = o->freeze,
    };
    return s->env->team != NULL
               ? tf_ranked_init(stepper, s->env->team, s->be, &s->config, &start, w->m != NULL, err)
               : tf_stepper_init(stepper, s->be, &s->config, &start, err);
}
