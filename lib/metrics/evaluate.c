/* evaluate.c - from segments or streams of counts to a tally, and from the tally to a report. */
#include "metrics/evaluate.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/path.h"
#include "metrics/spm.h"
#include "metrics/stats_private.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>

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
                "chrF needs an order: --chrf-char-order and --chrf-word-order are both 0");
    if (o->sentence && o->resampling.test != TF_TEST_NONE)
        return tf_fail_status(err, TF_USAGE, "--sentence-level has no significance tests");
    return 0;
}

int tf_eval_check_files(const struct tf_segment_files *in, enum tf_eval_mode mode,
                        const char *single, const char *spm_model, struct tf_err *err)
{
    const bool text = mode == TF_EVAL_SCORE || mode == TF_EVAL_STATS;
    if (in->nrefs == 0 && text)
        return tf_fail_status(err, TF_USAGE, "no reference file%s",
                              in->nsystems > 0 ? "; give references before -i" : "");
    if (in->nrefs > 0 && mode == TF_EVAL_PRINT)
        return tf_fail_status(err, TF_USAGE,
                              "%s: --print-tokens takes no references; give hypotheses with -i",
                              in->refs[0]);
    if (in->nrefs > 0 && in->nsystems > 0 && mode == TF_EVAL_FROM_STATS)
        return tf_fail_status(err, TF_USAGE,
                              "%s: --from-stats takes its streams as operands or with -i, not both",
                              in->refs[0]);
    if (in->num_refs > 1 && in->nrefs > 1)
        return tf_fail_status(err, TF_USAGE, "--num-refs %d takes one reference file, not %zu",
                              (int)in->num_refs, in->nrefs);
    const size_t systems = in->nsystems + (mode == TF_EVAL_FROM_STATS ? in->nrefs : 0);
    if (single != NULL && systems > 1 && mode != TF_EVAL_PRINT)
        return tf_fail_status(err, TF_USAGE, "--%s takes one system, not %zu", single, systems);
    /* The hypotheses come from stdin if no file is given. */
    if (in->nsystems == 0 && mode != TF_EVAL_FROM_STATS &&
        tf_count_std(in->refs, in->nrefs) + tf_count_std(&spm_model, 1) > 0)
        return tf_fail_status(err, TF_USAGE, "only one file can be stdin");
    return 0;
}

int tf_eval_environment(struct tf_eval_opts *o, struct tf_err *err)
{
    const char *seed = getenv("SACREBLEU_SEED"), *format = getenv("SACREBLEU_FORMAT");
    o->resampling.seed = seed != NULL && strcasecmp(seed, "none") == 0 ? "none" : seed;
    if (format == NULL || *format == 0)
        return 0;
    for (int i = 0; tf_report_formats[i] != NULL; i++)
        if (strcasecmp(format, tf_report_formats[i]) == 0) {
            o->report.format = i;
            return 0;
        }
    return tf_fail_status(err, TF_USAGE, "SACREBLEU_FORMAT=%s: json, text or latex", format);
}

struct evaluation {
    const struct tf_eval_opts *o;
    struct tf_segments segments;
    struct tf_tally tally;
    struct tf_signature signature; /* of each sentence */
    struct tf_buf text;
    uint64_t *tokenized; /* per system: hypotheses that look tokenized */
    uint32_t *counts;    /* of one segment, metric by metric; width of them */
    size_t width;
    struct tf_writer writer; /* of the stream of counts, once begun */
    bool begun;
};

static void allocate_counts(struct evaluation *e)
{
    for (size_t m = 0; m < e->tally.nmetrics; m++)
        e->width += e->tally.metrics[m].width;
    e->counts = tf_xcalloc(e->width + 1, sizeof *e->counts);
}

/* The name of system i in reports. given: paths of the systems, or NULL. */
static char *system_name(size_t i, const char *const *given, bool paired)
{
    struct tf_buf b = {0};
    if (given != NULL)
        tf_buf_printf(&b, "%s%s", paired && !i ? "Baseline: " : "", given[i]);
    else if (paired && !i)
        tf_buf_str(&b, "Baseline");
    else
        tf_buf_printf(&b, "System %zu", i + !paired);
    return b.p;
}

/* Begin once the number of systems is known. */
static int begin_evaluation(struct evaluation *e, size_t n, const char *const *given,
                            struct tf_out *out, struct tf_err *err)
{
    bool paired = tf_sacrebleu_paired(&e->o->resampling);
    int status = given != NULL ? TF_USAGE : TF_FAILED; /* the columns of stdin are data */
    if ((e->o->sentence || e->o->stats) && n > 1)
        return tf_fail(err, "stdin: %zu systems between tabs, --%s takes one", n,
                       e->o->stats ? "stats" : "sentence-level");
    if (paired && n < 2)
        return tf_fail_status(err, status, "a paired test takes two systems or more");
    if (e->o->resampling.test == TF_TEST_CONFIDENCE && n > 1)
        return tf_fail_status(err, status,
                              "a confidence interval takes one system, not %zu; use a paired test",
                              n);
    tf_tally_systems(&e->tally, n);
    e->tokenized = tf_xcalloc(n, sizeof *e->tokenized);
    for (size_t i = 0; i < n; i++)
        e->tally.names[i] = system_name(i, given, paired);
    if (e->o->stats &&
        tf_stats_begin(&e->writer, out, e->tally.metrics, e->tally.nmetrics, e->o->table, err) != 0)
        return -1;
    e->begun = e->o->stats;
    return 0;
}

/* Append the line of one sentence's score; write the lines when there are enough. */
static int put_sentence(struct evaluation *e, const uint32_t *counts, struct tf_out *out,
                        struct tf_err *err)
{
    enum { ENOUGH = 1 << 20 };
    const struct tf_metric *m = &e->tally.metrics[0];
    double values[TF_METRIC_WIDTH];
    struct tf_result r;
    if (!e->signature.n)
        tf_signature_of(&e->signature, m, NULL);
    for (size_t i = 0; i < m->width; i++)
        values[i] = tf_metric_value(m, i, counts[i]);
    tf_result_of(&r, m, values, &e->signature);
    tf_result_line(&e->text, &r, &e->o->report);
    if (e->text.len >= ENOUGH) {
        if (tf_out_write(out, e->text.p, e->text.len, err) != 0)
            return -1;
        tf_buf_clear(&e->text);
    }
    return 0;
}

/* Add the counts of one segment of a system, or write them. */
static int add_counts(struct evaluation *e, size_t system, const uint32_t *counts,
                      struct tf_out *out, struct tf_err *err)
{
    struct tf_tally *t = &e->tally;
    if (e->o->stats)
        return tf_writer_stats(&e->writer, t->nlines, counts, e->width, err);
    for (size_t m = 0; m < t->nmetrics; counts += t->metrics[m++].width) {
        tf_tally_add(t, system, m, counts);
        if (e->o->sentence && put_sentence(e, counts, out, err) != 0)
            return -1;
    }
    return 0;
}

static int count_segment(struct evaluation *e, struct tf_out *out, struct tf_err *err)
{
    struct tf_tally *t = &e->tally;
    tf_tally_grow(t);
    for (size_t s = 0; s < t->nsystems; s++) {
        struct tf_text hyp = e->segments.sys[s];
        uint32_t *counts = e->counts;
        e->tokenized[s] += hyp.n >= 2 && memcmp(hyp.p + hyp.n - 2, " .", 2) == 0;
        for (size_t m = 0; m < t->nmetrics; counts += t->metrics[m++].width)
            if (tf_metric_segment(&t->metrics[m], counts, hyp, e->segments.ref, err) != 0)
                return tf_context(err, "line %ju", (uintmax_t)e->segments.n);
        if (add_counts(e, s, e->counts, out, err) != 0)
            return -1;
    }
    t->nlines++;
    return 0;
}

/* As sacreBLEU, warn when a system's output looks tokenized. */
static void warn_tokenized(const struct evaluation *e)
{
    for (size_t m = 0; m < e->tally.nmetrics; m++)
        for (size_t s = 0; s < e->tally.nsystems && e->tally.metrics[m].kind == TF_BLEU; s++)
            if (e->tokenized[s] >= 100)
                tf_warn("%s: %ju lines end in ' .': scores of tokenized output are wrong "
                        "(--force if it is not tokenized)",
                        e->tally.names[s], (uintmax_t)e->tokenized[s]);
}

static int read_segments(struct evaluation *e, struct tf_out *out, struct tf_err *err)
{
    int rc;
    while ((rc = tf_segments_next(&e->segments, err)) > 0) {
        if (!e->tally.nsystems &&
            begin_evaluation(e, e->segments.nsys,
                             e->segments.in->nsystems ? e->segments.in->systems : NULL, out,
                             err) != 0)
            return -1;
        if (count_segment(e, out, err) != 0)
            return -1;
    }
    return rc;
}

/* Write what remains to be written after the last segment. */
static int finish_evaluation(struct evaluation *e, struct tf_out *out, int rc, struct tf_err *err)
{
    if (e->begun && rc)
        tf_writer_fail(&e->writer, err);
    if (rc)
        return rc;
    for (size_t m = 0; m < e->tally.nmetrics && !e->o->quiet; m++)
        if (e->tally.metrics[m].kind == TF_BLEU)
            tf_spm_warn(e->tally.metrics[m].u.bleu.opts.tokenizer,
                        e->tally.metrics[m].u.bleu.opts.model);
    if (e->begun)
        return tf_writer_end(&e->writer, err);
    if (e->o->sentence)
        return tf_out_write(out, e->text.p, e->text.len, err);
    return tf_sacrebleu_report(out, &e->tally, &e->o->resampling, &e->o->report, err);
}

static void release_evaluation(struct evaluation *e)
{
    if (e->begun)
        tf_writer_release(&e->writer);
    tf_tally_release(&e->tally);
    tf_buf_release(&e->text);
    free(e->tokenized);
    free(e->counts);
}

int tf_evaluate(struct tf_out *out, const struct tf_eval_opts *o, const struct tf_segment_files *in,
                struct tf_err *err)
{
    struct evaluation e = {.o = o};
    struct tf_metric_opts metric = o->metric;
    metric.bleu.effective_order |= o->sentence;
    int rc = tf_segments_open(&e.segments, in, err);
    e.tally.nmetrics = o->nkinds;
    e.tally.keep = o->resampling.test != TF_TEST_NONE;
    for (size_t m = 0; m < o->nkinds; m++)
        tf_metric_init(&e.tally.metrics[m], o->kinds[m], &metric, e.segments.nrefs);
    allocate_counts(&e);
    if (!rc)
        rc = read_segments(&e, out, err);
    if (!rc && !o->force && !o->sentence)
        warn_tokenized(&e);
    rc = finish_evaluation(&e, out, rc, err);
    release_evaluation(&e);
    tf_segments_close(&e.segments);
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
        e.tally.keep = o->resampling.test != TF_TEST_NONE;
        allocate_counts(&e);
        rc = o->sentence && e.tally.nmetrics > 1
                 ? tf_fail(err, "%s: %zu metrics, only one can be scored by sentence", names[0],
                           e.tally.nmetrics)
                 : begin_evaluation(&e, n, names, out, err);
        if (!rc && o->sentence && e.tally.metrics[0].kind == TF_BLEU)
            e.tally.metrics[0].u.bleu.opts.effective_order = true;
    }
    while (!rc && (rc = tf_stats_next(&stats, e.width, err)) > 0) {
        tf_tally_grow(&e.tally);
        rc = 0;
        for (size_t s = 0; s < n && !rc; s++)
            rc = add_counts(&e, s, stats.rec[s].ids, out, err);
        e.tally.nlines++;
    }
    rc = finish_evaluation(&e, out, rc, err);
    release_evaluation(&e);
    tf_stats_close(&stats);
    return rc;
}
