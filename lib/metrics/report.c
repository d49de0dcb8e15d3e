/* report.c - one system: every byte as sacreBLEU prints it (metrics/base.py, utils.py), except for
 * the version in the signature. */
#include "metrics/report.h"
#include "metrics/table.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const tf_report_formats[] = {"json", "text", "latex", NULL};

void tf_signature_add(struct tf_signature *s, const char *key, const char *brief, const char *fmt,
                      ...)
{
    va_list ap;
    TF_ASSERT(s->n < (int)(sizeof s->pair / sizeof s->pair[0]));
    s->pair[s->n].key = key;
    s->pair[s->n].brief = brief;
    va_start(ap, fmt);
    vsnprintf(s->pair[s->n].value, sizeof s->pair[0].value, fmt, ap);
    va_end(ap);
    s->n++;
}

void tf_signature_text(struct tf_buf *out, const struct tf_signature *s, bool brief)
{
    for (int i = 0; i < s->n; i++)
        tf_buf_printf(out, "%s%s:%s", i ? "|" : "", brief ? s->pair[i].brief : s->pair[i].key,
                      s->pair[i].value);
}

void tf_report_real(struct tf_buf *out, double x)
{
    char s[40] = "";
    int digits = 0;
    do
        snprintf(s, sizeof s, "%.*e", digits, x);
    while (strtod(s, NULL) != x && ++digits < 17);
    char *e = strchr(s, 'e');
    int exponent = e ? (int)strtol(e + 1, NULL, 10) : 0;
    if (!e)
        tf_buf_str(out, s); /* inf, nan */
    else if (exponent < -4 || exponent >= 16)
        tf_buf_str(out, s);
    else
        tf_buf_printf(out, "%.*f", digits > exponent ? digits - exponent : 1, x);
}

/* The number, and the interval around it. */
static void score(struct tf_buf *out, const struct tf_result *r, const struct tf_report_opts *o)
{
    tf_buf_printf(out, "%.*f", o->width, r->score);
    if (r->mean > 0)
        tf_buf_printf(out, " (μ = %.*f ± %.*f)", o->width, r->mean, o->width, r->ci);
}

void tf_report_line(struct tf_buf *out, const struct tf_result *r, const struct tf_report_opts *o)
{
    if (!o->score_only) {
        tf_buf_printf(out, "%s|", r->name);
        tf_signature_text(out, r->signature, o->brief);
        tf_buf_str(out, " = ");
    }
    score(out, r, o);
    if (!o->score_only && r->verbose[0])
        tf_buf_printf(out, " %s", r->verbose);
    tf_buf_byte(out, '\n');
}

/* Rounded in decimal first, then the shortest text of that double. */
static void rounded(struct tf_buf *out, double x, int width)
{
    struct tf_buf text = {0};
    tf_buf_printf(&text, "%.*f", width, x);
    tf_report_real(out, strtod(text.p, NULL));
    tf_buf_release(&text);
}

static void member(struct tf_buf *out, const char *key, const char *value)
{
    tf_buf_printf(out, ",\n \"%s\": \"%s\"", key, value); /* the texts need no escapes */
}

/* What json.dumps(indent=1) prints; no LF. */
static void object(struct tf_buf *out, const struct tf_result *r, const struct tf_report_opts *o)
{
    if (o->score_only) {
        score(out, r, o);
        return;
    }
    tf_buf_printf(out, "{\n \"name\": \"%s\",\n \"score\": ", r->name);
    rounded(out, r->score, o->width);
    tf_buf_str(out, ",\n \"signature\": \"");
    tf_signature_text(out, r->signature, false);
    tf_buf_byte(out, '"');
    if (r->mean > 0) {
        tf_buf_str(out, ",\n \"confidence_mean\": ");
        rounded(out, r->mean, o->width);
        tf_buf_str(out, ",\n \"confidence_var\": ");
        rounded(out, r->ci, o->width);
        tf_buf_printf(out, ",\n \"confidence\": \"μ = %.*f ± %.*f\"", o->width, r->mean, o->width,
                      r->ci);
    }
    if (r->verbose[0])
        member(out, "verbose_score", r->verbose);
    for (int i = 0; i < r->signature->n; i++)
        member(out, r->signature->pair[i].key, r->signature->pair[i].value);
    tf_buf_str(out, "\n}");
}

/* Lines with their first "=" in one column; those without one come first, as they are. */
static void aligned(struct tf_buf *out, char *const *lines, size_t n)
{
    size_t most = 0;
    for (size_t i = 0; i < n; i++) {
        const char *eq = strchr(lines[i], '=');
        size_t w = eq ? tf_table_width(lines[i], (size_t)(eq - lines[i])) - 1 : 0;
        most = w > most ? w : most;
        if (!eq)
            tf_buf_str(out, lines[i]);
    }
    for (size_t i = 0; i < n; i++) {
        const char *eq = strchr(lines[i], '=');
        for (size_t w = eq ? tf_table_width(lines[i], (size_t)(eq - lines[i])) - 1 : most; w < most;
             w++)
            tf_buf_byte(out, ' ');
        if (eq)
            tf_buf_str(out, lines[i]);
    }
}

void tf_report_single(struct tf_buf *out, const struct tf_result *r, size_t n,
                      const struct tf_report_opts *o)
{
    if (o->format == TF_REPORT_JSON) {
        tf_buf_str(out, n > 1 ? "[\n" : "");
        for (size_t i = 0; i < n; i++) {
            tf_buf_str(out, i ? ",\n" : "");
            object(out, &r[i], o);
        }
        tf_buf_str(out, n > 1 ? "\n]\n" : "\n");
    } else if (n == 1) {
        tf_report_line(out, r, o);
    } else {
        char **lines = tf_xcalloc(n, sizeof *lines);
        for (size_t i = 0; i < n; i++) {
            struct tf_buf b = {0};
            tf_report_line(&b, &r[i], o);
            lines[i] = b.p;
        }
        aligned(out, lines, n);
        for (size_t i = 0; i < n; i++)
            free(lines[i]);
        free(lines);
    }
}
