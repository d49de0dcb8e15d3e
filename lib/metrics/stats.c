/* stats.c - see stats_private.h. The settings of the metrics are in the header, the counts in
 * records. */
#include "metrics/stats_private.h"
#include "base/memory.h"
#include "base/opt.h"
#include <stdlib.h>
#include <string.h>

static void put_flag(struct tf_arena *a, struct tf_value *m, const char *key, bool x)
{
    tf_value_put(a, m, key, tf_value_bool(x));
}

static void put_bleu(struct tf_arena *a, struct tf_value *m, const struct tf_bleu_opts *o)
{
    tf_value_put(a, m, "tok", tf_value_str(a, tf_tokenizer_names[o->tokenizer]));
    if (o->tokenizer >= TF_TOK_SPM)
        tf_value_put(a, m, "vocab", tf_value_bytes(a, o->model, sizeof o->model));
    put_flag(a, m, "lowercase", o->lowercase);
    put_flag(a, m, "effective", o->effective_order);
    tf_value_put(a, m, "smooth", tf_value_str(a, tf_bleu_smooth_names[o->smooth]));
    tf_value_put(a, m, "value", tf_value_real(o->value));
}

static void put_chrf(struct tf_arena *a, struct tf_value *m, const struct tf_chrf_opts *o)
{
    tf_value_put(a, m, "chars", tf_value_int(o->chars));
    tf_value_put(a, m, "words", tf_value_int(o->words));
    tf_value_put(a, m, "beta", tf_value_int(o->beta));
    put_flag(a, m, "lowercase", o->lowercase);
    put_flag(a, m, "whitespace", o->whitespace);
    put_flag(a, m, "eps", o->eps);
}

static void put_ter(struct tf_arena *a, struct tf_value *m, const struct tf_ter_opts *o)
{
    put_flag(a, m, "case", o->case_sensitive);
    put_flag(a, m, "normalized", o->normalized);
    put_flag(a, m, "punct", !o->no_punct);
    put_flag(a, m, "asian", o->asian);
}

static struct tf_value settings(struct tf_arena *a, const struct tf_metric *metric)
{
    struct tf_value m = tf_value_map();
    tf_value_put(a, &m, "name", tf_value_str(a, tf_metric_names[metric->kind]));
    switch (metric->kind) {
    case TF_BLEU:
        put_bleu(a, &m, &metric->u.bleu.opts);
        break;
    case TF_CHRF:
        put_chrf(a, &m, &metric->u.chrf.opts);
        break;
    case TF_TER:
        put_ter(a, &m, &metric->u.ter.opts);
        break;
    }
    return m;
}

int tf_stats_begin(struct tf_writer *w, struct tf_out *out, const struct tf_metric *metrics,
                   size_t n, const struct tf_opt *table, struct tf_err *err)
{
    struct tf_arena a = {0};
    struct tf_value list = tf_value_array(), inputs = tf_value_map();
    struct tf_header h = {.kind = "stats", .version = 1, .special = {-1, -1, -1, -1}};
    h.config = tf_value_map();
    h.extra = tf_value_map();
    h.made = tf_value_array();
    for (size_t i = 0; i < n; i++) {
        const struct tf_bleu_opts *o = metrics[i].kind == TF_BLEU ? &metrics[i].u.bleu.opts : NULL;
        tf_value_push(&a, &list, settings(&a, &metrics[i]));
        if (o != NULL && o->tokenizer >= TF_TOK_SPM)
            tf_value_put(&a, &inputs, "vocab", tf_value_bytes(&a, o->model, sizeof o->model));
    }
    tf_value_put(&a, &h.config, "metrics", list);
    tf_value_put(&a, &h.config, "nrefs", tf_value_int((int64_t)metrics[0].nrefs));
    tf_header_made(&h, &a, tf_progname, table, &inputs);
    int rc = tf_writer_begin(w, out, &h, err);
    tf_arena_release(&a);
    return rc;
}

static int get_word(const struct tf_value *m, const char *key, const char *const *choices, int *out,
                    struct tf_err *err)
{
    const char *s = NULL;
    int rc = tf_value_text_of(m, key, &s, err);
    if (rc)
        return rc < 0 ? -1 : tf_fail(err, "%s: missing", key);
    for (*out = 0; choices[*out] != NULL; ++*out)
        if (strcmp(s, choices[*out]) == 0)
            return 0;
    return tf_fail(err, "%s: %s is unknown", key, s);
}

static int get_int(const struct tf_value *m, const char *key, int64_t hi, int64_t *out,
                   struct tf_err *err)
{
    int rc = tf_value_int_of(m, key, 0, hi, out, err);
    return rc > 0 ? tf_fail(err, "%s: missing", key) : rc;
}

static int get_flag(const struct tf_value *m, const char *key, bool *out, struct tf_err *err)
{
    int rc = tf_value_bool_of(m, key, out, err);
    return rc > 0 ? tf_fail(err, "%s: missing", key) : rc;
}

static int get_bleu(struct tf_bleu_opts *o, const struct tf_value *m, struct tf_err *err)
{
    int tok, rc;
    if (get_word(m, "tok", tf_tokenizer_names, &tok, err) != 0 ||
        get_word(m, "smooth", tf_bleu_smooth_names, &o->smooth, err) != 0 ||
        get_flag(m, "lowercase", &o->lowercase, err) != 0 ||
        get_flag(m, "effective", &o->effective_order, err) != 0)
        return -1;
    if ((rc = tf_value_real_of(m, "value", 0, 1e9, &o->value, err)) != 0)
        return rc < 0 ? -1 : tf_fail(err, "value: missing");
    o->tokenizer = (enum tf_tokenizer)tok;
    if (tok >= TF_TOK_SPM && (rc = tf_value_sha_of(m, "vocab", o->model, err)) != 0)
        return rc < 0 ? -1 : tf_fail(err, "vocab: missing");
    return 0;
}

static int get_chrf(struct tf_chrf_opts *o, const struct tf_value *m, struct tf_err *err)
{
    return get_int(m, "chars", TF_CHRF_MAX, &o->chars, err) != 0 ||
                   get_int(m, "words", TF_CHRF_MAX, &o->words, err) != 0 ||
                   get_int(m, "beta", 1000, &o->beta, err) != 0 ||
                   get_flag(m, "lowercase", &o->lowercase, err) != 0 ||
                   get_flag(m, "whitespace", &o->whitespace, err) != 0 ||
                   get_flag(m, "eps", &o->eps, err) != 0
               ? -1
               : 0;
}

static int get_ter(struct tf_ter_opts *o, const struct tf_value *m, struct tf_err *err)
{
    bool punct = true;
    if (get_flag(m, "case", &o->case_sensitive, err) != 0 ||
        get_flag(m, "normalized", &o->normalized, err) != 0 ||
        get_flag(m, "punct", &punct, err) != 0 || get_flag(m, "asian", &o->asian, err) != 0)
        return -1;
    o->no_punct = !punct;
    return 0;
}

static int metric_of(struct tf_metric *metric, const struct tf_value *m, size_t nrefs,
                     struct tf_err *err)
{
    struct tf_metric_opts o = {0};
    int kind, rc = -1;
    if (m->kind != TF_MAP)
        return tf_fail(err, "not a map");
    if (get_word(m, "name", tf_metric_names, &kind, err) != 0)
        return -1;
    switch ((enum tf_metric_kind)kind) {
    case TF_BLEU:
        rc = get_bleu(&o.bleu, m, err);
        break;
    case TF_CHRF:
        rc = get_chrf(&o.chrf, m, err);
        break;
    case TF_TER:
        rc = get_ter(&o.ter, m, err);
        break;
    }
    if (rc == 0)
        tf_metric_init(metric, (enum tf_metric_kind)kind, &o, nrefs);
    return rc;
}

static int metrics_of(struct tf_metric *metrics, const struct tf_value *config, struct tf_err *err)
{
    const struct tf_value *list = config->kind == TF_MAP ? tf_value_get(config, "metrics") : NULL;
    int64_t nrefs = 0;
    bool has[TF_METRICS] = {false};
    if (list == NULL || list->kind != TF_ARRAY || !list->n || list->n > TF_METRICS)
        return tf_fail(err, "config: no metrics");
    if (get_int(config, "nrefs", 1 << 20, &nrefs, err) != 0)
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
        if (s->reader[i] != NULL)
            tf_reader_free(s->reader[i]);
        tf_in_close(&s->in[i]);
    }
    free(s->in);
    free(s->reader);
    free(s->rec);
    tf_arena_release(&s->arena);
    *s = (struct tf_stats){0};
}
