/* evalb_report.c - see evalb_report_private.h. */
#include "tree/evalb_report_private.h"
#include <math.h>

static double percent(int64_t part, int64_t whole)
{
    return whole > 0 ? 100.0 * (double)part / (double)whole : 0.0;
}

void tf_evalb_add(struct tf_evalb_totals *t, const struct tf_evalb_row *row)
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

/* The scores of a block, in percent except for crossing. */
struct scores {
    int64_t valid;
    double recall, precision, f, complete, crossing, no_crossing, two_crossing, tags;
};

static struct scores scores_of(const struct tf_evalb_totals *t)
{
    struct scores f = {.valid = t->sentences - t->errors - t->skipped};
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

/* The totals of all sentences, where those that were not scored have no correct bracket. */
static struct tf_evalb_totals with_failures(const struct tf_evalb_summary *s)
{
    struct tf_evalb_totals t = {.gold = s->all.gold + s->missed_gold,
                                .test = s->all.test + s->missed_test,
                                .matched = s->all.matched};
    t.sentences = s->all.sentences + (int64_t)s->no_partner;
    t.complete = s->all.complete;
    return t;
}

/* EVALB has no F1 without a match; in the block that is ours it is 0. */
static struct scores failure_scores(const struct tf_evalb_totals *t)
{
    struct scores f = scores_of(t);
    if (isnan(f.f))
        f.f = 0;
    return f;
}

/* ---- text ---- */

/* NaN prints without a sign, which 0/0 has on some machines. */
static void line(struct tf_buf *out, const char *name, double x)
{
    if (isnan(x))
        tf_buf_printf(out, "%-25s =    nan\n", name);
    else
        tf_buf_printf(out, "%-25s = %6.2f\n", name, x);
}

static void put_block(struct tf_buf *out, const struct tf_evalb_totals *t)
{
    struct scores f = scores_of(t);
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

void tf_evalb_text_header(struct tf_buf *out)
{
    tf_buf_str(out,
               "  Sent.                        Matched  Bracket   Cross        Correct Tag\n"
               " ID  Len.  Stat. Recal  Prec.  Bracket gold test Bracket Words  Tags Accracy\n"
               "============================================================================\n");
}

void tf_evalb_text_row(struct tf_buf *out, const struct tf_evalb_row *x)
{
    tf_buf_printf(out, "%4llu  %3lld    %d  ", (unsigned long long)x->line, (long long)x->length,
                  x->status);
    tf_buf_printf(out, "%6.2f %6.2f   %3lld    %3lld  %3lld    %3lld", percent(x->matched, x->gold),
                  percent(x->matched, x->test), (long long)x->matched, (long long)x->gold,
                  (long long)x->test, (long long)x->crossing);
    tf_buf_printf(out, "   %4lld  %4lld   %6.2f\n", (long long)x->words, (long long)x->tags,
                  percent(x->tags, x->words));
}

void tf_evalb_text_summary(struct tf_buf *out, const struct tf_evalb_summary *s, bool exact)
{
    const struct tf_evalb_totals *t = &s->all;
    tf_buf_str(out,
               "============================================================================\n");
    if (t->gold > 0 && t->test > 0)
        tf_buf_printf(out, "                %6.2f %6.2f %6lld %5lld %5lld  %5lld",
                      percent(t->matched, t->gold), percent(t->matched, t->test),
                      (long long)t->matched, (long long)t->gold, (long long)t->test,
                      (long long)t->crossing);
    tf_buf_printf(out, "  %5lld %5lld   %6.2f\n=== Summary ===\n\n-- All --\n", (long long)t->words,
                  (long long)t->tags, percent(t->tags, t->words));
    put_block(out, t);
    tf_buf_printf(out, "\n-- len<=%lld --\n", (long long)s->cutoff);
    put_block(out, &s->cut);
    if (exact)
        return;
    struct tf_evalb_totals all = with_failures(s);
    struct scores f = failure_scores(&all);
    tf_buf_str(out, "\n-- All, failures as misses --\n");
    tf_buf_printf(out, "Sentences                 = %6lld\n", (long long)all.sentences);
    tf_buf_printf(out, "Not scored                = %6lld\n",
                  (long long)(s->all.errors + s->all.skipped) + (long long)s->no_partner);
    line(out, "Recall with failures", f.recall);
    line(out, "Precision with failures", f.precision);
    line(out, "F1 with failures", f.f);
}

/* ---- JSON ---- */

struct field {
    const char *key;
    int64_t value;
};

static void put_fields(struct tf_json *j, const struct field *fields, size_t n)
{
    for (size_t i = 0; i < n; i++)
        tf_json_put_int(j, fields[i].key, fields[i].value);
}

void tf_evalb_json_begin(struct tf_json *j)
{
    tf_json_open(j, '{');
    tf_json_put_open(j, "rows", '[');
}

void tf_evalb_json_row(struct tf_json *j, const struct tf_evalb_row *x)
{
    static const char *const words[] = {"ok", "error", "skipped"};
    tf_json_open(j, '{');
    tf_json_put_uint(j, "line", x->line);
    tf_json_put_str(j, "status", words[x->status]);
    const struct field fields[] = {{"length", x->length},     {"matched", x->matched},
                                   {"gold", x->gold},         {"test", x->test},
                                   {"crossing", x->crossing}, {"words", x->words},
                                   {"correct_tags", x->tags}};
    put_fields(j, fields, sizeof fields / sizeof *fields);
    tf_json_close(j, '}');
}

static void json_prf(struct tf_json *j, const struct tf_evalb_totals *t, const struct scores *f)
{
    const struct field counts[] = {{"matched", t->matched}, {"gold", t->gold}, {"test", t->test}};
    put_fields(j, counts, sizeof counts / sizeof *counts);
    tf_json_put_real(j, "recall", f->recall);
    tf_json_put_real(j, "precision", f->precision);
    tf_json_put_real(j, "f1", f->f);
}

static void json_block(struct tf_json *j, const char *name, const struct tf_evalb_totals *t,
                       const int64_t *cutoff)
{
    struct scores f = scores_of(t);
    tf_json_put_open(j, name, '{');
    if (cutoff != NULL)
        tf_json_put_int(j, "length", *cutoff);
    const struct field counts[] = {{"sentences", t->sentences}, {"errors", t->errors},
                                   {"skipped", t->skipped},     {"valid", f.valid},
                                   {"words", t->words},         {"correct_tags", t->tags},
                                   {"crossing", t->crossing}};
    put_fields(j, counts, sizeof counts / sizeof *counts);
    json_prf(j, t, &f);
    const struct {
        const char *key;
        double value;
    } shares[] = {{"complete_match", f.complete},
                  {"average_crossing", f.crossing},
                  {"no_crossing", f.no_crossing},
                  {"two_or_less_crossing", f.two_crossing},
                  {"tagging_accuracy", f.tags}};
    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++)
        tf_json_put_real(j, shares[i].key, shares[i].value);
    tf_json_close(j, '}');
}

void tf_evalb_json_end(struct tf_json *j, const struct tf_evalb_summary *s)
{
    tf_json_close(j, ']');
    json_block(j, "all", &s->all, NULL);
    json_block(j, "cutoff", &s->cut, &s->cutoff);
    struct tf_evalb_totals all = with_failures(s);
    struct scores f = failure_scores(&all);
    tf_json_put_open(j, "failures_as_misses", '{');
    tf_json_put_int(j, "sentences", all.sentences);
    tf_json_put_int(j, "not_scored", s->all.errors + s->all.skipped + (int64_t)s->no_partner);
    json_prf(j, &all, &f);
    tf_json_close(j, '}');
    tf_json_close(j, '}');
    tf_buf_byte(j->out, '\n');
}
