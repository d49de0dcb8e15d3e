/* score.c - the stream around the scorer: pairs or lists of targets in, scores, lists, text or a
 * summary out, in the order of the input. */
#include "infer/score.h"
#include "base/json.h"
#include "base/log.h"
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
    struct tf_stage s;
    const struct tf_score_opts *o;
    struct tf_scorer *scorer;
    struct tf_scored **todo;
    double *logp;          /* of the targets of a list, or of one */
    struct ranked *ranked; /* the same list */
    struct tf_hyp *hyps;   /* and in its new order */
    struct tf_score_sum sum;
};

/* alpha shapes lists alone. */
static void say_alpha(void *arg, struct tf_header *h, const struct tf_header *const from[2])
{
    struct run *f = arg;
    (void)from;
    if (!tf_paired_lists(f->s.in))
        return;
    struct tf_value *stage = &h->made.items[h->made.n - 1], opts = *tf_value_get(stage, "opts");
    tf_value_put(&f->s.header_mem, &opts, "alpha", tf_value_real(f->o->alpha));
    tf_value_put(&f->s.header_mem, stage, "opts", opts);
}

static int put_text(struct run *f, const struct tf_pair_entry *e, double logp, struct tf_err *err)
{
    if (e->code != 0)
        return tf_out_write(&f->s.file, "\n", 1, err);
    int rc = tf_out_printf(&f->s.file, err, "%.4f", logp);
    for (uint32_t i = 0; rc == 0 && f->o->token && i <= e->s.n_tgt; i++)
        rc = tf_out_printf(&f->s.file, err, "%c%.4f", i == 0 ? '\t' : ' ', (double)e->s.terms[i]);
    return rc == 0 ? tf_out_write(&f->s.file, "\n", 1, err) : rc;
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
    return tf_writer_nbest(&f->s.out, e->idx, f->hyps, n, err);
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
    int good = tf_stage_take(&f->s, e, err), rc = 0;
    if (good < 0 || (good == 0 && f->o->form != TF_SCORE_TEXT))
        return good;
    f->logp = tf_xarray(f->logp, n, sizeof *f->logp);
    for (size_t i = 0; i < n && rc == 0; i++) {
        f->logp[i] = good ? count(f, &e[i].s) : 0;
        if (f->o->form == TF_SCORE_TEXT)
            rc = put_text(f, &e[i], f->logp[i], err);
    }
    if (f->o->form != TF_SCORE_STREAM)
        return rc;
    if (tf_paired_lists(f->s.in))
        return put_list(f, e, n, err);
    return tf_writer_score(&f->s.out, e->idx, (float)f->logp[0], f->o->token ? e->s.terms : NULL,
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
    if (tf_progress_due(&f->s.progress)) {
        double t = tf_now() - f->s.progress.start;
        tf_progress_show(&f->s.progress, "%llu pairs, %.0f tokens/s",
                         (unsigned long long)f->s.bads.lines, (double)f->sum.tokens / t);
    }
    return rc;
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
        tf_json_put_uint(&j, "pairs", s->pairs);
        tf_json_put_uint(&j, "bad", f->s.bads.bad);
        tf_json_put_uint(&j, "tokens", s->tokens);
        tf_json_put_real(&j, "logp", s->logp);
        tf_json_put_real(&j, "perplexity", ppl);
        if (f->s.models.n == 1)
            tf_json_put_real(&j, "accuracy", (double)s->correct / tokens);
        tf_json_close(&j, '}');
        tf_buf_byte(&b, '\n');
        int rc = tf_out_write(&f->s.file, b.p, b.len, err);
        tf_buf_release(&b);
        return rc;
    }
    if (!f->o->run.quiet && s->tokens == 0)
        tf_note("nothing was scored");
    else if (!f->o->run.quiet)
        tf_note("%llu pairs, %llu tokens with their ends, log-probability %.4f, perplexity %.4f",
                (unsigned long long)s->pairs, (unsigned long long)s->tokens, s->logp, ppl);
    return 0;
}

static int score(struct run *f, struct tf_err *err)
{
    const int64_t most = f->o->run.max_length;
    const char *kind = f->o->form != TF_SCORE_STREAM ? NULL
                       : tf_paired_lists(f->s.in)    ? "nbest"
                                                     : "scores";
    const struct tf_stage_job job = {f, kind, say_alpha, run_window};
    const struct tf_paired_limits limits = {.side = {{"source", most, "--max-length allows"},
                                                     {"target", most, "--max-length allows"}}};
    if (f->o->alpha_given && !tf_paired_lists(f->s.in))
        return tf_fail_status(err, TF_USAGE, "--alpha is for n-best lists");
    f->scorer = tf_scorer_new(&f->s.models, f->s.threads, f->s.batch, NULL, err);
    if (f->scorer == NULL || tf_stage_run(&f->s, &job, limits, err) < 0)
        return -1;
    return report(f, err);
}

int tf_score_run(const struct tf_score_opts *o, const char *const *inputs, size_t n,
                 const char *output, const struct tf_opt *table, struct tf_err *err)
{
    static const char *const alone[] = {"pairs", "batch", NULL},
                             *const second[] = {"tokens", "nbest", NULL};
    const struct tf_stage_inputs in = {inputs, n, alone, second};
    struct run f = {.o = o};
    int rc = tf_stage_open(&f.s, &o->run, TF_USE_SCORING, &in, output,
                           o->form == TF_SCORE_STREAM ? TF_OUT_BINARY : 0, table, err);
    if (rc == 0)
        rc = score(&f, err);
    tf_scorer_free(f.scorer);
    free(f.todo);
    free(f.logp);
    free(f.ranked);
    free(f.hyps);
    return tf_stage_close(&f.s, rc, err);
}
