/* recode.c - see recode_private.h. */
#include "text/recode_private.h"
#include "base/memory.h"
#include "base/utf8.h"
#include <errno.h>
#include <iconv.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { PIECE = 1 << 14 };

struct recode {
    struct tf_in *raw; /* the text before conversion */
    char *encoding;
    iconv_t cd;
    bool mark;  /* a mark at the start is to be skipped */
    bool ended; /* iconv has returned what it kept until the end */
    size_t at, n;
    char text[PIECE]; /* bytes [at, n) are converted and not read yet */
};

/* iconv_open with Python's names: it knows latin1, but not latin-1 or latin_1. */
static iconv_t open_encoding(const char *name)
{
    char plain[64];
    size_t n = 0;
    iconv_t cd = iconv_open("UTF-8", name);
    if (cd != (iconv_t)-1)
        return cd;
    for (; *name && n + 1 < sizeof plain; name++)
        if (strchr("-_ ", *name) == NULL)
            plain[n++] = *name;
    plain[n] = 0;
    return *name || !n ? cd : iconv_open("UTF-8", plain);
}

static int skip_mark(struct recode *r, struct tf_err *err)
{
    ssize_t have = r->mark ? tf_in_fill(r->raw, 3, err) : 0;
    if (have > 0)
        r->raw->pos += tf_utf8_mark(r->raw->buf + r->raw->pos, (size_t)have);
    r->mark = false;
    return have < 0 ? -1 : 0;
}

/* Convert the next piece. No bytes at the end. */
static int convert(struct recode *r, struct tf_err *err)
{
    size_t need = 1, left = sizeof r->text;
    char *to = r->text;
    while (left == sizeof r->text && !r->ended) {
        ssize_t have = tf_in_fill(r->raw, need, err);
        if (have < 0)
            return -1;
        char *from = (char *)r->raw->buf + r->raw->pos;
        size_t n = (size_t)have;
        bool last = n == 0;
        size_t rc = iconv(r->cd, last ? NULL : &from, last ? NULL : &n, &to, &left);
        r->raw->pos += (size_t)have - n;
        r->ended = last;
        bool part = rc == (size_t)-1 && errno == EINVAL && (size_t)have >= need;
        if (rc == (size_t)-1 && errno != E2BIG && !part)
            return tf_fail(err, "%s: not %s", r->raw->name, r->encoding);
        need = part ? n + 1 : 1; /* the rest of a character */
    }
    r->at = 0;
    r->n = sizeof r->text - left;
    return 0;
}

static ssize_t read_converted(void *arg, void *dst, size_t n, struct tf_err *err)
{
    struct recode *r = arg;
    if (r->at == r->n && (skip_mark(r, err) != 0 || convert(r, err) != 0))
        return -1;
    n = n < r->n - r->at ? n : r->n - r->at;
    if (n > 0)
        memcpy(dst, r->text + r->at, n);
    r->at += n;
    return (ssize_t)n;
}

static void recode_free(void *arg)
{
    struct recode *r = arg;
    iconv_close(r->cd);
    free(r->encoding);
    free(r);
}

int tf_recode(struct tf_in *in, const char *encoding, struct tf_err *err)
{
    bool mark = strcasecmp(encoding, "utf-8-sig") == 0 || strcasecmp(encoding, "utf_8_sig") == 0;
    const bool named = encoding[0] != 0 && encoding[0] != '/'; /* iconv: that of the locale */
    iconv_t cd = named ? open_encoding(mark ? "UTF-8" : encoding) : (iconv_t)-1;
    if (cd == (iconv_t)-1)
        return tf_fail_status(err, TF_USAGE, "%s: unknown encoding %s", in->name, encoding);
    struct recode *r = tf_xcalloc(1, sizeof *r);
    r->cd = cd;
    r->encoding = tf_xstrdup(encoding);
    r->mark = mark;
    r->raw = tf_in_interpose(in, read_converted, r, recode_free);
    return 0;
}
