/* sacrebleu_report.c - from a tally to results and their report. */
#include "metrics/sacrebleu_report_private.h"
#include "base/memory.h"
#include <stdio.h>
#include <stdlib.h>

const char *const tf_report_formats[] = {"json", "text", "latex", NULL};

void tf_result_of(struct tf_result *r, const struct tf_metric *m, const double *sums,
                  const struct tf_signature *s)
{
    *r = (struct tf_result){.name = m->name, .signature = s, .score = tf_metric_score(m, sums)};
    if (m->kind != TF_BLEU)
        return;
    struct tf_bleu_score b = tf_bleu_score(sums, &m->u.bleu.opts);
    const double *p = b.precision;
    snprintf(r->verbose, sizeof r->verbose,
             "%.1f/%.1f/%.1f/%.1f (BP = %.3f ratio = %.3f hyp_len = %ju ref_len = %ju)", p[0], p[1],
             p[2], p[3], b.bp, b.ratio, (uintmax_t)b.hyp, (uintmax_t)b.ref);
}

static int by_kind(const void *a, const void *b)
{
    const struct tf_metric *const *x = a, *const *y = b;
    return (int)(*x)->kind - (int)(*y)->kind;
}

/* The indices of the metrics in the order of the report: the user's order in a paired test, else
 * that of their kinds. */
static void order(size_t *index, const struct tf_tally *t, bool users)
{
    const struct tf_metric *m[TF_METRICS];
    for (size_t i = 0; i < t->nmetrics; i++)
        m[i] = &t->metrics[i];
    if (!users)
        qsort(m, t->nmetrics, sizeof m[0], by_kind);
    for (size_t i = 0; i < t->nmetrics; i++)
        index[i] = (size_t)(m[i] - t->metrics);
}

/* tests: results of the resampling, or NULL. */
static void report(struct tf_buf *text, const struct tf_tally *t,
                   const struct tf_sacrebleu_resampling *r, const struct tf_resample *tests,
                   const struct tf_report_opts *o)
{
    bool paired = tf_sacrebleu_paired(r);
    struct tf_signature signature[TF_METRICS];
    size_t index[TF_METRICS], n = t->nsystems;
    struct tf_result *results = tf_xcalloc(n * t->nmetrics, sizeof *results);
    order(index, t, paired);
    for (size_t m = 0; m < t->nmetrics; m++)
        tf_signature_of(&signature[m], &t->metrics[index[m]], tests != NULL ? r : NULL);
    for (size_t i = 0; i < n * t->nmetrics; i++) {
        size_t m = i % t->nmetrics, cell = i - m + index[m];
        tf_result_of(&results[i], &t->metrics[index[m]], t->sums[cell], &signature[m]);
        if (tests != NULL && !paired) {
            results[i].mean = tests[cell].mean;
            results[i].ci = tests[cell].ci;
        }
    }
    const struct tf_systems s = {.names = (const char *const *)t->names,
                                 .results = results,
                                 .tests = paired ? tests : NULL,
                                 .n = n,
                                 .nmetrics = t->nmetrics,
                                 .bootstrap = r->test == TF_TEST_BOOTSTRAP,
                                 .trials = r->samples};
    if (n == 1)
        tf_report_one(text, results, t->nmetrics, o);
    else
        tf_report_many(text, &s, o);
    free(results);
}

int tf_sacrebleu_report(struct tf_out *out, const struct tf_tally *t,
                        const struct tf_sacrebleu_resampling *r, const struct tf_report_opts *o,
                        struct tf_err *err)
{
    bool tested = tf_sacrebleu_paired(r) || (r->test == TF_TEST_CONFIDENCE && r->samples > 1);
    struct tf_resample *tests = tf_xcalloc(t->nsystems * t->nmetrics, sizeof *tests);
    struct tf_buf text = {0};
    int rc = tested ? tf_sacrebleu_resample(tests, t, r, err) : 0;
    if (!rc) {
        report(&text, t, r, tested ? tests : NULL, o);
        rc = tf_out_write(out, text.p, text.len, err);
    }
    tf_buf_release(&text);
    free(tests);
    return rc;
}
