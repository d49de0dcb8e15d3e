/* evalb.c - two files of trees side by side. */
#include "tree/evalb.h"
#include "base/bad.h"
#include "tree/evalb_report_private.h"

enum { FLUSH = 1 << 16 };

struct run {
    const struct tf_evalb_opts *o;
    struct tf_evalb_context c;
    struct tf_evalb_sentence gold, test;
    struct tf_evalb_summary sum;
    struct tf_buf out; /* the report so far */
    struct tf_json json;
    uint64_t first_bad; /* line of the first sentence in error; 0: none */
    int64_t bad;        /* number of sentences in error */
    bool extra_test;    /* test has more lines than gold */
};

/* Did errors end the run before the end of the files? */
static bool stopped(const struct run *r)
{
    return r->c.stop || (r->o->bad == TF_ON_BAD_FAIL && r->first_bad);
}

static int next_line(struct tf_in *in, size_t max, struct tf_text *text, struct tf_err *err)
{
    int rc = tf_in_line(in, &text->p, &text->n, max, err);
    return rc == 2 ? tf_fail(err, "%s: line of %zu bytes, maximum %zu", in->name, text->n, max)
                   : rc;
}

/* Compare one pair of lines. The row is set unless r->c.stop. */
static void compare_lines(struct run *r, struct tf_text gold, struct tf_text test,
                          struct tf_evalb_row *row)
{
    struct tf_evalb_context *c = &r->c;
    c->status = TF_EVALB_FINE;
    c->in_error = false;
    tf_evalb_parse(c, &r->gold, gold);
    tf_evalb_parse(c, &r->test, test);
    int64_t kept_gold = 0, kept_test = 0;
    if (!c->stop) { /* counted before the comparison, which cuts labels and inserts words */
        kept_gold = tf_evalb_kept(c->p, &r->gold);
        kept_test = tf_evalb_kept(c->p, &r->test);
        tf_evalb_compare(c, &r->gold, &r->test, row);
        row->line = c->line;
    }
    if (c->stop)
        return;
    r->bad += c->in_error;
    if (c->in_error && !r->first_bad)
        r->first_bad = c->line;
    if (row->status != TF_EVALB_FINE) {
        r->sum.missed_gold += kept_gold;
        r->sum.missed_test += kept_test;
    }
    tf_evalb_add(&r->sum.all, row);
    if (row->length <= c->p->cutoff)
        tf_evalb_add(&r->sum.cut, row);
}

/* Count the brackets of gold lines after the end of test, which EVALB ignores: they are misses in
 * the last block of the report. */
static int count_rest(struct run *r, struct tf_in *gold, struct tf_text text, struct tf_err *err)
{
    int rc;
    r->c.quiet = true;
    do {
        tf_evalb_parse(&r->c, &r->gold, text);
        r->sum.missed_gold += tf_evalb_kept(r->c.p, &r->gold);
        r->sum.no_partner++;
    } while ((rc = next_line(gold, r->o->max_line, &text, err)) > 0);
    return rc;
}

static int flush_results(struct run *r, struct tf_out *out, struct tf_err *err)
{
    int rc = tf_out_write(out, r->out.p, r->out.len, err);
    tf_buf_clear(&r->out);
    return rc;
}

static int compare_files(struct run *r, struct tf_in *gold, struct tf_in *test, struct tf_out *out,
                         struct tf_err *err)
{
    const struct tf_evalb_opts *o = r->o;
    struct tf_text a, b;
    int more_gold, more_test = 0;
    while ((more_gold = next_line(gold, o->max_line, &a, err)) > 0) {
        r->c.line++;
        if ((more_test = next_line(test, o->max_line, &b, err)) < 0)
            return -1;
        if (more_test == 0)
            break;
        struct tf_evalb_row row;
        compare_lines(r, a, b, &row);
        if (stopped(r))
            return 0;
        if (o->json)
            tf_evalb_json_row(&r->json, &row);
        else
            tf_evalb_text_row(&r->out, &row);
        if (!o->json && r->out.len >= FLUSH && flush_results(r, out, err) != 0)
            return -1;
    }
    if (more_gold < 0)
        return -1;
    if (more_gold > 0)
        return count_rest(r, gold, a, err);
    if ((more_test = next_line(test, o->max_line, &b, err)) < 0)
        return -1;
    r->extra_test = more_test > 0;
    return 0;
}

/* Set the status and message of a complete run. */
static void set_status(const struct run *r, const struct tf_in *gold, const struct tf_in *test,
                       struct tf_err *err)
{
    if (r->sum.no_partner)
        tf_fail(err, "%s has %llu more line%s than %s", gold->name,
                (unsigned long long)r->sum.no_partner, r->sum.no_partner == 1 ? "" : "s",
                test->name);
    else if (r->extra_test)
        tf_fail(err, "%s has more lines than %s, which has %llu", test->name, gold->name,
                (unsigned long long)r->c.line);
    else if (r->bad > 0 && r->o->bad == TF_ON_BAD_MARK)
        tf_fail_status(err, TF_PARTIAL, "%lld of %lld sentences in error, the first is line %llu",
                       (long long)r->bad, (long long)r->sum.all.sentences,
                       (unsigned long long)r->first_bad);
}

static void end_report(struct run *r, int rc)
{
    bool complete = rc == 0 && !stopped(r);
    if (complete && r->o->json)
        tf_evalb_json_end(&r->json, &r->sum);
    else if (complete)
        tf_evalb_text_summary(&r->out, &r->sum, r->o->exact);
    else if (r->o->json)
        tf_buf_clear(&r->out);
}

int tf_evalb(const struct tf_evalb_opts *o, struct tf_in *gold, struct tf_in *test,
             struct tf_out *out, struct tf_err *err)
{
    struct run r = {.o = o, .c = {.p = &o->params}, .sum = {.cutoff = o->params.cutoff}};
    r.json.out = &r.out;
    if (o->json)
        tf_evalb_json_begin(&r.json);
    else
        tf_evalb_text_header(&r.out);
    int rc = compare_files(&r, gold, test, out, err);
    end_report(&r, rc);
    struct tf_err later = {0};
    if (flush_results(&r, out, rc == 0 ? err : &later) != 0)
        rc = -1;
    if (rc == 0 && r.c.stop)
        rc =
            tf_fail(err, "line %llu: error number %lld, and MAX_ERROR is %lld: stopped, no summary",
                    (unsigned long long)r.c.line, (long long)r.c.error_count,
                    (long long)o->params.max_error);
    else if (rc == 0 && stopped(&r))
        rc = tf_fail(err, "stopped at line %llu", (unsigned long long)r.c.line);
    else if (rc == 0)
        set_status(&r, gold, test, err);
    tf_evalb_sentence_release(&r.gold);
    tf_evalb_sentence_release(&r.test);
    tf_buf_release(&r.out);
    return rc;
}
