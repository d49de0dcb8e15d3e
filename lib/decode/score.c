/* score.c - the stream around the scorer: pairs from one stream or two, scores or text or a summary
 * out, in the order of the input. */
#include "decode/score.h"
#include "base/json.h"
#include "base/log.h"
#include "decode/scorer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WINDOW_IDS = 1 << 20 };

struct entry {
    uint64_t idx;
    struct tf_scored s;
    int code;
    const char *text;
};

struct run {
    const struct tf_score_opts *o;
    const struct tf_opt *table;
    struct tf_model_set *models;
    struct tf_scorer *scorer;
    struct tf_in *files; /* 1 or 2 */
    struct tf_reader *in[2];
    size_t n_in;
    struct tf_out *out_file;
    struct tf_writer out;
    bool begun;
    struct tf_arena header_mem, mem;
    struct entry *v;
    struct tf_scored **todo;
    size_t n, cap, ids, window;
    struct tf_bads bads;
    struct tf_score_sum sum;
    struct tf_progress progress;
};

static int begin_part(struct run *f, struct tf_err *err)
{
    for (size_t i = 0; i < f->n_in; i++)
        if (tf_models_fit(f->models, tf_reader_header(f->in[i]), f->files[i].name,
                          f->o->force_vocab, err) < 0)
            return -1;
    if (f->o->form != TF_SCORE_STREAM)
        return 0;
    tf_writer_release(&f->out);
    tf_arena_clear(&f->header_mem);
    struct tf_header h =
        tf_models_header(f->models, &f->header_mem, tf_reader_header(f->in[0]), "scores", f->table);
    if (tf_writer_begin(&f->out, f->out_file, &h, err) < 0)
        return -1;
    f->begun = true;
    return 0;
}

static const uint32_t *keep(struct run *f, const uint32_t *ids, size_t n)
{
    uint32_t *p = tf_arena_alloc(&f->mem, (n + 1) * sizeof *p);
    if (n > 0)
        memcpy(p, ids, n * sizeof *p);
    f->ids += n;
    return p;
}

static void TF_PRINTF(4, 5) spoil(struct run *f, struct entry *e, int code, const char *fmt, ...)
{
    char text[160];
    va_list ap;
    if (e->code != 0)
        return;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    e->code = code;
    e->text = tf_arena_strndup(&f->mem, text, strlen(text));
}

static void check_side(struct run *f, struct entry *e, const char *side, const uint32_t *ids,
                       uint32_t n)
{
    long long size = (long long)f->models->v[0].config.vocab_size;
    size_t reach = tf_models_reach(f->models);
    if (n > f->o->max_length)
        spoil(f, e, TF_BAD_TOO_MANY_TOKENS, "%s of %u tokens, --max-length allows %lld", side, n,
              (long long)f->o->max_length);
    if (n + (size_t)1 > reach)
        spoil(f, e, TF_BAD_TOO_MANY_TOKENS,
              "%s of %u tokens, the model has learned positions for %zu", side, n, reach - 1);
    for (uint32_t i = 0; i < n && e->code == 0; i++)
        if (ids[i] >= size)
            spoil(f, e, TF_BAD_UNKNOWN_ID, "%s id %u, the vocabulary has %lld", side, ids[i], size);
}

static struct entry *add(struct run *f, uint64_t idx)
{
    if (f->n == f->cap) {
        f->cap = f->cap + f->cap / 2 + 64;
        f->v = tf_xarray(f->v, f->cap, sizeof *f->v);
    }
    f->v[f->n] = (struct entry){.idx = idx};
    return &f->v[f->n++];
}

static void add_pair(struct run *f, uint64_t idx, const uint32_t *src, size_t n_src,
                     const uint32_t *tgt, size_t n_tgt)
{
    struct entry *e = add(f, idx);
    e->s.src = keep(f, src, n_src);
    e->s.tgt = keep(f, tgt, n_tgt);
    e->s.n_src = (uint32_t)n_src;
    e->s.n_tgt = (uint32_t)n_tgt;
    e->s.terms = tf_arena_alloc(&f->mem, (n_tgt + 1) * sizeof *e->s.terms);
    check_side(f, e, "source", e->s.src, e->s.n_src);
    check_side(f, e, "target", e->s.tgt, e->s.n_tgt);
}

static int odd_record(const struct run *f, size_t i, const struct tf_record *r, struct tf_err *err)
{
    return tf_fail(err, "%s: record %llu is of type %d, which has no place here", f->files[i].name,
                   (unsigned long long)tf_reader_count(f->in[i]), r->type);
}

/* The target of source record r. */
static int add_two(struct run *f, const struct tf_record *r, struct tf_err *err)
{
    struct tf_record t;
    int got = tf_reader_next(f->in[1], &t, err);
    if (got < 0)
        return -1;
    if (got == 0 || t.type == TF_REC_HEADER)
        return tf_fail(err, "%s: ends before %s does, at record %llu", f->files[1].name,
                       f->files[0].name, (unsigned long long)r->idx);
    if (t.idx != r->idx)
        return tf_fail(err, "%s: record %llu, but %s has record %llu", f->files[1].name,
                       (unsigned long long)t.idx, f->files[0].name, (unsigned long long)r->idx);
    const struct tf_record *bad = r->type == TF_REC_BAD ? r : t.type == TF_REC_BAD ? &t : NULL;
    if (bad != NULL)
        spoil(f, add(f, r->idx), bad->code, "%s", bad->text);
    else if (t.type != TF_REC_TOKENS)
        return odd_record(f, 1, &t, err);
    else
        add_pair(f, r->idx, r->ids, r->n, t.ids, t.n);
    return 0;
}

static int add_record(struct run *f, const struct tf_record *r, struct tf_err *err)
{
    const struct tf_batch *b = &r->batch;
    if (f->n_in == 2)
        return r->type == TF_REC_TOKENS || r->type == TF_REC_BAD ? add_two(f, r, err)
                                                                 : odd_record(f, 0, r, err);
    switch (r->type) {
    case TF_REC_BAD:
        spoil(f, add(f, r->idx), r->code, "%s", r->text);
        return 0;
    case TF_REC_PAIR:
        add_pair(f, r->idx, r->ids, r->n, r->tgt, r->n_tgt);
        return 0;
    case TF_REC_BATCH:
        for (size_t i = 0; i < b->n; i++)
            add_pair(f, b->idx[i], b->src + b->src_off[i], b->src_off[i + 1] - b->src_off[i],
                     b->tgt + b->tgt_off[i], b->tgt_off[i + 1] - b->tgt_off[i]);
        return 0;
    default:
        return odd_record(f, 0, r, err);
    }
}

static int put_text(struct run *f, const struct entry *e, double logp, struct tf_err *err)
{
    if (e->code != 0)
        return tf_out_write(f->out_file, "\n", 1, err);
    int rc = tf_out_printf(f->out_file, err, "%.4f", logp);
    for (uint32_t i = 0; rc == 0 && f->o->token && i <= e->s.n_tgt; i++)
        rc = tf_out_printf(f->out_file, err, "%c%.4f", i == 0 ? '\t' : ' ', (double)e->s.terms[i]);
    return rc == 0 ? tf_out_write(f->out_file, "\n", 1, err) : rc;
}

static int put(struct run *f, const struct entry *e, struct tf_err *err)
{
    double logp = 0;
    if (tf_bads_count(&f->bads, e->idx, e->code, e->text, f->files[0].name, err) < 0)
        return -1;
    if (e->code == 0) {
        for (uint32_t i = 0; i <= e->s.n_tgt; i++)
            logp += (double)e->s.terms[i];
        f->sum.pairs++;
        f->sum.tokens += e->s.n_tgt + (uint64_t)1;
        f->sum.logp += logp;
    }
    if (f->o->form == TF_SCORE_SUMMARY)
        return 0;
    if (f->o->form == TF_SCORE_TEXT)
        return put_text(f, e, logp, err);
    if (e->code != 0)
        return tf_writer_bad(&f->out, e->idx, e->code, e->text, err);
    return tf_writer_score(&f->out, e->idx, (float)logp, f->o->token ? e->s.terms : NULL,
                           f->o->token ? e->s.n_tgt + (size_t)1 : 0, err);
}

static int run_window(struct run *f, struct tf_err *err)
{
    size_t n = 0;
    f->todo = tf_xarray(f->todo, f->n + 1, sizeof *f->todo);
    for (size_t i = 0; i < f->n; i++)
        if (f->v[i].code == 0)
            f->todo[n++] = &f->v[i].s;
    int rc = n > 0 ? tf_scorer_run(f->scorer, f->todo, n, &f->sum.correct, err) : 0;
    for (size_t i = 0; i < f->n && rc == 0; i++)
        rc = put(f, &f->v[i], err);
    f->n = f->ids = 0;
    tf_arena_clear(&f->mem);
    if (tf_progress_due(&f->progress)) {
        double t = tf_now() - f->progress.start;
        tf_progress_show(&f->progress, "%llu pairs, %.0f tokens/s",
                         (unsigned long long)f->bads.lines, (double)f->sum.tokens / t);
    }
    return rc;
}

static int flush(struct run *f, struct tf_err *err)
{
    return f->o->form == TF_SCORE_STREAM ? tf_writer_flush(&f->out, err)
                                         : tf_out_flush(f->out_file, err);
}

/* A part ended (got 1) or the stream (0): the target stream must be there too. */
static int end_part(struct run *f, int got, struct tf_err *err)
{
    struct tf_record r;
    if (f->n_in == 2) {
        int t = tf_reader_next(f->in[1], &r, err);
        if (t < 0)
            return -1;
        if (t != got || (t > 0 && r.type != TF_REC_HEADER))
            return tf_fail(err, "%s: goes on where %s ends", f->files[1].name, f->files[0].name);
    }
    f->begun = false;
    return f->o->form == TF_SCORE_STREAM ? tf_writer_end(&f->out, err) : 0;
}

static int run(struct run *f, struct tf_err *err)
{
    struct tf_record r = {0};
    int rc = begin_part(f, err);
    while (rc == 0) {
        bool ready = tf_reader_ready(f->in[0]) && (f->n_in == 1 || tf_reader_ready(f->in[1]));
        if (f->n >= f->window || f->ids >= WINDOW_IDS || (f->n > 0 && !ready))
            rc = run_window(f, err);
        if (rc == 0 && !ready)
            rc = flush(f, err);
        if (rc != 0)
            break;
        int got = tf_reader_next(f->in[0], &r, err);
        if (got < 0) { /* what came whole is answered before the failure is told */
            struct tf_err later = {0};
            return run_window(f, &later) < 0 ? -1 : got;
        }
        if (got > 0 && r.type != TF_REC_HEADER) {
            rc = add_record(f, &r, err);
            continue;
        }
        rc = run_window(f, err);
        if (rc == 0)
            rc = end_part(f, got, err);
        if (rc < 0 || got == 0)
            break;
        rc = begin_part(f, err);
    }
    return rc;
}

static int report(struct run *f, struct tf_err *err)
{
    const struct tf_score_sum *s = &f->sum;
    double ppl = exp(-s->logp / (double)(s->tokens > 0 ? s->tokens : 1));
    if (f->o->form == TF_SCORE_SUMMARY) {
        struct tf_buf b = {0};
        struct tf_json j = {.out = &b};
        tf_json_open(&j, '{');
        tf_json_key(&j, "pairs"), tf_json_uint(&j, s->pairs);
        tf_json_key(&j, "bad"), tf_json_uint(&j, f->bads.bad);
        tf_json_key(&j, "tokens"), tf_json_uint(&j, s->tokens);
        tf_json_key(&j, "logp"), tf_json_real(&j, s->logp);
        tf_json_key(&j, "perplexity"), tf_json_real(&j, ppl);
        if (f->models->n == 1)
            tf_json_key(&j, "accuracy"),
                tf_json_real(&j, (double)s->correct / (double)(s->tokens > 0 ? s->tokens : 1));
        tf_json_close(&j, '}');
        tf_buf_byte(&b, '\n');
        int rc = tf_out_write(f->out_file, b.p, b.len, err);
        tf_buf_release(&b);
        return rc;
    }
    if (!f->o->quiet)
        tf_note("%llu pairs, %llu tokens with their ends, log-probability %.4f, perplexity %.4f",
                (unsigned long long)s->pairs, (unsigned long long)s->tokens, s->logp, ppl);
    return 0;
}

static int score(struct run *f, struct tf_err *err)
{
    static const char *const tokens[] = {"tokens", NULL}, *const pairs[] = {"pairs", "batch", NULL};
    int rc = 0;
    for (size_t i = 0; i < f->n_in && rc == 0; i++)
        rc = tf_reader_new(&f->in[i], &f->files[i], f->n_in == 2 ? tokens : pairs, 0, err);
    size_t batch = tf_models_batch(f->models, f->o->batch);
    f->window = tf_models_window(f->models, f->o->window);
    if (rc == 0 &&
        (f->scorer = tf_scorer_new(f->models, (int)f->o->threads, batch, err)) == NULL)
        rc = -1;
    if (rc == 0) {
        tf_progress_begin(&f->progress, f->o->progress, f->o->quiet);
        tf_models_told(f->models, &f->progress);
        rc = run(f, err);
        tf_progress_end(&f->progress);
    }
    if (rc == 0)
        rc = report(f, err);
    struct tf_err later = {0};
    if (rc < 0 && f->begun && err->sys == 0 &&
        tf_writer_error(&f->out, err->status, err->msg, &later) < 0)
        *err = later;
    tf_scorer_free(f->scorer);
    for (size_t i = 0; i < f->n_in; i++)
        tf_reader_free(f->in[i]);
    tf_writer_release(&f->out);
    tf_arena_release(&f->header_mem);
    tf_arena_release(&f->mem);
    free(f->v);
    free(f->todo);
    return rc;
}

int tf_score_run(const struct tf_score_opts *o, const char *const *inputs, size_t n,
                 const char *output, const struct tf_opt *table, struct tf_err *err)
{
    struct tf_out out = {0};
    struct tf_in in[2] = {{0}, {0}};
    struct tf_model_set models = {0};
    struct run f = {.o = o,
                    .table = table,
                    .models = &models,
                    .files = in,
                    .n_in = n,
                    .out_file = &out,
                    .bads.policy = o->bad};
    if (tf_out_open(&out, output, o->form == TF_SCORE_STREAM ? TF_OUT_BINARY : 0, err) < 0)
        return -1;
    int rc =
        tf_models_open(&models, &o->models, o->device, o->precision, (int)o->threads, TF_USE_SCORING, o->force_vocab, err);
    size_t open = 0;
    while (rc == 0 && open < n)
        if ((rc = tf_in_open(&in[open], inputs[open], err)) == 0)
            open++;
    if (rc == 0)
        rc = score(&f, err);
    for (size_t i = 0; i < open; i++)
        tf_in_close(&in[i]);
    tf_models_close(&models);
    if (rc == 0)
        rc = tf_out_commit(&out, err);
    else if (out.path == NULL) {
        struct tf_err quiet = {0};
        if (tf_out_flush(&out, &quiet) < 0 && err->sys == 0)
            *err = quiet;
    }
    tf_out_abort(&out);
    return rc < 0
               ? rc
               : tf_bads_verdict(&f.bads, strcmp(inputs[0], "-") == 0 ? "stdin" : inputs[0], err);
}
