/* score_stream.c - see score_stream.h. */
#include "infer/score_stream.h"
#include "base/json.h"
#include "base/memory.h"
#include "infer/lane_forward_private.h"
#include "ops/search_state.h"

#include <math.h>
#include <stdlib.h>

/* A hypothesis and its place in its list. */
struct ranked {
    struct tf_hyp h;
    size_t rank;
};

struct score {
    struct tf_session s;
    const struct tf_score_opts *o;
    const struct tf_opt *table;
    struct tf_lane_forward **forward; /* one per lane */
    struct tf_forward_pair *pairs;    /* of the window */
    struct tf_lane_item *items;       /* the good ones among them */
    float *token_logp;                /* of all pairs of the window */
    /* Of one list. */
    double *logp;
    struct ranked *ranked;
    struct tf_hyp *hyps; /* best first */
    /* Totals over good pairs. Tokens include EOS; logp is summed in the order of the input. */
    uint64_t n_pairs, tokens, correct;
    double total_logp;
    bool not_finite; /* the number of correct tokens includes those of bad pairs */
};

static int start_score(struct score *c, struct tf_err *err)
{
    const int64_t longest = c->o->run.max_length;
    if (c->o->penalty != NULL && !c->s.in.lists)
        return tf_fail_status(err, TF_USAGE, "--%s is for n-best lists", c->o->penalty);
    c->s.in.side[0] = tf_input_side(&c->s.models, 0, "source", longest, "--max-length allows");
    c->s.in.side[1] =
        tf_input_side(&c->s.models, 1, "target", longest + TF_MAX_EXTRA, "--max-length allows");
    if (tf_session_start(&c->s, tf_forward_budget(&c->s.models), err) != 0)
        return -1;
    c->forward = tf_lane_forward_new(c->s.lanes);
    return 0;
}

/* Only n-best lists depend on the length penalty, so only they record it. */
static int begin_part(void *arg, struct tf_err *err)
{
    struct score *c = arg;
    if (c->o->form != TF_SCORE_STREAM)
        return 0;
    struct tf_arena mem = {0};
    struct tf_header h = tf_ensemble_header(&c->s.models, &mem, c->s.in.header,
                                            c->s.in.lists ? "nbest" : "scores", c->table);
    if (c->s.in.lists) {
        tf_header_add_opt(&h, &mem, "alpha", tf_value_real(c->o->alpha));
        if (c->o->normalize > 0)
            tf_header_add_opt(&h, &mem, "normalize", tf_value_real(c->o->normalize));
    }
    int rc = tf_output_begin(&c->s.out, &h, err);
    tf_arena_release(&mem);
    return rc;
}

static int score_group(void *arg, size_t lane, const struct tf_lane_item *group, size_t n,
                       struct tf_err *err)
{
    struct score *c = arg;
    return tf_lane_forward_logp(c->forward[lane], group, n, err);
}

/* ---- results ---- */

static double logp_of(const struct tf_forward_pair *p)
{
    double logp = 0;
    for (uint32_t i = 0; i <= p->n_tgt; i++)
        logp += (double)p->token_logp[i];
    return logp;
}

static void add_to_totals(struct score *c, const struct tf_forward_pair *p, double logp)
{
    c->n_pairs++;
    c->tokens += p->n_tgt + (uint64_t)1;
    c->total_logp += logp;
}

/* Sum the log-probabilities of a record's pairs. As in decoding, a record without a finite result
 * is bad. */
static void add_up(struct score *c, struct tf_item *it, const struct tf_forward_pair *p, size_t n)
{
    c->logp = tf_xarray(c->logp, n, sizeof *c->logp);
    for (size_t i = 0; i < n && it->code == 0; i++) {
        c->logp[i] = logp_of(&p[i]);
        if (isfinite(c->logp[i]))
            continue;
        it->code = TF_BAD_OTHER;
        it->text = "a log-probability that is not finite";
        c->not_finite = true;
    }
}

static int write_line(struct score *c, const struct tf_forward_pair *p, double logp,
                      struct tf_err *err)
{
    struct tf_out *out = &c->s.out.file;
    int rc = tf_out_printf(out, err, "%.4f", logp);
    for (uint32_t i = 0; c->o->token && rc == 0 && i <= p->n_tgt; i++)
        rc = tf_out_printf(out, err, "%c%.4f", i == 0 ? '\t' : ' ', (double)p->token_logp[i]);
    return rc == 0 ? tf_out_write(out, "\n", 1, err) : rc;
}

static int by_score(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    if (x->h.score != y->h.score)
        return x->h.score > y->h.score ? -1 : 1;
    return x->rank < y->rank ? -1 : 1;
}

/* The n hypotheses of a list as tf-decode writes them: with scores, best first. */
static int write_list(struct score *c, uint64_t idx, const struct tf_forward_pair *p, size_t n,
                      struct tf_err *err)
{
    c->ranked = tf_xarray(c->ranked, n, sizeof *c->ranked);
    c->hyps = tf_xarray(c->hyps, n, sizeof *c->hyps);
    for (size_t i = 0; i < n; i++) {
        double penalty = tf_search_penalty((size_t)p[i].n_tgt + 1, c->o->alpha, c->o->normalize);
        c->ranked[i] = (struct ranked){.h = {.ids = p[i].tgt,
                                             .n = p[i].n_tgt,
                                             .score = (float)(c->logp[i] / penalty),
                                             .logp = (float)c->logp[i],
                                             .token_logp = c->o->token ? p[i].token_logp : NULL},
                                       .rank = i};
    }
    qsort(c->ranked, n, sizeof *c->ranked, by_score);
    for (size_t i = 0; i < n; i++)
        c->hyps[i] = c->ranked[i].h;
    return tf_writer_nbest(&c->s.out.writer, idx, c->hyps, n, err);
}

/* The result of one record: a pair, or the n hypotheses of a list. */
static int write_result(struct score *c, struct tf_item *it, const struct tf_forward_pair *p,
                        size_t n, struct tf_err *err)
{
    struct tf_writer *w = &c->s.out.writer;
    add_up(c, it, p, n);
    int good = tf_output_count(&c->s.out, it, c->s.in.name, err), rc = 0;
    if (good < 0 || (good == 0 && c->o->form != TF_SCORE_TEXT))
        return good;
    for (size_t i = 0; i < n && rc == 0; i++) {
        if (good)
            add_to_totals(c, &p[i], c->logp[i]);
        if (c->o->form == TF_SCORE_TEXT) /* a bad pair is an empty line */
            rc = good ? write_line(c, &p[i], c->logp[i], err)
                      : tf_out_write(&c->s.out.file, "\n", 1, err);
    }
    if (c->o->form != TF_SCORE_STREAM)
        return rc;
    if (c->s.in.lists)
        return write_list(c, it->idx, p, n, err);
    return tf_writer_score(w, it->idx, (float)c->logp[0], c->o->token ? p->token_logp : NULL,
                           c->o->token ? p->n_tgt + (size_t)1 : 0, err);
}

static uint32_t longest_target(const struct tf_item *list, size_t n)
{
    uint32_t longest = list->n_given;
    for (size_t i = 1; i < n && list[i].rank > 0; i++)
        longest = list[i].n_given > longest ? list[i].n_given : longest;
    return longest;
}

/* A list stays together when items are sorted, so that its source is encoded once. */
static struct tf_lane_item list_item(struct score *c, struct tf_forward_pair *p, uint32_t longest)
{
    struct tf_lane_item item = tf_forward_item(p, &c->s.models, NULL);
    item.length += longest - p->n_tgt;
    return item;
}

static int score_window(void *arg, struct tf_err *err)
{
    struct score *c = arg;
    struct tf_item *in = c->s.in.items;
    size_t n = c->s.in.n, good = 0, tokens = 0;
    for (size_t i = 0; i < n; i++)
        tokens += in[i].n_given + (size_t)1;
    c->pairs = tf_xarray(c->pairs, n, sizeof *c->pairs);
    c->items = tf_xarray(c->items, n, sizeof *c->items);
    c->token_logp = tf_xarray(c->token_logp, tokens, sizeof *c->token_logp);
    tokens = 0;
    uint32_t longest = 0;
    for (size_t i = 0; i < n; i++) {
        if (in[i].rank == 0)
            longest = longest_target(&in[i], n - i);
        c->pairs[i] = (struct tf_forward_pair){.src = in[i].source,
                                               .n_src = in[i].n_source,
                                               .tgt = in[i].given,
                                               .n_tgt = in[i].n_given,
                                               .token_logp = c->token_logp + tokens};
        tokens += in[i].n_given + (size_t)1;
        if (in[i].code == 0)
            c->items[good++] = list_item(c, &c->pairs[i], longest);
    }
    int rc = tf_lanes_run(c->s.lanes, c->items, good, score_group, c, err);
    for (size_t i = 0; i < c->s.lanes->n; i++)
        c->correct += tf_lane_forward_take_correct(c->forward[i]);
    for (size_t i = 0, k; i < n && rc == 0; i += k) {
        for (k = 1; i + k < n && in[i + k].rank > 0; k++)
            ;
        rc = write_result(c, &in[i], &c->pairs[i], k, err);
    }
    if (tf_progress_due(&c->s.progress)) {
        double t = tf_now() - c->s.progress.start;
        tf_progress_show(&c->s.progress, "%llu pairs, %.0f tokens/s",
                         (unsigned long long)c->s.out.count.total, (double)c->tokens / t);
    }
    return rc;
}

/* ---- totals ---- */

static int write_summary(struct score *c, double perplexity, double accuracy, struct tf_err *err)
{
    struct tf_buf b = {0};
    struct tf_json j = {.out = &b};
    tf_json_open(&j, '{');
    tf_json_put_uint(&j, "pairs", c->n_pairs);
    tf_json_put_uint(&j, "bad", c->s.out.count.bad);
    tf_json_put_uint(&j, "tokens", c->tokens);
    tf_json_put_real(&j, "logp", c->total_logp);
    tf_json_put_real(&j, "perplexity", perplexity);
    if (c->s.models.n == 1)
        tf_json_put_real(&j, "accuracy", accuracy);
    tf_json_close(&j, '}');
    tf_buf_byte(&b, '\n');
    int rc = tf_out_write(&c->s.out.file, b.p, b.len, err);
    tf_buf_release(&b);
    return rc;
}

static int report_totals(struct score *c, struct tf_err *err)
{
    double tokens = c->tokens > 0 ? (double)c->tokens : NAN; /* means over nothing are null */
    double perplexity = exp(-c->total_logp / tokens);
    if (c->o->form == TF_SCORE_SUMMARY)
        return write_summary(c, perplexity, c->not_finite ? NAN : (double)c->correct / tokens, err);
    if (c->o->run.quiet)
        return 0;
    if (c->tokens == 0)
        tf_note("nothing was scored");
    else
        tf_note("%llu pairs, %llu tokens including ends of sentences, log-probability %.4f, "
                "perplexity %.4f",
                (unsigned long long)c->n_pairs, (unsigned long long)c->tokens, c->total_logp,
                perplexity);
    return 0;
}

static void release_score(struct score *c)
{
    tf_lane_forward_free(c->forward, c->s.lanes);
    free(c->pairs);
    free(c->items);
    free(c->token_logp);
    free(c->logp);
    free(c->ranked);
    free(c->hyps);
}

int tf_score_stream(const struct tf_score_opts *o, const char *const *inputs, size_t n,
                    const char *output, const struct tf_opt *table, struct tf_err *err)
{
    static const char *const single[] = {"pairs", "batch", NULL};
    static const char *const second[] = {"tokens", "nbest", NULL};
    const struct tf_input_spec in = {inputs, n, single, second};
    struct score c = {.o = o, .table = table};
    int rc =
        tf_session_open(&c.s, &o->run, TF_USE_SCORING, output, o->form != TF_SCORE_STREAM, err);
    if (rc == 0)
        rc = tf_session_input(&c.s, &in, err);
    if (rc == 0)
        rc = start_score(&c, err);
    if (rc == 0)
        rc = tf_session_run(&c.s, begin_part, score_window, &c, err);
    if (rc == 0)
        rc = report_totals(&c, err);
    release_score(&c);
    return tf_session_close(&c.s, rc, err);
}
