/* stats.c - see stats_private.h. The settings of the metrics are in the header, the counts in
 * records. */
#include "metrics/stats_private.h"
#include "base/memory.h"
#include "base/opt.h"
#include "cbor/member.h"
#include <stdlib.h>

/* The options of each metric, by their keys; but the tokenizer's model. */
#define ROW(metric, key, kind, member, hi, words) \
    {key, TF_MEMBER_##kind, TF_##kind##_AT(struct tf_##metric##_opts, member), 0, hi, words}
static const struct tf_member bleu_rows[] = {
    ROW(bleu, "tok", CHOICE, tokenizer, 0, tf_tokenizer_names),
    ROW(bleu, "smooth", CHOICE, smooth, 0, tf_bleu_smooth_names),
    ROW(bleu, "lowercase", BOOL, lowercase, 0, NULL),
    ROW(bleu, "effective", BOOL, effective_order, 0, NULL),
    ROW(bleu, "value", REAL, value, 1e9, NULL),
    {NULL, 0, 0, 0, 0, NULL},
};
static const struct tf_member chrf_rows[] = {
    ROW(chrf, "chars", INT, chars, TF_CHRF_MAX, NULL),
    ROW(chrf, "words", INT, words, TF_CHRF_MAX, NULL),
    ROW(chrf, "beta", INT, beta, 1000, NULL),
    ROW(chrf, "lowercase", BOOL, lowercase, 0, NULL),
    ROW(chrf, "whitespace", BOOL, whitespace, 0, NULL),
    ROW(chrf, "eps", BOOL, eps, 0, NULL),
    {NULL, 0, 0, 0, 0, NULL},
};
static const struct tf_member ter_rows[] = {
    ROW(ter, "case", BOOL, case_sensitive, 0, NULL),
    ROW(ter, "normalized", BOOL, normalized, 0, NULL),
    ROW(ter, "punct", BOOL, no_punct, 0, NULL), /* but the opposite */
    ROW(ter, "asian", BOOL, asian, 0, NULL),
    {NULL, 0, 0, 0, 0, NULL},
};
static const struct {
    const struct tf_member *rows;
    size_t at;
} options[] = {{bleu_rows, offsetof(struct tf_metric_opts, bleu)},
               {chrf_rows, offsetof(struct tf_metric_opts, chrf)},
               {ter_rows, offsetof(struct tf_metric_opts, ter)}};

_Static_assert(offsetof(struct tf_bleu, opts) + offsetof(struct tf_chrf, opts) +
                   offsetof(struct tf_ter, opts) == 0, "options come first");

static bool has_model(const struct tf_metric *m)
{
    return m->kind == TF_BLEU && m->u.bleu.opts.tokenizer >= TF_TOK_SPM;
}

static struct tf_value settings(struct tf_arena *a, const struct tf_metric *metric)
{
    struct tf_value m = tf_value_map();
    tf_value_put(a, &m, "name", tf_value_str(a, tf_metric_names[metric->kind]));
    for (const struct tf_member *f = options[metric->kind].rows; f->name != NULL; f++)
        tf_value_put(a, &m, f->name, tf_member_value(f, &metric->u, a));
    if (metric->kind == TF_TER)
        tf_value_put(a, &m, "punct", tf_value_bool(!metric->u.ter.opts.no_punct));
    if (has_model(metric))
        tf_value_put(a, &m, "vocab", tf_value_bytes(a, metric->u.bleu.opts.model, 32));
    return m;
}

int tf_stats_begin(struct tf_writer *w, struct tf_out *out, const struct tf_metric *metrics,
                   size_t n, const struct tf_opt *table, struct tf_err *err)
{
    struct tf_arena a = {0};
    struct tf_value list = tf_value_array(), inputs = tf_value_map();
    struct tf_header h = {.kind = "stats", .special = {-1, -1, -1, -1}, .config = tf_value_map()};
    for (size_t i = 0; i < n; i++) {
        tf_value_push(&a, &list, settings(&a, &metrics[i]));
        if (has_model(&metrics[i]))
            tf_value_put(&a, &inputs, "vocab",
                         tf_value_bytes(&a, metrics[i].u.bleu.opts.model, 32));
    }
    tf_value_put(&a, &h.config, "metrics", list);
    tf_value_put(&a, &h.config, "nrefs", tf_value_int((int64_t)metrics[0].nrefs));
    tf_header_made(&h, &a, tf_progname, table, &inputs);
    int rc = tf_writer_begin(w, out, &h, err);
    tf_arena_release(&a);
    return rc;
}

/* rc: of a reader, which is 1 where the map has no such key. */
static int require(int rc, const char *key, struct tf_err *err)
{
    return rc > 0 ? tf_fail(err, "%s: missing", key) : rc;
}

static int metric_of(struct tf_metric *metric, const struct tf_value *m, size_t nrefs,
                     struct tf_err *err)
{
    struct tf_metric_opts o = {0};
    int kind;
    const struct tf_member name = {"name", TF_MEMBER_CHOICE, 0, 0, 0, tf_metric_names};
    if (m->kind != TF_MAP)
        return tf_fail(err, "not a map");
    if (require(tf_member_read(&name, &kind, m, err), "name", err) != 0)
        return -1;
    for (const struct tf_member *f = options[kind].rows; f->name != NULL; f++)
        if (require(tf_member_read(f, (char *)&o + options[kind].at, m, err), f->name, err) != 0)
            return -1;
    o.ter.no_punct = !o.ter.no_punct;
    if (kind == TF_BLEU && o.bleu.tokenizer >= TF_TOK_SPM &&
        require(tf_value_sha_of(m, "vocab", o.bleu.model, err), "vocab", err) != 0)
        return -1;
    tf_metric_init(metric, (enum tf_metric_kind)kind, &o, nrefs);
    return 0;
}

static int metrics_of(struct tf_metric *metrics, const struct tf_value *config, struct tf_err *err)
{
    const struct tf_value *list = tf_value_find(config, "metrics", TF_ARRAY);
    int64_t nrefs = 0;
    bool has[TF_METRICS] = {false};
    if (list == NULL || list->n == 0 || list->n > TF_METRICS)
        return tf_fail(err, "config: no metrics");
    if (require(tf_value_int_of(config, "nrefs", 0, 1 << 20, &nrefs, err), "nrefs", err) != 0)
        return -1;
    if (!nrefs)
        return tf_fail(err, "nrefs: 0");
    for (size_t i = 0; i < list->n; i++) {
        if (metric_of(&metrics[i], &list->items[i], (size_t)nrefs, err) != 0)
            return tf_context(err, "metrics");
        if (has[metrics[i].kind])
            return tf_fail(err, "metrics: %s twice", tf_metric_names[metrics[i].kind]);
        has[metrics[i].kind] = true;
    }
    return (int)list->n;
}

static int same_config(const struct tf_stats *s, size_t i, struct tf_err *err)
{
    if (tf_value_equal(&s->config, &tf_reader_header(s->reader[i])->config))
        return 0;
    return tf_fail(err, "%s: its metrics or their settings differ from those of the first part",
                   s->in[i].name);
}

int tf_stats_open(struct tf_stats *s, const char *const *names, size_t n, struct tf_metric *metrics,
                  struct tf_err *err)
{
    static const char *const kinds[] = {"stats", NULL};
    *s = (struct tf_stats){0};
    s->in = tf_xcalloc(n, sizeof *s->in);
    s->reader = tf_xcalloc(n, sizeof *s->reader);
    s->rec = tf_xcalloc(n, sizeof *s->rec);
    for (size_t i = 0; i < n; i++) {
        if (tf_in_open(&s->in[i], names[i], err) != 0)
            return -1;
        s->n = i + 1;
        if (tf_reader_new(&s->reader[i], &s->in[i], kinds, 0, err) != 0) {
            s->reader[i] = NULL;
            return -1;
        }
        if (i == 0)
            s->config = tf_value_clone(&s->arena, &tf_reader_header(s->reader[0])->config);
        if (same_config(s, i, err) != 0)
            return -1;
    }
    int rc = metrics_of(metrics, &s->config, err);
    return rc < 0 ? tf_context(err, "%s", s->in[0].name) : rc;
}

/* Read the next segment of system i. */
static int next(struct tf_stats *s, size_t i, size_t width, struct tf_err *err)
{
    struct tf_record *rec = &s->rec[i];
    int rc;
    while ((rc = tf_reader_next(s->reader[i], rec, err)) > 0) {
        if (rec->type == TF_REC_HEADER) {
            if (same_config(s, i, err) != 0)
                return -1;
        } else if (rec->type == TF_REC_BAD) {
            return tf_fail(err, "%s: segment %ju is bad: %s", s->in[i].name, (uintmax_t)rec->idx,
                           rec->fault.text);
        } else if (rec->type == TF_REC_STATS) {
            if (rec->n != width)
                return tf_fail(err, "%s: segment %ju: %zu counts, expected %zu", s->in[i].name,
                               (uintmax_t)rec->idx, rec->n, width);
            return 1;
        }
    }
    return rc;
}

int tf_stats_next(struct tf_stats *s, size_t width, struct tf_err *err)
{
    size_t ended = 0, first = 0;
    for (size_t i = 0; i < s->n; i++) {
        int rc = next(s, i, width, err);
        if (rc < 0)
            return -1;
        first = rc || ended ? first : i;
        ended += rc == 0;
    }
    if (ended && ended < s->n)
        return tf_fail(err, "%s has %ju segments, others have more", s->in[first].name,
                       (uintmax_t)s->lines);
    if (ended && !s->lines)
        return tf_fail(err, "%s: no segments", s->in[0].name);
    s->lines += !ended;
    return !ended;
}

void tf_stats_close(struct tf_stats *s)
{
    for (size_t i = 0; i < s->n; i++) {
        tf_reader_free(s->reader[i]);
        tf_in_close(&s->in[i]);
    }
    free(s->in);
    free(s->reader);
    free(s->rec);
    tf_arena_release(&s->arena);
    *s = (struct tf_stats){0};
}
