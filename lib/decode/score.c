/* score.c - the stream around the scorer: pairs or lists of targets in, scores, lists, text or a
 * summary out, in the order of the input. */
#include "decode/score.h"
#include "base/json.h"
#include "base/log.h"
#include "decode/paired.h"
#include "ops/search.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A hypothesis and where it was in its list. */
struct ranked {
    struct tf_hyp h;
    size_t rank;
};

struct run {
    const struct tf_score_opts *o;
    const struct tf_opt *table;
    struct tf_model_set *models;
    struct tf_scorer *scorer;
    struct tf_paired *in;
    struct tf_out *out_file;
    struct tf_writer out;
    bool begun;
    struct tf_arena header_mem;
    struct tf_scored **todo;
    double *logp;          /* of the targets of a list, or of one */
    struct ranked *ranked; /* the same list */
    struct tf_hyp *hyps;   /* and in its new order */
    struct tf_bads bads;
    struct tf_score_sum sum;
    struct tf_progress progress;
};

static int begin_part(void *arg, const struct tf_header *const from[2], struct tf_err *err)
{
    struct run *f = arg;
    if (f->o->form != TF_SCORE_STREAM)
        return 0;
    tf_writer_release(&f->out);
    tf_arena_clear(&f->header_mem);
    struct tf_header h = tf_models_header(f->models, &f->header_mem, from,
                                          tf_paired_lists(f->in) ? "nbest" : "scores", f->table);
    if (tf_paired_lists(f->in)) { /* which alone it shapes */
        struct tf_value *stage = &h.made.items[h.made.n - 1], opts = *tf_value_get(stage, "opts");
        tf_value_put(&f->header_mem, &opts, "alpha", tf_value_real(f->o->alpha));
        tf_value_put(&f->header_mem, stage, "opts", opts);
    }
    if (tf_writer_begin(&f->out, f->out_file, &h, err) < 0)
        return -1;
    f->begun = true;
    return 0;
}

static int put_text(struct run *f, const struct tf_pair_entry *e, double logp, struct tf_err *err)
{
    if (e->code != 0)
        return tf_out_write(f->out_file, "\n", 1, err);
    int rc = tf_out_printf(f->out_file, err, "%.4f", logp);
    for (uint32_t i = 0; rc == 0 && f->o->token && i <= e->s.n_tgt; i++)
        rc = tf_out_printf(f->out_file, err, "%c%.4f", i == 0 ? '\t' : ' ', (double)e->s.terms[i]);
    return rc == 0 ? tf_out_write(f->out_file, "\n", 1, err) : rc;
}

static int by_score(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    return x->h.score > y->h.score ? -1 : x->h.score < y->h.score ? 1 : x->rank < y->rank ? -1 : 1;
}

/* The hypotheses as tf-decode puts them out: with scores, best first. */
static int put_list(struct run *f, const struct tf_pair_entry *e, size_t n, struct tf_err *err)
{
    f->ranked = tf_xarray(f->ranked, n, sizeof *f->ranked);
    f->hyps = tf_xarray(f->hyps, n, sizeof *f->hyps);
    for (size_t i = 0; i < n; i++) {
        const struct tf_scored *s = &e[i].s;
        double penalty = tf_search_penalty((size_t)s->n_tgt + 1, f->o->alpha);
        f->ranked[i] = (struct ranked){.h = {.ids = s->tgt,
                                             .n = s->n_tgt,
                                             .score = (float)(f->logp[i] / penalty),
                                             .logp = (float)f->logp[i],
                                             .token_logp = f->o->token ? s->terms : NULL},
                                       .rank = i};
    }
    qsort(f->ranked, n, sizeof *f->ranked, by_score);
    for (size_t i = 0; i < n; i++)
        f->hyps[i] = f->ranked[i].h;
    return tf_writer_nbest(&f->out, e->idx, f->hyps, n, err);
}

static double count(struct run *f, const struct tf_scored *s)
{
    double logp = 0;
    for (uint32_t i = 0; i <= s->n_tgt; i++)
        logp += (double)s->terms[i];
    f->sum.pairs++;
    f->sum.tokens += s->n_tgt + (uint64_t)1;
    f->sum.logp += logp;
    return logp;
}

/* A pair, or the n of a list. */
static int put(struct run *f, const struct tf_pair_entry *e, size_t n, struct tf_err *err)
{
    int rc = 0;
    if (tf_bads_count(&f->bads, e->idx, e->code, e->text, tf_paired_name(f->in), err) < 0)
        return -1;
    f->logp = tf_xarray(f->logp, n, sizeof *f->logp);
    for (size_t i = 0; i < n && rc == 0; i++) {
        f->logp[i] = e->code == 0 ? count(f, &e[i].s) : 0;
        if (f->o->form == TF_SCORE_TEXT)
            rc = put_text(f, &e[i], f->logp[i], err);
    }
    if (f->o->form != TF_SCORE_STREAM)
        return rc;
    if (e->code != 0)
        return tf_writer_bad(&f->out, e->idx, e->code, e->text, err);
    if (tf_paired_lists(f->in))
        return put_list(f, e, n, err);
    return tf_writer_score(&f->out, e->idx, (float)f->logp[0], f->o->token ? e->s.terms : NULL,
                           f->o->token ? e->s.n_tgt + (size_t)1 : 0, err);
}

static int run_window(void *arg, struct tf_pair_entry *v, size_t n, struct tf_err *err)
{
    struct run *f = arg;
    size_t good = 0;
    f->todo = tf_xarray(f->todo, n, sizeof *f->todo);
    for (size_t i = 0; i < n; i++)
        if (v[i].code == 0)
            f->todo[good++] = &v[i].s;
    int rc = good > 0 ? tf_scorer_run(f->scorer, f->todo, good, &f->sum.correct, err) : 0;
    for (size_t i = 0, k; i < n && rc == 0; i += k) {
        for (k = 1; i + k < n && v[i + k].rank > 0; k++)
            ;
        rc = put(f, &v[i], k, err);
    }
    if (tf_progress_due(&f->progress)) {
        double t = tf_now() - f->progress.start;
        tf_progress_show(&f->progress, "%llu pairs, %.0f tokens/s",
                         (unsigned long long)f->bads.lines, (double)f->sum.tokens / t);
    }
    return rc;
}

static int flush(void *arg, struct tf_err *err)
{
    struct run *f = arg;
    return f->o->form == TF_SCORE_STREAM ? tf_writer_flush(&f->out, err)
                                         : tf_out_flush(f->out_file, err);
}

static int end_part(void *arg, struct tf_err *err)
{
    struct run *f = arg;
    f->begun = false;
    return f->o->form == TF_SCORE_STREAM ? tf_writer_end(&f->out, err) : 0;
}

static int report(struct run *f, struct tf_err *err)
{
    const struct tf_score_sum *s = &f->sum;
    double tokens = s->tokens > 0 ? (double)s->tokens : NAN; /* means over nothing are null */
    double ppl = exp(-s->logp / tokens);
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
            tf_json_key(&j, "accuracy"), tf_json_real(&j, (double)s->correct / tokens);
        tf_json_close(&j, '}');
        tf_buf_byte(&b, '\n');
        int rc = tf_out_write(f->out_file, b.p, b.len, err);
        tf_buf_release(&b);
        return rc;
    }
    if (!f->o->quiet && s->tokens == 0)
        tf_note("nothing was scored");
    else if (!f->o->quiet)
        tf_note("%llu pairs, %llu tokens with their ends, log-probability %.4f, perplexity %.4f",
                (unsigned long long)s->pairs, (unsigned long long)s->tokens, s->logp, ppl);
    return 0;
}

static int score(struct run *f, struct tf_err *err)
{
    const struct tf_paired_job job = {f, begin_part, run_window, flush, end_part};
    const int64_t most = f->o->max_length;
    const struct tf_paired_limits limits = {.side = {{"source", most, "--max-length allows"},
                                                     {"target", most, "--max-length allows"}},
                                            .window = tf_models_window(f->models, f->o->window),
                                            .force_vocab = f->o->force_vocab};
    size_t batch = tf_models_batch(f->models, f->o->batch);
    f->scorer = tf_scorer_new(f->models, (int)f->o->threads, batch, NULL, err);
    if (f->scorer == NULL)
        return -1;
    tf_progress_begin(&f->progress, f->o->progress, f->o->quiet);
    tf_models_told(f->models, &f->progress);
    int rc = tf_paired_run(f->in, &job, &limits, err);
    tf_progress_end(&f->progress);
    if (rc == 0)
        rc = report(f, err);
    if (rc < 0 && f->begun)
        tf_writer_fail(&f->out, err);
    return rc;
}

int tf_score_run(const struct tf_score_opts *o, const char *const *inputs, size_t n,
                 const char *output, const struct tf_opt *table, struct tf_err *err)
{
    static const char *const alone[] = {"pairs", "batch", NULL},
                             *const second[] = {"tokens", "nbest", NULL};
    struct tf_out out = {0};
    struct tf_model_set models = {0};
    struct run f = {
        .o = o, .table = table, .models = &models, .out_file = &out, .bads.policy = o->bad};
    if (tf_out_open(&out, output, o->form == TF_SCORE_STREAM ? TF_OUT_BINARY : 0, err) < 0)
        return -1;
    int rc = tf_models_open(&models, &o->models, o->device, o->precision, (int)o->threads,
                            TF_USE_SCORING, o->force_vocab, err);
    if (rc == 0 && (f.in = tf_paired_new(&models, inputs, n, alone, second, err)) == NULL)
        rc = -1;
    if (rc == 0 && o->alpha_given && !tf_paired_lists(f.in))
        rc = tf_fail_status(err, TF_USAGE, "--alpha is for n-best lists");
    if (rc == 0)
        rc = score(&f, err);
    tf_scorer_free(f.scorer);
    tf_paired_free(f.in);
    tf_models_close(&models);
    tf_writer_release(&f.out);
    tf_arena_release(&f.header_mem);
    free(f.todo);
    free(f.logp);
    free(f.ranked);
    free(f.hyps);
    rc = tf_out_finish(&out, rc, err);
    return rc < 0
               ? rc
               : tf_bads_verdict(&f.bads, strcmp(inputs[0], "-") == 0 ? "stdin" : inputs[0], err);
}
