/* evaluate.c - from rows of segments to a tally, and from a tally to a report. */
#include "metrics/evaluate.h"
#include "base/log.h"
#include "metrics/resample.h"
#include "metrics/stats.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- the report ---- */

static bool is_paired(const struct tf_eval_opts *o)
{
    return o->test == TF_TEST_BOOTSTRAP || o->test == TF_TEST_RANDOMIZE;
}

/* As many samples as sacreBLEU takes when it is asked for none. */
static int64_t samples_of(const struct tf_eval_opts *o)
{
    if (o->samples > 0 || o->test == TF_TEST_CONFIDENCE)
        return o->samples;
    return o->test == TF_TEST_BOOTSTRAP ? 1000 : 10000;
}

/* sacreBLEU's seed as it prints it. A paired test prints the number, an interval the words of the
 * environment. */
static const char *seed_shown(const struct tf_eval_opts *o)
{
    const char *s = o->seed ? o->seed : "12345";
    if (is_paired(o))
        while (s[0] == '0' && s[1])
            s++;
    return s;
}

/* 0 counts as none in paired tests. */
static const char *seed_used(const struct tf_eval_opts *o)
{
    const char *s = seed_shown(o);
    return !strcmp(s, "none") || (is_paired(o) && !strcmp(s, "0")) ? NULL : s;
}

static int run_test(struct tf_resample *tests, const struct tf_eval_opts *o,
                    const struct tf_tally *t, struct tf_err *err)
{
    size_t n = (size_t)samples_of(o);
    if (o->test == TF_TEST_RANDOMIZE)
        return tf_randomize(tests, t, n, seed_used(o), err);
    return tf_bootstrap(tests, t, n, seed_used(o), o->test == TF_TEST_CONFIDENCE, err);
}

static int by_kind(const void *a, const void *b)
{
    const struct tf_metric *const *x = a, *const *y = b;
    return (int)(*x)->kind - (int)(*y)->kind;
}

/* The metrics in the order of the report: the user's in a paired test, else that of their names. */
static void order(size_t *at, const struct tf_tally *t, bool users)
{
    const struct tf_metric *m[TF_METRICS];
    for (size_t i = 0; i < t->nmetrics; i++)
        m[i] = &t->metrics[i];
    if (!users)
        qsort(m, t->nmetrics, sizeof m[0], by_kind);
    for (size_t i = 0; i < t->nmetrics; i++)
        at[i] = (size_t)(m[i] - t->metrics);
}

static void report(struct tf_buf *text, const struct tf_eval_opts *o, const struct tf_tally *t,
                   const struct tf_resample *tests, struct tf_result *results)
{
    struct tf_signature signature[TF_METRICS];
    struct tf_resampled how = {0};
    size_t at[TF_METRICS], n = t->nsystems;
    const char **names = tf_xarray(NULL, n, sizeof *names);
    if (tests) {
        how.seed = seed_shown(o);
        *(o->test == TF_TEST_RANDOMIZE ? &how.randomized : &how.bootstrap) = samples_of(o);
    }
    order(at, t, is_paired(o));
    for (size_t m = 0; m < t->nmetrics; m++)
        tf_metric_signature(&t->metrics[at[m]], &signature[m], tests ? &how : NULL);
    for (size_t i = 0; i < n * t->nmetrics; i++) {
        size_t m = i % t->nmetrics, cell = i - m + at[m];
        tf_metric_result(&t->metrics[at[m]], t->sums[cell], &signature[m], &results[i]);
        if (o->test == TF_TEST_CONFIDENCE && tests) {
            results[i].mean = tests[cell].mean;
            results[i].ci = tests[cell].ci;
        }
    }
    for (size_t i = 0; i < n; i++)
        names[i] = t->names[i];
    struct tf_systems s = {names,     results,     is_paired(o) ? tests : NULL,
                           n,         t->nmetrics, o->test == TF_TEST_BOOTSTRAP,
                           o->samples};
    if (n == 1)
        tf_report_single(text, results, t->nmetrics, &o->report);
    else
        tf_report_systems(text, &s, &o->report);
    free(names);
}

static int put_report(struct tf_out *out, const struct tf_eval_opts *o, const struct tf_tally *t,
                      struct tf_err *err)
{
    size_t cells = t->nsystems * t->nmetrics;
    struct tf_resample *tests = tf_xcalloc(cells, sizeof *tests);
    struct tf_result *results = tf_xcalloc(cells, sizeof *results);
    struct tf_buf text = {0};
    bool tested = is_paired(o) || (o->test == TF_TEST_CONFIDENCE && o->samples > 1);
    int rc = tested ? run_test(tests, o, t, err) : 0;
    if (!rc) {
        report(&text, o, t, tested ? tests : NULL, results);
        rc = tf_out_write(out, text.p, text.len, err);
    }
    tf_buf_release(&text);
    free(tests);
    free(results);
    return rc;
}

/* ---- reading ---- */

int tf_eval_check(const struct tf_eval_opts *o, struct tf_err *err)
{
    const struct tf_chrf_opts *c = &o->metric.chrf;
    if (o->sentence && o->nkinds > 1)
        return tf_fail_status(err, TF_USAGE, "--sentence-level takes one metric, not %zu",
                              o->nkinds);
    for (size_t i = 0; i < o->nkinds; i++)
        if (o->kinds[i] == TF_CHRF && c->chars == 0 && c->words == 0)
            return tf_fail_status(
                err, TF_USAGE,
                "chrF takes some order: --chrf-char-order and --chrf-word-order are both 0");
    if (o->sentence && o->test != TF_TEST_NONE)
        return tf_fail_status(err, TF_USAGE, "--sentence-level has no tests of significance");
    return 0;
}

void tf_eval_environment(struct tf_eval_opts *o)
{
    const char *seed = getenv("SACREBLEU_SEED"), *format = getenv("SACREBLEU_FORMAT");
    o->seed = seed && !strcasecmp(seed, "none") ? "none" : seed;
    for (int i = 0; format && tf_report_formats[i]; i++)
        if (!strcasecmp(format, tf_report_formats[i]))
            o->report.format = (enum tf_report_format)i;
}

struct evaluation {
    const struct tf_eval_opts *o;
    struct tf_segment_rows rows;
    struct tf_tally tally;
    struct tf_signature signature; /* of each sentence */
    struct tf_buf text;
    uint64_t *tokenized; /* of each system: hypotheses that look so */
    uint32_t *counts;    /* of one segment, metric by metric */
    size_t width;
    struct tf_writer writer; /* of statistics */
    bool begun;
};

static void measure(struct evaluation *e)
{
    for (size_t m = 0; m < e->tally.nmetrics; m++)
        e->width += e->tally.metrics[m].width;
    e->counts = tf_xcalloc(e->width + 1, sizeof *e->counts);
}

static int begin(struct evaluation *e, size_t n, const char *const *given, struct tf_out *out,
                 struct tf_err *err)
{
    bool paired = is_paired(e->o);
    if ((e->o->sentence || e->o->stats) && n > 1)
        return tf_fail(err, "stdin: %zu systems between tabs, only one can be scored by sentence",
                       n);
    if (paired && n < 2)
        return tf_fail(err, "a paired test takes two systems or more");
    if (e->o->test == TF_TEST_CONFIDENCE && n > 1)
        return tf_fail(err,
                       "an interval of confidence takes one system, not %zu; use a paired test", n);
    tf_tally_systems(&e->tally, n);
    e->tokenized = tf_xcalloc(n, sizeof *e->tokenized);
    for (size_t i = 0; i < n; i++) {
        struct tf_buf b = {0};
        if (given)
            tf_buf_printf(&b, "%s%s", paired && !i ? "Baseline: " : "", given[i]);
        else if (paired && !i)
            tf_buf_str(&b, "Baseline");
        else
            tf_buf_printf(&b, "System %zu", i + !paired);
        e->tally.names[i] = b.p;
    }
    if (e->o->stats &&
        tf_stats_begin(&e->writer, out, e->tally.metrics, e->tally.nmetrics, e->o->table, err) < 0)
        return -1;
    e->begun = e->o->stats;
    return 0;
}

/* One sentence's score as a line of its own; written now and then. */
static int sentence(struct evaluation *e, const uint32_t *counts, struct tf_out *out,
                    struct tf_err *err)
{
    enum { ENOUGH = 1 << 20 };
    const struct tf_metric *m = &e->tally.metrics[0];
    double values[6 * TF_CHRF_MAX];
    struct tf_result r;
    if (!e->signature.n)
        tf_metric_signature(m, &e->signature, NULL);
    for (size_t i = 0; i < m->width; i++)
        values[i] = tf_metric_value(m, i, counts[i]);
    tf_metric_result(m, values, &e->signature, &r);
    tf_report_line(&e->text, &r, &e->o->report);
    if (e->text.len >= ENOUGH) {
        if (tf_out_write(out, e->text.p, e->text.len, err) < 0)
            return -1;
        tf_buf_clear(&e->text);
    }
    return 0;
}

/* Add up the counts of one system's segment. */
static int add(struct evaluation *e, size_t system, const uint32_t *counts, struct tf_out *out,
               struct tf_err *err)
{
    struct tf_tally *t = &e->tally;
    if (e->o->stats)
        return tf_writer_stats(&e->writer, t->nlines, counts, e->width, err);
    for (size_t m = 0; m < t->nmetrics; counts += t->metrics[m++].width) {
        tf_tally_add(t, system, m, counts);
        if (e->o->sentence && sentence(e, counts, out, err) < 0)
            return -1;
    }
    return 0;
}

static int segment(struct evaluation *e, struct tf_out *out, struct tf_err *err)
{
    struct tf_tally *t = &e->tally;
    tf_tally_grow(t);
    for (size_t s = 0; s < t->nsystems; s++) {
        struct tf_text hyp = e->rows.sys[s];
        uint32_t *counts = e->counts;
        e->tokenized[s] += hyp.n >= 2 && !memcmp(hyp.p + hyp.n - 2, " .", 2);
        for (size_t m = 0; m < t->nmetrics; counts += t->metrics[m++].width)
            if (tf_metric_segment(&t->metrics[m], counts, hyp, e->rows.ref, err) < 0)
                return tf_context(err, "line %ju", (uintmax_t)e->rows.n);
        if (add(e, s, e->counts, out, err) < 0)
            return -1;
    }
    t->nlines++;
    return 0;
}

/* sacreBLEU's hint that a system's output is still tokenized. */
static void warn_tokenized(const struct evaluation *e)
{
    for (size_t m = 0; m < e->tally.nmetrics; m++)
        for (size_t s = 0; s < e->tally.nsystems && e->tally.metrics[m].kind == TF_BLEU; s++)
            if (e->tokenized[s] >= 100)
                tf_warn("%s: %ju lines end in ' .'; output that is still tokenized scores wrong "
                        "(--force if it is not)",
                        e->tally.names[s], (uintmax_t)e->tokenized[s]);
}

static int read_rows(struct evaluation *e, struct tf_out *out, struct tf_err *err)
{
    int rc;
    while ((rc = tf_segment_rows_next(&e->rows, err)) > 0) {
        if (!e->tally.nsystems &&
            begin(e, e->rows.nsys, e->rows.in->nsystems ? e->rows.in->systems : NULL, out, err) < 0)
            return -1;
        if (segment(e, out, err) < 0)
            return -1;
    }
    return rc;
}

/* After the last segment: what is still to be written. */
static int finish(struct evaluation *e, struct tf_out *out, int rc, struct tf_err *err)
{
    if (e->begun && rc)
        tf_writer_fail(&e->writer, err);
    if (rc)
        return rc;
    if (e->begun)
        return tf_writer_end(&e->writer, err);
    if (e->o->sentence)
        return tf_out_write(out, e->text.p, e->text.len, err);
    return put_report(out, e->o, &e->tally, err);
}

static void release(struct evaluation *e)
{
    if (e->begun)
        tf_writer_release(&e->writer);
    tf_tally_release(&e->tally);
    tf_buf_release(&e->text);
    free(e->tokenized);
    free(e->counts);
}

int tf_evaluate(struct tf_out *out, const struct tf_eval_opts *o, const struct tf_inputs *in,
                struct tf_err *err)
{
    struct evaluation e = {.o = o};
    struct tf_metric_opts metric = o->metric;
    metric.bleu.effective_order |= o->sentence;
    int rc = tf_segment_rows_open(&e.rows, in, err);
    e.tally.nmetrics = o->nkinds;
    e.tally.keep = o->test != TF_TEST_NONE;
    for (size_t m = 0; m < o->nkinds; m++)
        tf_metric_init(&e.tally.metrics[m], o->kinds[m], &metric, e.rows.nrefs);
    measure(&e);
    if (!rc)
        rc = read_rows(&e, out, err);
    if (!rc && !o->force && !o->sentence)
        warn_tokenized(&e);
    rc = finish(&e, out, rc, err);
    release(&e);
    tf_segment_rows_close(&e.rows);
    return rc;
}

int tf_evaluate_stats(struct tf_out *out, const struct tf_eval_opts *o, const char *const *names,
                      size_t n, struct tf_err *err)
{
    static const char *const standard[] = {"-"};
    struct evaluation e = {.o = o};
    struct tf_stats stats;
    if (!n) {
        names = standard;
        n = 1;
    }
    int rc = tf_stats_open(&stats, names, n, e.tally.metrics, err);
    if (rc > 0) {
        e.tally.nmetrics = (size_t)rc;
        e.tally.keep = o->test != TF_TEST_NONE;
        measure(&e);
        rc = o->sentence && e.tally.nmetrics > 1
                 ? tf_fail(err, "%s: %zu metrics, only one can be scored by sentence", names[0],
                           e.tally.nmetrics)
                 : begin(&e, n, names, out, err);
        if (!rc && o->sentence && e.tally.metrics[0].kind == TF_BLEU)
            e.tally.metrics[0].u.bleu.opts.effective_order = true;
    }
    while (!rc && (rc = tf_stats_next(&stats, e.width, err)) > 0) {
        tf_tally_grow(&e.tally);
        rc = 0;
        for (size_t s = 0; s < n && !rc; s++)
            rc = add(&e, s, stats.rec[s].ids, out, err);
        e.tally.nlines++;
    }
    rc = finish(&e, out, rc, err);
    release(&e);
    tf_stats_close(&stats);
    return rc;
}
