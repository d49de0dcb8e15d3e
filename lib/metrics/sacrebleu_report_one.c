/* sacrebleu_report_one.c - the report on one system (sacreBLEU's metrics/base.py and utils.py). */
#include "base/memory.h"
#include "base/utf8.h"
#include "metrics/sacrebleu_json_private.h"
#include "metrics/sacrebleu_report_private.h"
#include "metrics/sacrebleu_table_private.h"
#include <stdlib.h>
#include <string.h>

/* The score and its confidence interval. */
static void put_score(struct tf_buf *out, const struct tf_result *r, const struct tf_report_opts *o)
{
    tf_buf_printf(out, "%.*f", (int)o->width, r->score);
    if (r->mean > 0)
        tf_buf_printf(out, " (μ = %.*f ± %.*f)", (int)o->width, r->mean, (int)o->width, r->ci);
}

void tf_result_line(struct tf_buf *out, const struct tf_result *r, const struct tf_report_opts *o)
{
    if (!o->score_only) {
        tf_buf_printf(out, "%s|", r->name);
        tf_signature_text(out, r->signature, o->brief);
        tf_buf_str(out, " = ");
    }
    put_score(out, r, o);
    if (!o->score_only && r->verbose[0])
        tf_buf_printf(out, " %s", r->verbose);
    tf_buf_byte(out, '\n');
}

static void member(struct tf_buf *out, const char *key, const char *value)
{
    tf_buf_printf(out, ",\n \"%s\": \"%s\"", key, value); /* needs no escapes */
}

/* As json.dumps(indent=1), without LF. */
static void object(struct tf_buf *out, const struct tf_result *r, const struct tf_report_opts *o)
{
    const int width = (int)o->width;
    if (o->score_only) {
        put_score(out, r, o);
        return;
    }
    tf_buf_printf(out, "{\n \"name\": \"%s\",\n \"score\": ", r->name);
    tf_sacrebleu_json_rounded(out, r->score, width);
    tf_buf_str(out, ",\n \"signature\": \"");
    tf_signature_text(out, r->signature, false);
    tf_buf_byte(out, '"');
    if (r->mean > 0) {
        tf_buf_str(out, ",\n \"confidence_mean\": ");
        tf_sacrebleu_json_rounded(out, r->mean, width);
        tf_buf_str(out, ",\n \"confidence_var\": ");
        tf_sacrebleu_json_rounded(out, r->ci, width);
        tf_buf_printf(out, ",\n \"confidence\": \"μ = %.*f ± %.*f\"", width, r->mean, width, r->ci);
    }
    if (r->verbose[0])
        member(out, "verbose_score", r->verbose);
    for (int i = 0; i < r->signature->n; i++)
        member(out, r->signature->pair[i].key, r->signature->pair[i].value);
    tf_buf_str(out, "\n}");
}

/* Align the lines at their first "="; lines without one come first, unchanged. */
static void aligned(struct tf_buf *out, char *const *lines, size_t n)
{
    size_t most = 0;
    for (size_t i = 0; i < n; i++) {
        const char *eq = strchr(lines[i], '=');
        size_t w = eq != NULL ? tf_utf8_count(lines[i], (size_t)(eq - lines[i])) - 1 : 0;
        most = w > most ? w : most;
        if (eq == NULL)
            tf_buf_str(out, lines[i]);
    }
    for (size_t i = 0; i < n; i++) {
        const char *eq = strchr(lines[i], '=');
        for (size_t w = eq != NULL ? tf_utf8_count(lines[i], (size_t)(eq - lines[i])) - 1 : most;
             w < most; w++)
            tf_buf_byte(out, ' ');
        if (eq != NULL)
            tf_buf_str(out, lines[i]);
    }
}

void tf_report_one(struct tf_buf *out, const struct tf_result *results, size_t n,
                   const struct tf_report_opts *o)
{
    if (o->format == TF_REPORT_JSON) {
        tf_buf_str(out, n > 1 ? "[\n" : "");
        for (size_t i = 0; i < n; i++) {
            tf_buf_str(out, i ? ",\n" : "");
            object(out, &results[i], o);
        }
        tf_buf_str(out, n > 1 ? "\n]\n" : "\n");
    } else if (n == 1) {
        tf_result_line(out, results, o);
    } else {
        char **lines = tf_xcalloc(n, sizeof *lines);
        for (size_t i = 0; i < n; i++) {
            struct tf_buf b = {0};
            tf_result_line(&b, &results[i], o);
            lines[i] = b.p;
        }
        aligned(out, lines, n);
        for (size_t i = 0; i < n; i++)
            free(lines[i]);
        free(lines);
    }
}
