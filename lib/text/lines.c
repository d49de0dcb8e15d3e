/* lines.c - one line at a time from the buffer of a file, of uncompressed data, or of a converted
 * text. */
#include "text/lines.h"
#include "base/memory.h"
#include "text/text_file.h"
#include "text/unicode.h"
#include <errno.h>
#include <iconv.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static bool is_utf8_name(const char *e)
{
    return !e || !strcasecmp(e, "utf-8") || !strcasecmp(e, "utf8") || !strcasecmp(e, "utf_8");
}

/* iconv_open with Python's names: it knows latin1, but not latin-1 or latin_1. */
static iconv_t open_encoding(const char *name)
{
    char plain[64];
    size_t n = 0;
    iconv_t cd = iconv_open("UTF-8", name);
    if (cd != (iconv_t)-1)
        return cd;
    for (; *name && n + 1 < sizeof plain; name++)
        if (!strchr("-_ ", *name))
            plain[n++] = *name;
    plain[n] = 0;
    return *name || !n ? cd : iconv_open("UTF-8", plain);
}

/* Convert the whole input from another encoding to UTF-8. */
static int convert(struct tf_lines *l, const char *encoding, struct tf_err *err)
{
    static const size_t max_file = (size_t)1 << 32;
    bool mark = !strcasecmp(encoding, "utf-8-sig") || !strcasecmp(encoding, "utf_8_sig");
    iconv_t cd = open_encoding(mark ? "UTF-8" : encoding);
    struct tf_buf text = {0};
    ssize_t got = 0;
    if (cd == (iconv_t)-1)
        return tf_fail(err, "%s: unknown encoding %s", l->name, encoding);
    for (size_t need = 1 << 16;
         (got = tf_in_fill(&l->in, need, err)) >= (ssize_t)need && need < max_file;)
        need *= 2;
    if (got < 0)
        goto fail;
    if (!l->in.eof) {
        tf_fail(err, "%s: too large to be converted", l->name);
        goto fail;
    }
    char *p = (char *)l->in.buf + l->in.pos;
    size_t n = (size_t)got;
    if (mark && n >= 3 && !memcmp(p, "\xEF\xBB\xBF", 3)) {
        p += 3;
        n -= 3;
    }
    for (bool last = false; !last;) { /* the last call flushes what iconv has kept */
        last = n == 0;
        size_t room = n + n / 2 + 64, left = room;
        char *to = tf_buf_grow(&text, room);
        size_t rc = iconv(cd, last ? NULL : &p, last ? NULL : &n, &to, &left);
        text.len += room - left;
        if (rc == (size_t)-1 && errno != E2BIG) {
            tf_fail(err, "%s: not %s", l->name, encoding);
            goto fail;
        }
    }
    iconv_close(cd);
    free(l->in.buf);
    l->in.buf = (uint8_t *)(text.p ? text.p : tf_xmalloc(1));
    l->in.pos = 0;
    l->in.len = text.len;
    l->in.cap = text.cap ? text.cap : 1;
    return 0;
fail:
    iconv_close(cd);
    tf_buf_release(&text);
    return -1;
}

int tf_lines_open(struct tf_lines *l, const char *path, const char *encoding, bool universal,
                  struct tf_err *err)
{
    bool utf8 = is_utf8_name(encoding);
    *l = (struct tf_lines){.name = strcmp(path, "-") ? path : "stdin", .universal = universal};
    if (tf_text_open(&l->in, path, !utf8, err) < 0)
        return -1;
    l->open = true;
    return utf8 ? 0 : convert(l, encoding, err);
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
    const uint8_t *lf = memchr(p, '\n', n);
    const uint8_t *cr = l->universal ? memchr(p, '\r', lf ? (size_t)(lf - p) : n) : NULL;
    return cr ? cr : lf;
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
        if (end || (in->eof && have))
            break;
        if (in->eof)
            return 0;
        if (have > TF_LINES_MAX)
            return tf_fail(err, "%s: line %ju: longer than %d bytes", l->name, (uintmax_t)l->n + 1,
                           TF_LINES_MAX);
        seen = in->check != NULL ? 0 : have; /* a filter may replace the bytes */
        if (tf_in_fill(in, have == in->cap ? 2 * have : have + 1, err) < 0)
            return -1;
    }
    n = end ? (size_t)(end - p) : have;
    in->pos += n + (end != NULL);
    l->skip_lf = end && *end == '\r';
    l->n++;
    const char *s = (const char *)p;
    size_t bad = tf_utf8_span(s, n);
    if (bad < n)
        return tf_fail(err, "%s: line %ju: invalid UTF-8 at byte %zu", l->name, (uintmax_t)l->n,
                       bad + 1);
    *line = (struct tf_text){s, l->keep ? n : tf_uc_rstrip(s, n)};
    return 1;
}
