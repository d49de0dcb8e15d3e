/* evalb.c - two files of trees side by side, and the report: EVALB's, to the letter, or JSON. */
#include "tree/evalb.h"
#include "base/json.h"
#include "base/log.h"
#include "tree/evalb_parts.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

enum { FLUSH = 1 << 16 };

static void count_error(struct tf_evalb_run *r)
{
    r->stop = r->error_count++ > r->p->max_error;
}

void tf_evalb_error(struct tf_evalb_run *r, const char *fmt, ...)
{
    char text[512];
    va_list ap;
    if (r->stop || r->quiet)
        return;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    tf_warn("line %llu: %s", (unsigned long long)r->line, text);
    r->status = TF_EVALB_ERROR;
    count_error(r);
}

static double percent(int64_t part, int64_t whole)
{
    return whole > 0 ? 100.0 * (double)part / (double)whole : 0.0;
}

static void add(struct tf_evalb_totals *t, const struct tf_evalb_row *row)
{
    t->sentences++;
    if (row->status == TF_EVALB_ERROR) {
        t->errors++;
    } else if (row->status == TF_EVALB_SKIP) {
        t->skipped++;
    } else {
        t->gold += row->gold;
        t->test += row->test;
        t->matched += row->matched;
        t->complete += row->gold == row->test && row->test == row->matched;
        t->words += row->words;
        t->tags += row->tags;
        t->crossing += row->crossing;
        t->no_crossing += row->crossing == 0;
        t->two_crossing += row->crossing <= 2;
    }
}

/* The figures of a block, from its totals. */
struct figures {
    int64_t valid;
    double recall, precision, f, complete, crossing, no_crossing, two_crossing, tags;
};

static struct figures figures(const struct tf_evalb_totals *t)
{
    struct figures f = {.valid = t->sentences - t->errors - t->skipped};
    f.recall = percent(t->matched, t->gold);
    f.precision = percent(t->matched, t->test);
    f.f = f.precision + f.recall > 0 ? 2 * f.precision * f.recall / (f.precision + f.recall)
                                     : (double)NAN;
    f.complete = percent(t->complete, f.valid);
    f.crossing = f.valid > 0 ? (double)t->crossing / (double)f.valid : 0.0;
    f.no_crossing = percent(t->no_crossing, f.valid);
    f.two_crossing = percent(t->two_crossing, f.valid);
    f.tags = percent(t->tags, t->words);
    return f;
}

/* All sentences, the ones that were not scored with no bracket right. */
static struct tf_evalb_totals with_failures(const struct tf_evalb_run *r)
{
    struct tf_evalb_totals t = {.gold = r->all.gold + r->missed_gold,
                                .test = r->all.test + r->missed_test,
                                .matched = r->all.matched};
    t.sentences = r->all.sentences + (int64_t)r->no_partner;
    t.complete = r->all.complete;
    return t;
}

/* ---- the report ---- */

/* NaN without the sign that some machines give 0/0. */
static void line(struct tf_buf *out, const char *name, double x)
{
    if (isnan(x))
        tf_buf_printf(out, "%-25s =    nan\n", name);
    else
        tf_buf_printf(out, "%-25s = %6.2f\n", name, x);
}

static void block(struct tf_buf *out, const struct tf_evalb_totals *t)
{
    struct figures f = figures(t);
    tf_buf_printf(out, "Number of sentence        = %6lld\n", (long long)t->sentences);
    tf_buf_printf(out, "Number of Error sentence  = %6lld\n", (long long)t->errors);
    tf_buf_printf(out, "Number of Skip  sentence  = %6lld\n", (long long)t->skipped);
    tf_buf_printf(out, "Number of Valid sentence  = %6lld\n", (long long)f.valid);
    line(out, "Bracketing Recall", f.recall);
    line(out, "Bracketing Precision", f.precision);
    line(out, "Bracketing FMeasure", f.f);
    line(out, "Complete match", f.complete);
    line(out, "Average crossing", f.crossing);
    line(out, "No crossing", f.no_crossing);
    line(out, "2 or less crossing", f.two_crossing);
    line(out, "Tagging accuracy", f.tags);
}

static void head(struct tf_buf *out)
{
    tf_buf_str(out,
               "  Sent.                        Matched  Bracket   Cross        Correct Tag\n"
               " ID  Len.  Stat. Recal  Prec.  Bracket gold test Bracket Words  Tags Accracy\n"
               "============================================================================\n");
}

static void text_row(struct tf_buf *out, const struct tf_evalb_row *x)
{
    tf_buf_printf(out, "%4llu  %3lld    %d  ", (unsigned long long)x->line, (long long)x->length,
                  x->status);
    tf_buf_printf(out, "%6.2f %6.2f   %3lld    %3lld  %3lld    %3lld", percent(x->matched, x->gold),
                  percent(x->matched, x->test), (long long)x->matched, (long long)x->gold,
                  (long long)x->test, (long long)x->crossing);
    tf_buf_printf(out, "   %4lld  %4lld   %6.2f\n", (long long)x->words, (long long)x->tags,
                  percent(x->tags, x->words));
}

static void summary(struct tf_evalb_run *r, bool exact)
{
    struct tf_buf *out = &r->out;
    const struct tf_evalb_totals *t = &r->all;
    tf_buf_str(out,
               "============================================================================\n");
    if (t->gold > 0 && t->test > 0)
        tf_buf_printf(out, "                %6.2f %6.2f %6lld %5lld %5lld  %5lld",
                      percent(t->matched, t->gold), percent(t->matched, t->test),
                      (long long)t->matched, (long long)t->gold, (long long)t->test,
                      (long long)t->crossing);
    tf_buf_printf(out, "  %5lld %5lld   %6.2f\n=== Summary ===\n\n-- All --\n", (long long)t->words,
                  (long long)t->tags, percent(t->tags, t->words));
    block(out, t);
    tf_buf_printf(out, "\n-- len<=%lld --\n", (long long)r->p->cutoff);
    block(out, &r->cut);
    if (exact)
        return;
    struct tf_evalb_totals all = with_failures(r);
    struct figures f = figures(&all);
    tf_buf_str(out, "\n-- All, failures as misses --\n");
    tf_buf_printf(out, "Sentences                 = %6lld\n", (long long)all.sentences);
    tf_buf_printf(out, "Not scored                = %6lld\n",
                  (long long)(r->all.errors + r->all.skipped) + (long long)r->no_partner);
    line(out, "Recall with failures", f.recall);
    line(out, "Precision with failures", f.precision);
    line(out, "F1 with failures", f.f);
}

/* ---- JSON ---- */

static void json_row(struct tf_json *j, const struct tf_evalb_row *x)
{
    static const char *const words[] = {"ok", "error", "skipped"};
    tf_json_open(j, '{');
    tf_json_put_uint(j, "line", x->line);
    tf_json_put_str(j, "status", words[x->status]);
    const struct {
        const char *key;
        int64_t value;
    } fields[] = {{"length", x->length},    {"matched", x->matched},   {"gold", x->gold},
                  {"test", x->test},        {"crossing", x->crossing}, {"words", x->words},
                  {"correct_tags", x->tags}};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        tf_json_put_int(j, fields[i].key, fields[i].value);
    }
    tf_json_close(j, '}');
}

static void json_prf(struct tf_json *j, const struct tf_evalb_totals *t, const struct figures *f)
{
    const struct {
        const char *key;
        int64_t value;
    } counts[] = {{"matched", t->matched}, {"gold", t->gold}, {"test", t->test}};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        tf_json_put_int(j, counts[i].key, counts[i].value);
    }
    tf_json_put_real(j, "recall", f->recall);
    tf_json_put_real(j, "precision", f->precision);
    tf_json_put_real(j, "f1", f->f);
}

static void json_block(struct tf_json *j, const char *name, const struct tf_evalb_totals *t,
                       int64_t cutoff)
{
    struct figures f = figures(t);
    tf_json_key(j, name);
    tf_json_open(j, '{');
    if (cutoff >= 0) {
        tf_json_put_int(j, "length", cutoff);
    }
    const struct {
        const char *key;
        int64_t value;
    } counts[] = {{"sentences", t->sentences}, {"errors", t->errors}, {"skipped", t->skipped},
                  {"valid", f.valid},          {"words", t->words},   {"correct_tags", t->tags},
                  {"crossing", t->crossing}};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        tf_json_put_int(j, counts[i].key, counts[i].value);
    }
    json_prf(j, t, &f);
    const struct {
        const char *key;
        double value;
    } shares[] = {{"complete_match", f.complete},
                  {"average_crossing", f.crossing},
                  {"no_crossing", f.no_crossing},
                  {"two_or_less_crossing", f.two_crossing},
                  {"tagging_accuracy", f.tags}};
    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++) {
        tf_json_put_real(j, shares[i].key, shares[i].value);
    }
    tf_json_close(j, '}');
}

static void json_end(struct tf_json *j, const struct tf_evalb_run *r)
{
    tf_json_close(j, ']');
    json_block(j, "all", &r->all, -1);
    json_block(j, "cutoff", &r->cut, r->p->cutoff < 0 ? 0 : r->p->cutoff);
    struct tf_evalb_totals all = with_failures(r);
    struct figures f = figures(&all);
    tf_json_key(j, "failures_as_misses");
    tf_json_open(j, '{');
    tf_json_put_int(j, "sentences", all.sentences);
    tf_json_put_int(j, "not_scored", r->all.errors + r->all.skipped + (int64_t)r->no_partner);
    json_prf(j, &all, &f);
    tf_json_close(j, '}');
    tf_json_close(j, '}');
    tf_buf_byte(j->out, '\n');
}

/* ---- the run ---- */

static int next_line(struct tf_in *in, size_t max, struct tf_text *text, struct tf_err *err)
{
    int rc = tf_in_line(in, &text->p, &text->n, max, err);
    return rc == 2 ? tf_fail(err, "%s: line of %zu bytes, maximum %zu", in->name, text->n, max)
                   : rc;
}

static void sentence(struct tf_evalb_run *r, struct tf_text gold, struct tf_text test,
                     struct tf_evalb_row *row)
{
    r->status = TF_EVALB_FINE;
    tf_evalb_parse(r, &r->gold, gold);
    tf_evalb_parse(r, &r->test, test);
    int64_t kept_gold = 0, kept_test = 0;
    if (!r->stop) { /* before the comparison, which cuts labels and changes words */
        kept_gold = tf_evalb_kept(r->p, &r->gold);
        kept_test = tf_evalb_kept(r->p, &r->test);
        tf_evalb_compare(r, row);
        row->line = r->line;
    }
    if (r->stop)
        return;
    if (row->status == TF_EVALB_ERROR && !r->first_bad)
        r->first_bad = r->line;
    if (row->status != TF_EVALB_FINE) {
        r->missed_gold += kept_gold;
        r->missed_test += kept_test;
    }
    add(&r->all, row);
    if (row->length <= r->p->cutoff)
        add(&r->cut, row);
}

/* Gold lines behind the end of test: EVALB counts them nowhere, the second figure does. */
static int count_rest(struct tf_evalb_run *r, struct tf_in *gold, struct tf_text text, size_t max,
                      struct tf_err *err)
{
    int rc;
    r->quiet = true;
    r->aloud = false;
    do {
        tf_evalb_parse(r, &r->gold, text);
        r->missed_gold += tf_evalb_kept(r->p, &r->gold);
        r->no_partner++;
    } while ((rc = next_line(gold, max, &text, err)) > 0);
    return rc;
}

static int flush(struct tf_evalb_run *r, struct tf_out *out, struct tf_err *err)
{
    int rc = tf_out_write(out, r->out.p, r->out.len, err);
    tf_buf_clear(&r->out);
    return rc;
}

static int compare_files(const struct tf_evalb_opts *o, struct tf_evalb_run *r, struct tf_json *j,
                         struct tf_in *gold, struct tf_in *test, struct tf_out *out,
                         struct tf_err *err)
{
    struct tf_text a, b;
    int more_gold, more_test = 0;
    while ((more_gold = next_line(gold, o->max_line, &a, err)) > 0) {
        r->line++;
        if ((more_test = next_line(test, o->max_line, &b, err)) < 0)
            return -1;
        if (more_test == 0) {
            count_error(r);
            break;
        }
        struct tf_evalb_row row;
        sentence(r, a, b, &row);
        if (r->stop || (o->bad == TF_ON_BAD_FAIL && r->first_bad))
            return 0;
        if (o->json)
            json_row(j, &row);
        else
            text_row(&r->out, &row);
        if (r->p->debug > 0)
            tf_evalb_tables(r);
        if (!o->json && r->out.len >= FLUSH && flush(r, out, err) < 0)
            return -1;
    }
    if (more_gold < 0)
        return -1;
    if (more_gold > 0)
        return count_rest(r, gold, a, o->max_line, err);
    if ((more_test = next_line(test, o->max_line, &b, err)) < 0)
        return -1;
    if (more_test > 0) {
        r->extra_test = true;
        count_error(r);
    }
    return 0;
}

/* What the exit status says of a run that came to its end. */
static void verdict(const struct tf_evalb_opts *o, const struct tf_evalb_run *r,
                    const struct tf_in *gold, const struct tf_in *test, struct tf_err *err)
{
    if (r->no_partner)
        tf_fail(err, "%s has %llu lines more than %s", gold->name,
                (unsigned long long)r->no_partner, test->name);
    else if (r->extra_test)
        tf_fail(err, "%s has more lines than %s, which has %llu", test->name, gold->name,
                (unsigned long long)r->line);
    else if (r->all.errors > 0 && o->bad == TF_ON_BAD_MARK)
        tf_fail_status(err, TF_PARTIAL, "%lld of %lld sentences in error, the first is line %llu",
                       (long long)r->all.errors, (long long)r->all.sentences,
                       (unsigned long long)r->first_bad);
}

int tf_evalb(const struct tf_evalb_opts *o, struct tf_in *gold, struct tf_in *test,
             struct tf_out *out, struct tf_err *err)
{
    struct tf_evalb_run r = {.p = &o->params, .aloud = o->params.debug > 1};
    struct tf_json j = {.out = &r.out};
    if (o->json) {
        tf_json_open(&j, '{');
        tf_json_key(&j, "rows");
        tf_json_open(&j, '[');
    } else {
        head(&r.out);
    }
    int rc = compare_files(o, &r, &j, gold, test, out, err);
    bool ended = r.stop || (o->bad == TF_ON_BAD_FAIL && r.first_bad);
    if (rc == 0 && !ended && o->json)
        json_end(&j, &r);
    else if (rc == 0 && !ended)
        summary(&r, o->exact);
    else if (o->json)
        tf_buf_clear(&r.out);
    struct tf_err later = {0};
    if (flush(&r, out, rc == 0 ? err : &later) < 0)
        rc = -1;
    if (rc == 0 && r.stop)
        rc =
            tf_fail(err, "line %llu: error number %lld, and MAX_ERROR is %lld: stopped, no summary",
                    (unsigned long long)r.line, (long long)r.error_count,
                    (long long)r.p->max_error);
    else if (rc == 0 && ended)
        rc = tf_fail(err, "stopped at line %llu", (unsigned long long)r.line);
    else if (rc == 0)
        verdict(o, &r, gold, test, err);
    tf_evalb_sentence_release(&r.gold);
    tf_evalb_sentence_release(&r.test);
    tf_buf_release(&r.out);
    return rc;
}
