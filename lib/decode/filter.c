/* filter.c - the stream around the decoder. Every record in gives one record out: a token record,
 * an n-best record or a bad one. */
#include "decode/filter.h"
#include "base/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WINDOW_IDS = 1 << 20 }; /* ids read ahead, at most (and one record) */

/* A record on its way through. code 0: a sentence. */
struct entry {
    uint64_t idx;
    struct tf_sentence s;
    int code;
    const char *text;
};

struct filter {
    const struct tf_decode_opts *o;
    const struct tf_opt *table;
    struct tf_model_set *models;
    struct tf_decoder *decoder;
    struct tf_reader *in, *prefix;
    struct tf_in *in_file, *prefix_file;
    struct tf_out *out_file;
    struct tf_writer out;
    bool begun;
    struct tf_arena header_mem, window_mem;
    struct entry *v;
    struct tf_sentence **todo;
    size_t n, ids, window;
    struct tf_bads bads;
    uint64_t tokens;
    struct tf_progress progress;
};

static int begin_part(struct filter *f, struct tf_err *err)
{
    const struct tf_header *from = tf_reader_header(f->in);
    if (tf_models_fit(f->models, from, f->in_file->name, f->o->force_vocab, err) < 0)
        return -1;
    if (f->prefix != NULL && tf_models_fit(f->models, tf_reader_header(f->prefix),
                                           f->prefix_file->name, f->o->force_vocab, err) < 0)
        return -1;
    tf_arena_clear(&f->header_mem);
    struct tf_header h = tf_models_header(f->models, &f->header_mem, from,
                                          f->o->nbest_out ? "nbest" : "tokens", f->table);
    if (tf_writer_begin(&f->out, f->out_file, &h, err) < 0)
        return -1;
    f->begun = true;
    return 0;
}

static void TF_PRINTF(3, 4) spoil(struct entry *e, struct tf_arena *a, const char *fmt, ...)
{
    char text[160];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    e->text = tf_arena_strndup(a, text, strlen(text));
}

static bool known(const uint32_t *ids, size_t n, uint64_t size, uint32_t *bad)
{
    for (size_t i = 0; i < n; i++)
        if (ids[i] >= size) {
            *bad = ids[i];
            return false;
        }
    return true;
}

/* What can't be decoded becomes a bad record, with the reason. */
static void check(struct filter *f, struct entry *e)
{
    const struct tf_config *c = &f->models->v[0].config;
    struct tf_sentence *s = &e->s;
    size_t reach = tf_models_reach(f->models), limit = (size_t)s->n_src + (size_t)f->o->max_extra;
    uint32_t id;
    limit = limit > s->n_prefix ? limit : s->n_prefix;
    if (limit + 1 > reach && s->n_prefix + (size_t)1 <= reach)
        limit = reach - 1;
    s->limit = (uint32_t)limit;
    if (s->n_src > f->o->max_length || s->n_prefix > f->o->max_length + f->o->max_extra) {
        e->code = TF_BAD_TOO_MANY_TOKENS;
        spoil(e, &f->window_mem, "%u tokens, --max-length allows %lld",
              s->n_src > f->o->max_length ? s->n_src : s->n_prefix, (long long)f->o->max_length);
    } else if ((size_t)s->n_src + 1 > reach || limit + 1 > reach) {
        e->code = TF_BAD_TOO_MANY_TOKENS;
        spoil(e, &f->window_mem, "%u tokens, the model has learned positions for %zu",
              s->n_src > s->n_prefix ? s->n_src : s->n_prefix, reach - 1);
    } else if (!known(s->src, s->n_src, (uint64_t)c->vocab_size, &id) ||
               !known(s->prefix, s->n_prefix, (uint64_t)c->vocab_size, &id)) {
        e->code = TF_BAD_UNKNOWN_ID;
        spoil(e, &f->window_mem, "id %u, the vocabulary has %lld", id, (long long)c->vocab_size);
    } else {
        for (uint32_t i = 0; i < s->n_prefix; i++)
            if (s->prefix[i] == (uint32_t)c->eos)
                e->code = TF_BAD_OTHER;
        if (e->code != 0)
            spoil(e, &f->window_mem, "the prefix holds the end of the sentence");
    }
}

static const uint32_t *keep(struct filter *f, const uint32_t *ids, size_t n)
{
    uint32_t *p = tf_arena_alloc(&f->window_mem, (n + 1) * sizeof *p);
    if (n > 0)
        memcpy(p, ids, n * sizeof *p);
    f->ids += n;
    return p;
}

static void keep_bad(struct filter *f, struct entry *e, const struct tf_record *r)
{
    e->code = r->code;
    e->text = tf_arena_strndup(&f->window_mem, r->text, strlen(r->text));
}

/* The next record of the prefixes goes with this one. */
static int add_prefix(struct filter *f, struct entry *e, struct tf_err *err)
{
    struct tf_record r;
    int got = tf_reader_next(f->prefix, &r, err);
    if (got < 0)
        return -1;
    if (got == 0 || r.type == TF_REC_HEADER)
        return tf_fail(err, "%s: ends before %s does, at record %llu", f->prefix_file->name,
                       f->in_file->name, (unsigned long long)e->idx);
    if (r.idx != e->idx)
        return tf_fail(err, "%s: record %llu, but %s has record %llu", f->prefix_file->name,
                       (unsigned long long)r.idx, f->in_file->name, (unsigned long long)e->idx);
    if (r.type == TF_REC_BAD && e->code == 0)
        keep_bad(f, e, &r);
    else if (r.type == TF_REC_TOKENS) {
        e->s.prefix = keep(f, r.ids, r.n);
        e->s.n_prefix = (uint32_t)r.n;
    }
    return 0;
}

static int add(struct filter *f, const struct tf_record *r, struct tf_err *err)
{
    struct entry *e = &f->v[f->n++];
    *e = (struct entry){.idx = r->idx, .s.key = r->idx};
    if (r->type == TF_REC_BAD)
        keep_bad(f, e, r);
    else if (r->type == TF_REC_TOKENS) {
        e->s.src = keep(f, r->ids, r->n);
        e->s.n_src = (uint32_t)r->n;
    } else {
        f->n--;
        return tf_fail(err, "%s: record %llu is of type %d, not of a token stream",
                       f->in_file->name, (unsigned long long)tf_reader_count(f->in), r->type);
    }
    if (f->prefix != NULL && add_prefix(f, e, err) < 0) {
        f->n--;
        return -1;
    }
    if (e->code == 0 && e->s.n_src > 0)
        check(f, e);
    return 0;
}

static int put(struct filter *f, struct entry *e, struct tf_err *err)
{
    static const float nothing[1] = {0};
    struct tf_hyp empty = {.ids = NULL, .n = 0, .score = 0, .logp = 0, .token_logp = nothing};
    struct tf_hyp *h = e->s.n_src > 0 ? e->s.hyps : &empty;
    size_t n = e->s.n_src > 0 ? e->s.n_hyps : 1;
    if (e->code == 0 && n == 0) {
        e->code = TF_BAD_OTHER;
        e->text = "no hypothesis of finite probability";
    }
    if (tf_bads_count(&f->bads, e->idx, e->code, e->text, f->in_file->name, err) < 0)
        return -1;
    if (e->code != 0)
        return tf_writer_bad(&f->out, e->idx, e->code, e->text, err);
    f->tokens += h[0].n;
    if (!f->o->nbest_out)
        return tf_writer_tokens(&f->out, e->idx, h[0].ids, h[0].n, err);
    for (size_t i = 0; i < n && !f->o->token_scores; i++)
        h[i].token_logp = NULL;
    return tf_writer_nbest(&f->out, e->idx, h, n, err);
}

/* Decode what has been read ahead, and write it. */
static int run_window(struct filter *f, struct tf_err *err)
{
    size_t n = 0;
    for (size_t i = 0; i < f->n; i++)
        if (f->v[i].code == 0 && f->v[i].s.n_src > 0)
            f->todo[n++] = &f->v[i].s;
    int rc = tf_decoder_run(f->decoder, f->todo, n, err);
    for (size_t i = 0; i < f->n && rc == 0; i++)
        rc = put(f, &f->v[i], err);
    for (size_t i = 0; i < f->n; i++)
        free(f->v[i].s.hyps);
    f->n = f->ids = 0;
    tf_arena_clear(&f->window_mem);
    if (tf_progress_due(&f->progress)) {
        double t = tf_now() - f->progress.start;
        tf_progress_show(&f->progress, "%llu lines, %.1f lines/s, %.0f tokens/s",
                         (unsigned long long)f->bads.lines, (double)f->bads.lines / t,
                         (double)f->tokens / t);
    }
    return rc;
}

/* Between parts and at the end the prefixes must be where the input is. */
static int same_place(struct filter *f, int got, struct tf_err *err)
{
    struct tf_record r;
    if (f->prefix == NULL)
        return 0;
    int p = tf_reader_next(f->prefix, &r, err);
    if (p < 0)
        return -1;
    return p == got && (p == 0 || r.type == TF_REC_HEADER)
               ? 0
               : tf_fail(err, "%s: goes on where %s ends", f->prefix_file->name, f->in_file->name);
}

static int run(struct filter *f, struct tf_err *err)
{
    struct tf_record r = {0};
    int got, rc = begin_part(f, err);
    while (rc == 0) {
        bool ready = tf_reader_ready(f->in);
        if (f->n == f->window || f->ids >= WINDOW_IDS || (f->n > 0 && !ready))
            rc = run_window(f, err);
        if (rc == 0 && !ready)
            rc = tf_writer_flush(&f->out, err);
        if (rc != 0)
            break;
        got = tf_reader_next(f->in, &r, err);
        if (got < 0) { /* what came whole is answered before the failure is told */
            struct tf_err later = {0};
            return run_window(f, &later) < 0 ? -1 : got;
        }
        if (got > 0 && r.type != TF_REC_HEADER) {
            rc = add(f, &r, err);
            continue;
        }
        rc = run_window(f, err);
        if (rc == 0)
            rc = same_place(f, got, err);
        if (rc == 0)
            rc = tf_writer_end(&f->out, err);
        if (rc < 0 || got == 0)
            return rc;
        f->begun = false;
        tf_writer_release(&f->out);
        rc = begin_part(f, err);
    }
    return rc;
}

static struct tf_search_rule rule_of(const struct tf_decode_opts *o, const struct tf_model_set *m)
{
    const struct tf_config *c = &m->v[0].config;
    struct tf_search_rule r = {.V = (size_t)c->vocab_size,
                               .K = (size_t)(o->sample ? o->nbest : o->beam),
                               .N = (size_t)o->nbest,
                               .alpha = o->alpha,
                               .start = tf_start_id(c),
                               .eos = (uint32_t)c->eos,
                               .sample = o->sample,
                               .temperature = o->temperature,
                               .seed = (uint64_t)o->seed};
    int64_t ban[] = {c->pad, c->bos, m->header.special.bos,
                     o->allow_unk ? -1 : m->header.special.unk};
    for (size_t i = 0; i < sizeof ban / sizeof *ban; i++)
        if (ban[i] >= 0 && ban[i] != c->eos)
            r.ban[r.n_ban++] = (uint32_t)ban[i];
    return r;
}

/* With everything open. */
static int filter(struct filter *f, struct tf_err *err)
{
    const struct tf_decode_opts *o = f->o;
    static const char *const kinds[] = {"tokens", NULL};
    struct tf_search_rule rule = rule_of(o, f->models);
    int rc = tf_reader_new(&f->in, f->in_file, kinds, 0, err);
    if (rc == 0 && o->prefix != NULL)
        rc = tf_reader_new(&f->prefix, f->prefix_file, kinds, 0, err);
    size_t batch = tf_models_batch(f->models, o->batch);
    if (rc == 0 &&
        (f->decoder = tf_decoder_new(f->models, &rule, (int)o->threads, batch, err)) == NULL)
        rc = -1;
    f->window = tf_models_window(f->models, o->window);
    f->v = tf_xarray(NULL, f->window, sizeof *f->v);
    f->todo = tf_xarray(NULL, f->window, sizeof *f->todo);
    if (rc == 0) {
        tf_progress_begin(&f->progress, o->progress, false);
        tf_models_told(f->models, &f->progress);
        rc = run(f, err);
        tf_progress_end(&f->progress);
    }
    if (rc < 0 && f->begun)
        tf_writer_fail(&f->out, err);
    tf_decoder_free(f->decoder);
    tf_reader_free(f->in);
    tf_reader_free(f->prefix);
    tf_writer_release(&f->out);
    tf_arena_release(&f->header_mem);
    tf_arena_release(&f->window_mem);
    free(f->v);
    free(f->todo);
    return rc;
}

int tf_decode_run(const struct tf_decode_opts *o, const char *input, const char *output,
                  const struct tf_opt *table, struct tf_err *err)
{
    struct tf_out out = {0};
    struct tf_in in = {0}, prefix = {0};
    struct tf_model_set models = {0};
    struct filter f = {.o = o,
                       .table = table,
                       .models = &models,
                       .in_file = &in,
                       .prefix_file = &prefix,
                       .out_file = &out,
                       .bads.policy = o->bad};
    if (tf_out_open(&out, output, TF_OUT_BINARY, err) < 0)
        return -1;
    int rc =
        tf_models_open(&models, &o->models, o->device, o->precision, (int)o->threads, TF_USE_DECODING, o->force_vocab, err);
    if (rc == 0 && (rc = tf_in_open(&in, input, err)) == 0) {
        if (o->prefix == NULL || (rc = tf_in_open(&prefix, o->prefix, err)) == 0) {
            rc = filter(&f, err);
            if (o->prefix != NULL)
                tf_in_close(&prefix);
        }
        tf_in_close(&in);
    }
    tf_models_close(&models);
    rc = tf_out_finish(&out, rc, err);
    return rc < 0 ? rc : tf_bads_verdict(&f.bads, strcmp(input, "-") == 0 ? "stdin" : input, err);
}
