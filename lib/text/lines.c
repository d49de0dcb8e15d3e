/* lines.c - one line at a time from the buffer of a file, of uncompressed or of converted data. */
#include "text/lines.h"
#include "text/recode_private.h"
#include "text/text_file.h"
#include "text/unicode.h"
#include <string.h>
#include <strings.h>

static bool is_utf8_name(const char *e)
{
    return e == NULL || strcasecmp(e, "utf-8") == 0 || strcasecmp(e, "utf8") == 0 ||
           strcasecmp(e, "utf_8") == 0;
}

int tf_lines_open(struct tf_lines *l, const char *path, const char *encoding, bool universal,
                  struct tf_err *err)
{
    bool utf8 = is_utf8_name(encoding);
    *l = (struct tf_lines){.name = strcmp(path, "-") != 0 ? path : "stdin", .universal = universal};
    if (tf_text_open(&l->in, path, utf8 ? TF_TEXT_AS_IS : TF_TEXT_ENCODED, err) != 0)
        return -1;
    l->open = true;
    return utf8 ? 0 : tf_recode(&l->in, encoding, err);
}

void tf_lines_close(struct tf_lines *l)
{
    if (!l->open)
        return;
    tf_in_close(&l->in);
    *l = (struct tf_lines){0};
}

static const uint8_t *line_end(const struct tf_lines *l, const uint8_t *p, size_t n)
{
    if (!l->universal)
        return memchr(p, '\n', n);
    for (const uint8_t *end = p + n; p < end; p++) /* two searches could read on for each CR */
        if (*p == '\n' || *p == '\r')
            return p;
    return NULL;
}

static int too_long(const struct tf_lines *l, struct tf_err *err)
{
    return tf_fail(err, "%s: line %ju: longer than %d bytes", l->name, (uintmax_t)l->n + 1,
                   TF_LINES_MAX);
}

int tf_lines_next(struct tf_lines *l, struct tf_text *line, struct tf_err *err)
{
    struct tf_in *in = &l->in;
    size_t seen = 0, have, n;
    const uint8_t *p, *end;
    for (;;) {
        have = in->len - in->pos;
        if (l->skip_lf && have) {
            l->skip_lf = false;
            in->pos += in->buf[in->pos] == '\n';
            continue;
        }
        p = in->buf + in->pos;
        end = have > seen ? line_end(l, p + seen, have - seen) : NULL;
        if (end != NULL || (in->eof && have))
            break;
        if (in->eof)
            return 0;
        if (have > TF_LINES_MAX)
            return too_long(l, err);
        seen = in->check != NULL ? 0 : have; /* a filter may replace the bytes */
        if (tf_in_fill(in, have == in->cap ? 2 * have : have + 1, err) < 0)
            return -1;
    }
    n = end != NULL ? (size_t)(end - p) : have;
    if (n > TF_LINES_MAX)
        return too_long(l, err);
    in->pos += n + (end != NULL);
    l->skip_lf = end != NULL && *end == '\r';
    l->n++;
    const char *s = (const char *)p;
    size_t bad = tf_utf8_span(s, n);
    if (bad < n)
        return tf_fail(err, "%s: line %ju: invalid UTF-8 at byte %zu", l->name, (uintmax_t)l->n,
                       bad + 1);
    *line = (struct tf_text){s, l->keep ? n : tf_uc_rstrip(s, n)};
    return 1;
}
