/* rerank.c - see rerank.h. */
#include "metrics/rerank.h"
#include "base/bad.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/opt.h"
#include "base/parse.h"
#include "base/utf8.h"
#include "metrics/utility_private.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct hyp {
    size_t at, n; /* its text in the list's */
    double total;
    double by; /* what decides */
    size_t place;
};

struct list {
    uint64_t idx;
    struct tf_buf text;
    struct hyp *v;
    size_t n, cap;
    bool is, bad;
    char reason[256];
};

struct rerank {
    const struct tf_rerank *o;
    struct tf_lines *in;
    struct tf_out *out;
    struct list list;
    struct tf_utility *utility;
    struct tf_text *texts; /* of the list */
    double *weights, *utilities;
    size_t cap;
    struct tf_tokens words;
    struct tf_bad_count count;
    struct tf_buf number;
    bool json; /* of the lines so far */
};

const char *const tf_rerank_utilities[] = {"chrf", "chrf++", "bleu", NULL};

int tf_rerank_mbr(struct tf_rerank *r, const char *name, int tokenizer, struct tf_err *err)
{
    enum { CHRF_PLUS_PLUS = 1, BLEU = 2 };
    struct tf_err why = {0};
    const int i = tf_opt_find_word(tf_rerank_utilities, name, &why);
    if (i < 0)
        return tf_fail_status(err, TF_USAGE, "--mbr %s", why.msg);
    r->mbr = true;
    r->kind = i == BLEU ? TF_BLEU : TF_CHRF;
    r->metric.chrf =
        (struct tf_chrf_opts){.chars = 6, .words = i == CHRF_PLUS_PLUS ? 2 : 0, .beta = 2};
    r->metric.bleu.tokenizer = (enum tf_tokenizer)tokenizer;
    return 0;
}

int tf_rerank_weights(struct tf_rerank *r, const char *text, struct tf_err *err)
{
    r->n_weights = 0;
    for (const char *p = text, *end; p != NULL; p = end != NULL ? end + 1 : NULL) {
        struct tf_buf one = {0};
        end = strchr(p, ',');
        tf_buf_add(&one, p, end != NULL ? (size_t)(end - p) : strlen(p));
        const bool room = r->n_weights < TF_RERANK_WEIGHTS;
        const int rc = room ? tf_parse_real(&r->weight[r->n_weights++],
                                            one.p != NULL ? one.p : "", -1e9, 1e9, err)
                            : tf_fail(err, "more than %d", TF_RERANK_WEIGHTS);
        tf_buf_release(&one);
        if (rc != 0)
            return tf_fail_status(err, TF_USAGE, "--weights: %s", err->msg);
    }
    return 0;
}

/* ---- reading ---- */

/* Put the place before an error of the line. */
static int at_line(const struct rerank *r, struct tf_err *err)
{
    return tf_context(err, "%s: line %llu", r->in->name, (unsigned long long)r->in->n);
}

static int wrong(struct tf_err *err, const char *what)
{
    return tf_fail(err,
                   "%s (expected: idx, rank, score and text between tabs, as tf-tokenize -d "
                   "--nbest writes them, or its --json)",
                   what);
}

static void begin_list(struct rerank *r, uint64_t idx)
{
    struct list *l = &r->list;
    l->idx = idx;
    l->n = 0;
    l->is = true;
    l->bad = false;
    tf_buf_clear(&l->text);
}

static int add_hyp(struct rerank *r, const char *text, size_t n, double total, struct tf_err *err)
{
    struct list *l = &r->list;
    if (l->n == TF_RERANK_MOST)
        return tf_fail(err, "a list of more than %d hypotheses", TF_RERANK_MOST);
    TF_GROW(l->v, l->n, l->cap);
    const size_t end = tf_uc_rstrip(text, n);
    tf_tokenize_none(&r->words, (struct tf_text){text, end});
    total += r->o->length * (double)r->words.n;
    if (!isfinite(total))
        return wrong(err, "a score that is too large");
    l->v[l->n] = (struct hyp){l->text.len, n, total, total, l->n};
    l->n++;
    tf_buf_add(&l->text, text, n);
    return 0;
}

static int field_real(struct rerank *r, struct tf_text *line, double *x, const char *what,
                      struct tf_err *err)
{
    struct tf_text field;
    struct tf_err why = {0};
    if (!tf_text_cut(line, '\t', &field))
        return wrong(err, what);
    tf_buf_clear(&r->number);
    tf_buf_add(&r->number, field.p, field.n);
    return tf_parse_real(x, field.n > 0 ? r->number.p : "", -DBL_MAX, DBL_MAX, &why) == 0
               ? 0
               : wrong(err, what);
}

static void mark_bad(struct list *l, const char *why, size_t n)
{
    const size_t most = sizeof l->reason - 1;
    l->bad = true;
    memcpy(l->reason, why, n < most ? n : most);
    l->reason[n < most ? n : most] = 0;
}

/* The scores after the text. One that is empty, as tf-score writes it of what it cannot score,
 * makes the list bad. */
static int add_scores(struct rerank *r, struct tf_text *line, double *total, struct tf_err *err)
{
    static const char lacks[] = "a hypothesis without a score";
    for (size_t k = 1; k < r->o->n_weights; k++) {
        double x = 0;
        if (line->p != NULL && (line->n == 0 || line->p[0] == '\t')) {
            struct tf_text none;
            (void)tf_text_cut(line, '\t', &none);
            mark_bad(&r->list, lacks, sizeof lacks - 1);
        } else if (field_real(r, line, &x, "--weights has more weights than there are scores",
                              err) != 0) {
            return -1;
        }
        *total += r->o->weight[k] * x;
    }
    return 0;
}

static int put_list(struct rerank *r, struct tf_err *err);

static int read_place(struct rerank *r, struct tf_text *line, double *idx, double *rank,
                      struct tf_err *err)
{
    if (field_real(r, line, idx, "no number of an input", err) != 0 ||
        field_real(r, line, rank, "no rank", err) != 0)
        return -1;
    return *idx >= 0 && *idx <= 0x1p53 && *idx == floor(*idx) ? 0
                                                              : wrong(err, "no number of an input");
}

static int read_hyp(struct rerank *r, struct tf_text *line, struct tf_err *err)
{
    double score;
    struct tf_text text;
    if (field_real(r, line, &score, "no score", err) != 0)
        return -1;
    if (!tf_text_cut(line, '\t', &text))
        return wrong(err, "no text");
    score *= r->o->weight[0];
    return add_scores(r, line, &score, err) != 0 ? -1 : add_hyp(r, text.p, text.n, score, err);
}

static int read_columns(struct rerank *r, struct tf_text line, struct tf_err *err)
{
    static const char lacks[] = "no hypothesis";
    double idx, rank;
    if (read_place(r, &line, &idx, &rank, err) != 0)
        return at_line(r, err);
    if (!r->list.is || r->list.idx != (uint64_t)idx) {
        if (put_list(r, err) != 0)
            return -1;
        begin_list(r, (uint64_t)idx);
    }
    if (rank == 0) {
        mark_bad(&r->list, lacks, sizeof lacks - 1);
        return 0;
    }
    return read_hyp(r, &line, err) != 0 ? at_line(r, err) : 0;
}

/* ---- JSON ---- */

struct object {
    struct tf_buf text, reason;
    double score;
    bool has_text, has_score;
};

static int read_object(struct rerank *r, struct tf_json_reader *j, bool first, struct tf_err *err);

static int read_alternatives(struct rerank *r, struct tf_json_reader *j, struct tf_err *err)
{
    enum tf_json_kind kind;
    if (tf_json_next(j, &kind, err) != 0)
        return -1;
    if (kind != TF_JSON_ARRAY)
        return wrong(err, "alternatives: no array");
    int rc;
    while ((rc = tf_json_more(j, &kind, err)) > 0) {
        if (kind != TF_JSON_OBJECT)
            return wrong(err, "alternatives: no object");
        if (read_object(r, j, false, err) != 0)
            return -1;
    }
    return rc;
}

static int read_member(struct tf_json_reader *j, struct object *o, struct tf_err *err)
{
    enum tf_json_kind kind;
    const bool text = tf_text_is((struct tf_text){j->text.p, j->text.len}, "text"),
               reason = tf_text_is((struct tf_text){j->text.p, j->text.len}, "reason"),
               score = tf_text_is((struct tf_text){j->text.p, j->text.len}, "score");
    if (!text && !reason && !score)
        return tf_json_skip(j, err);
    if (tf_json_next(j, &kind, err) != 0)
        return -1;
    if (kind != (score ? TF_JSON_NUMBER : TF_JSON_STRING))
        return wrong(err, "text or score: of another type");
    if (score) {
        o->score = j->real;
        o->has_score = true;
    } else {
        tf_buf_clear(text ? &o->text : &o->reason);
        tf_buf_add(text ? &o->text : &o->reason, j->text.p, j->text.len);
        o->has_text = o->has_text || text;
    }
    return 0;
}

/* Move the last hypothesis of a list to its front. */
static void put_first(struct list *l)
{
    const struct hyp first = l->v[l->n - 1];
    memmove(l->v + 1, l->v, (l->n - 1) * sizeof *l->v);
    l->v[0] = first;
    for (size_t i = 0; i < l->n; i++)
        l->v[i].place = i;
}

/* Take the hypothesis of an object; that of the first one comes before those of its alternatives,
 * wherever they are among its members. */
static int take_object(struct rerank *r, struct object *o, bool first, struct tf_err *err)
{
    if (!o->has_text) {
        if (!first)
            return wrong(err, "no text");
        mark_bad(&r->list, o->reason.p != NULL ? o->reason.p : "no text",
                 o->reason.p != NULL ? o->reason.len : 7);
        return 0;
    }
    if (!o->has_score && (!first || r->list.n > 0))
        return wrong(err, "no score");
    for (size_t i = 0; i < o->text.len; i++)
        if (o->text.p[i] == '\n' || (o->text.p[i] == '\t' && r->o->all))
            o->text.p[i] = ' ';
    if (add_hyp(r, o->text.p != NULL ? o->text.p : "", o->text.len, r->o->weight[0] * o->score,
                err) != 0)
        return -1;
    if (first)
        put_first(&r->list);
    return 0;
}

static int read_object(struct rerank *r, struct tf_json_reader *j, bool first, struct tf_err *err)
{
    struct object o = {0};
    enum tf_json_kind kind;
    int rc = 0;
    while (rc == 0 && (rc = tf_json_more(j, &kind, err)) > 0)
        rc = first && tf_text_is((struct tf_text){j->text.p, j->text.len}, "alternatives")
                 ? read_alternatives(r, j, err)
                 : read_member(j, &o, err);
    if (rc == 0)
        rc = take_object(r, &o, first, err);
    tf_buf_release(&o.text);
    tf_buf_release(&o.reason);
    return rc;
}

static int read_json(struct rerank *r, struct tf_text line, struct tf_err *err)
{
    struct tf_json_reader j;
    enum tf_json_kind kind;
    if (r->o->n_weights > 1)
        return tf_fail(err, "%s: line %llu: JSON has one score, --weights has %zu", r->in->name,
                       (unsigned long long)r->in->n, r->o->n_weights);
    if (put_list(r, err) != 0)
        return -1;
    begin_list(r, r->in->n - 1);
    tf_json_read(&j, line.p, line.n);
    j.nul = true;
    int rc = tf_json_next(&j, &kind, err);
    if (rc == 0)
        rc = read_object(r, &j, true, err);
    if (rc == 0)
        rc = tf_json_next(&j, &kind, err); /* nothing follows */
    tf_json_read_release(&j);
    return rc != 0 ? at_line(r, err) : put_list(r, err);
}

/* ---- choice ---- */

static int by_value(const void *x, const void *y)
{
    const struct hyp *a = x, *b = y;
    if (a->by != b->by)
        return a->by > b->by ? -1 : 1;
    return (a->place > b->place) - (a->place < b->place);
}

/* exp(scale total), divided by the sum; 1 / n without scale. */
static void weigh(const struct rerank *r)
{
    const struct list *l = &r->list;
    double most = -INFINITY, sum = 0;
    for (size_t i = 0; i < l->n; i++)
        most = l->v[i].total > most ? l->v[i].total : most;
    for (size_t i = 0; i < l->n; i++)
        sum += r->weights[i] = /* a difference may be infinite */
            r->o->scale > 0 ? exp(r->o->scale * (l->v[i].total - most)) : 1;
    for (size_t i = 0; i < l->n; i++)
        r->weights[i] /= sum;
}

static int weigh_utility(struct rerank *r, struct tf_err *err)
{
    struct list *l = &r->list;
    if (l->n > r->cap) {
        r->cap = 2 * l->n;
        r->texts = tf_xarray(r->texts, r->cap, sizeof *r->texts);
        r->weights = tf_xarray(r->weights, r->cap, sizeof *r->weights);
        r->utilities = tf_xarray(r->utilities, r->cap, sizeof *r->utilities);
    }
    for (size_t i = 0; i < l->n; i++)
        r->texts[i] = (struct tf_text){l->v[i].n > 0 ? l->text.p + l->v[i].at : "", l->v[i].n};
    weigh(r);
    if (tf_utility_of(r->utility, r->utilities, r->texts, r->weights, l->n, err) != 0)
        return tf_context(err, "%s: list %llu", r->in->name, (unsigned long long)r->count.total);
    for (size_t i = 0; i < l->n; i++)
        l->v[i].by = r->utilities[i];
    return 0;
}

static int put_hyp(const struct rerank *r, size_t rank, struct tf_err *err)
{
    const struct list *l = &r->list;
    const struct hyp *h = &l->v[rank];
    if (r->o->all && tf_out_printf(r->out, err, "%llu\t%zu\t%.6f\t", (unsigned long long)l->idx,
                                   rank + 1, h->by) != 0)
        return -1;
    if (h->n > 0 && tf_out_write(r->out, l->text.p + h->at, h->n, err) != 0)
        return -1;
    return tf_out_write(r->out, "\n", 1, err);
}

static int put_bad(struct rerank *r, struct tf_err *err)
{
    const int rc = r->o->all ? tf_out_printf(r->out, err, "%llu\t0\t\t\n",
                                             (unsigned long long)r->list.idx)
                             : tf_out_write(r->out, "\n", 1, err);
    return rc != 0 ? -1
                   : tf_bad_add(&r->count, r->in->name, r->count.total, r->list.reason, false, err);
}

/* Choose from the list at hand, if there is one, and end it. */
static int put_list(struct rerank *r, struct tf_err *err)
{
    struct list *l = &r->list;
    int rc = 0;
    if (!l->is)
        return 0;
    l->is = false;
    r->count.total++;
    if (l->bad || l->n == 0)
        return put_bad(r, err);
    if (r->o->mbr && weigh_utility(r, err) != 0)
        return -1;
    qsort(l->v, l->n, sizeof *l->v, by_value);
    for (size_t i = 0; rc == 0 && i < (r->o->all ? l->n : 1); i++)
        rc = put_hyp(r, i, err);
    return rc;
}

static int read_all(struct rerank *r, struct tf_err *err)
{
    struct tf_text line;
    int rc;
    while ((rc = tf_lines_next(r->in, &line, err)) == 1) {
        const size_t mark = r->in->n == 1 ? tf_utf8_mark(line.p, line.n) : 0;
        line = (struct tf_text){line.p + mark, line.n - mark};
        const bool json = line.n > 0 && line.p[0] == '{';
        if ((json ? read_json(r, line, err) : read_columns(r, line, err)) != 0)
            return -1;
        if (r->in->n > 1 && json != r->json && /* two lists could get one number */
            wrong(err, "columns and JSON in one input") != 0)
            return at_line(r, err);
        r->json = json;
        if (!tf_in_line_ready(&r->in->in, TF_LINES_MAX) && tf_out_flush(r->out, err) != 0)
            return -1;
    }
    return rc < 0 ? -1 : put_list(r, err);
}

int tf_rerank_run(const struct tf_rerank *o, struct tf_lines *in, struct tf_out *out,
                  struct tf_err *err)
{
    struct rerank r = {.o = o,
                       .in = in,
                       .out = out,
                       .count = {.on_bad = o->bad, .items = "lists", .place = "list"}};
    if (o->mbr)
        r.utility = tf_utility_new(o->kind, &o->metric);
    in->keep = true;
    const int rc = read_all(&r, err);
    if (rc == 0)
        (void)tf_bad_status(&r.count, in->name, err);
    tf_utility_free(r.utility);
    tf_tokens_release(&r.words);
    tf_buf_release(&r.list.text);
    tf_buf_release(&r.number);
    free(r.list.v);
    free(r.texts);
    free(r.weights);
    free(r.utilities);
    return rc;
}
