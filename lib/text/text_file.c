/* text_file.c - see text_file.h. */
#include "text/text_file.h"
#include "base/buf.h"
#include "base/utf8.h"
#include "stream/recognise.h"
#include "base/gunzip.h"

#include <string.h>

enum { ENOUGH = 64 }; /* bytes that show UTF-16 without a mark */

/* Is there nothing to gain from more bytes? No mark of a format contains a line feed, so that
 * waiting for the rest of one delays no line. */
static bool seen_enough(const struct tf_in *in)
{
    const uint8_t *p = in->buf + in->pos;
    size_t n = in->len - in->pos;
    return in->eof || n >= ENOUGH || memchr(p, '\n', n) != NULL;
}

static int check_plain(struct tf_in *in, struct tf_err *err)
{
    struct tf_recognised found;
    if (!seen_enough(in))
        return 0;
    if (!tf_recognise(&found, in->buf + in->pos, in->len - in->pos) || found.is_text)
        return 1;
    return tf_fail(err, "%s: %s, not UTF-8 text%s%s%s", in->name, found.name,
                   found.text[0] != 0 ? " (use " : "", found.text, found.text[0] != 0 ? ")" : "");
}

static int check_and_skip_mark(struct tf_in *in, struct tf_err *err)
{
    int rc = check_plain(in, err);
    if (rc > 0)
        in->pos += tf_utf8_mark(in->buf + in->pos, in->len - in->pos);
    return rc;
}

static int check_packed(struct tf_in *in, tf_in_check *plain, struct tf_err *err)
{
    if (!seen_enough(in))
        return 0;
    if (!tf_is_gzip(in->buf + in->pos, in->len - in->pos))
        return plain(in, err);
    if (tf_gunzip(in, err) != 0)
        return -1;
    in->check = plain;
    return 1;
}

static int check_utf8(struct tf_in *in, struct tf_err *err)
{
    return check_packed(in, check_and_skip_mark, err);
}

static int check_as_is(struct tf_in *in, struct tf_err *err)
{
    return check_packed(in, check_plain, err);
}

static int check_gzip(struct tf_in *in, struct tf_err *err)
{
    if (!seen_enough(in))
        return 0;
    return tf_is_gzip(in->buf + in->pos, in->len - in->pos) && tf_gunzip(in, err) != 0 ? -1 : 1;
}

int tf_text_open(struct tf_in *in, const char *path, enum tf_text_kind kind, struct tf_err *err)
{
    static tf_in_check *const checks[] = {check_utf8, check_as_is, check_gzip};
    static tf_in_check *const unpacked[] = {check_and_skip_mark, check_plain, NULL};
    bool gz = tf_ends_with(path, ".gz");
    if (tf_in_open(in, path, err) != 0)
        return -1;
    if (gz && tf_gunzip(in, err) != 0) {
        tf_in_close(in);
        return -1;
    }
    in->check = gz ? unpacked[kind] : checks[kind];
    return 0;
}

int tf_text_read_file(char **data, size_t *n, const char *path, size_t max, struct tf_err *err)
{
    struct tf_in in;
    if (tf_text_open(&in, path, TF_TEXT_UTF8, err) != 0)
        return -1;
    int rc = tf_in_all(&in, data, n, max, err);
    tf_in_close(&in);
    return rc;
}
