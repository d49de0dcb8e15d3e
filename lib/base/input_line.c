/* input_line.c - lines, which end with LF. */
#include "base/input.h"
#include "base/memory.h"

#include <string.h>

/* Skip a line that is too long, and keep its first bytes. */
static int skip_line(struct tf_in *in, const char **line, size_t *n, struct tf_err *err)
{
    ssize_t have = (ssize_t)(in->len - in->pos);
    *line = in->head;
    for (*n = 0; have > 0; have = tf_in_fill(in, 1, err)) {
        uint8_t *p = in->buf + in->pos, *lf = memchr(p, '\n', (size_t)have);
        size_t len = lf != NULL ? (size_t)(lf - p) : (size_t)have;
        if (*n < TF_LINE_HEAD)
            memcpy(in->head + *n, p, len < TF_LINE_HEAD - *n ? len : TF_LINE_HEAD - *n);
        *n += len;
        in->pos += len + (lf != NULL);
        if (lf != NULL)
            return 2;
    }
    return have < 0 ? -1 : 2;
}

/* Read at least one more byte of a line. The buffer doubles in size, so that a long line is not
 * copied at every read. */
static int more_of_line(struct tf_in *in, size_t max, struct tf_err *err)
{
    size_t have = in->len - in->pos;
    if (have == in->cap) {
        in->cap = have < max / 2 ? have * 2 : max + 1;
        in->buf = tf_xarray(in->buf, in->cap, 1);
    }
    return tf_in_fill(in, have + 1, err) < 0 ? -1 : 0;
}

int tf_in_line(struct tf_in *in, const char **line, size_t *n, size_t max, struct tf_err *err)
{
    size_t seen = 0;
    if (in->check != NULL && tf_in_fill(in, 1, err) < 0)
        return -1;
    for (;;) {
        size_t have = in->len - in->pos;
        uint8_t *p = in->buf + in->pos;
        uint8_t *lf = have > seen ? memchr(p + seen, '\n', have - seen) : NULL;
        size_t len = lf != NULL ? (size_t)(lf - p) : have;
        if (len > max)
            return skip_line(in, line, n, err);
        if (lf != NULL || (in->eof && have > 0)) {
            in->pos += len + (lf != NULL);
            *line = (char *)p;
            *n = len;
            return 1;
        }
        if (in->eof)
            return 0;
        seen = in->check != NULL ? 0 : have; /* a filter may replace the bytes */
        if (more_of_line(in, max, err) != 0)
            return -1;
    }
}

bool tf_in_line_ready(struct tf_in *in, size_t max)
{
    size_t seen = 0;
    for (;;) {
        size_t have = in->len - in->pos;
        if (have > seen && memchr(in->buf + in->pos + seen, '\n', have - seen) != NULL)
            return true;
        seen = in->check != NULL ? 0 : have;
        if (in->eof || have > max)
            return true;
        if (!tf_in_more_ready(in))
            return false;
        struct tf_err ignored = {0}; /* the next read reports it */
        if (more_of_line(in, max, &ignored) != 0)
            return true;
    }
}
