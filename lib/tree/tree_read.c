/* tree_read.c - reads trees from files, one per line or pretty-printed. A tree ends with its last
 * bracket; a damaged one ends before the next line that begins in the first column. */
#include "tree/tree_private.h"

static bool is_blank(const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!tf_ascii_space(s[i]))
            return false;
    return true;
}

/* The number of brackets open after this text; INT64_MIN once there was a closing bracket too many,
 * which no further text can repair. */
static int64_t depth_after(int64_t depth, const char *s, size_t n)
{
    for (size_t i = 0; i < n && depth >= 0; i++)
        depth += (s[i] == '(') - (s[i] == ')');
    return depth < 0 ? INT64_MIN : depth;
}

static int flush_if_idle(struct tf_tree_reader *r, struct tf_err *err)
{
    if (tf_in_line_ready(r->in, r->max))
        return 0;
    for (int i = 0; i < 2; i++)
        if (r->out[i] != NULL && tf_out_flush(r->out[i], err) != 0)
            return -1;
    return 0;
}

/* Whether a line that begins with c belongs to a tree that is still open. */
static bool starts_continuation(char c)
{
    return c == ')' || (c != '\n' && tf_ascii_space(c));
}

/* Whether the input begins with empty lines and then a tree of several lines, or one whose outer
 * bracket has no label, as the files of the Penn Treebank do: 1, 0, or -1 on error. Nothing is
 * consumed. */
static int begins_pretty(struct tf_in *in, struct tf_err *err)
{
    enum { PEEK = 1 << 16 };
    bool blank = true, empty_line = false, line_end = false, first = false;
    int64_t depth = 0;
    for (size_t i = 0; i < PEEK; i++) {
        ssize_t have = tf_in_fill(in, i + 1, err);
        if (have <= (ssize_t)i)
            return have < 0 ? -1 : 0;
        char c = (char)in->buf[in->pos + i];
        if (line_end && !blank) /* the first line of the tree has ended */
            return depth > 0 && starts_continuation(c);
        if (first && c == '(')
            return 1;
        line_end = c == '\n';
        empty_line |= blank && line_end;
        first = (first && tf_ascii_space(c)) || (blank && c == '(');
        blank &= tf_ascii_space(c);
        if (!blank && !empty_line)
            return 0;
        depth = depth_after(depth, &c, 1);
    }
    return 0;
}

/* Whether the next line belongs to a tree that is still open: 1, 0, or -1 on error. */
static int continues(struct tf_tree_reader *r, struct tf_err *err)
{
    ssize_t have = flush_if_idle(r, err) != 0 ? -1 : tf_in_fill(r->in, 1, err);
    if (have <= 0)
        return (int)have;
    return starts_continuation((char)r->in->buf[r->in->pos]);
}

/* Append the other lines of a tree whose first one is s. Returns 1, -1 on error, or 2 when the tree
 * is too long. */
static int gather(struct tf_tree_reader *r, const char **s, size_t *n, struct tf_err *err)
{
    int64_t depth = depth_after(0, *s, *n);
    int rc = 1, more;
    if (r->layout == TF_TREE_LINES || depth <= 0)
        return 1;
    tf_buf_clear(&r->text);
    tf_buf_add(&r->text, *s, *n);
    while (depth > 0 && (more = continues(r, err)) != 0) {
        if (more < 0)
            return -1;
        int got = tf_in_line(r->in, s, n, r->max, err);
        if (got < 0)
            return -1;
        r->line++;
        r->layout = TF_TREE_PRETTY;
        if (got == 2 || r->text.len + 1 + *n > r->max)
            rc = 2;
        if (got == 1) /* of a line that is too long, only the beginning is in memory */
            depth = depth_after(depth, *s, *n);
        if (rc == 1) {
            tf_buf_byte(&r->text, '\n');
            tf_buf_add(&r->text, *s, *n);
        }
    }
    *s = r->text.p;
    *n = r->text.len;
    return rc;
}

int tf_tree_read(struct tf_tree_reader *r, struct tf_tree *t, struct tf_err *err)
{
    const char *s;
    size_t n;
    int rc;
    r->why = (struct tf_err){0};
    if (r->line == 0 && r->layout == TF_TREE_AUTO) {
        if ((rc = begins_pretty(r->in, err)) < 0)
            return -1;
        r->layout = rc ? TF_TREE_PRETTY : TF_TREE_AUTO;
    }
    do {
        if (flush_if_idle(r, err) != 0)
            return -1;
        if ((rc = tf_in_line(r->in, &s, &n, r->max, err)) <= 0)
            return rc;
        r->first = ++r->line;
        if (rc == 2) {
            tf_fail(&r->why, "line of %zu bytes, maximum %zu", n, r->max);
            return 2;
        }
    } while (r->layout == TF_TREE_PRETTY && is_blank(s, n));
    if ((rc = gather(r, &s, &n, err)) < 0)
        return -1;
    if (rc == 2) {
        tf_fail(&r->why, "tree over %zu bytes", r->max);
        return 2;
    }
    return tf_tree_parse(t, s, n, &r->why) != 0 ? 2 : 1;
}

void tf_tree_reader_release(struct tf_tree_reader *r)
{
    tf_buf_release(&r->text);
}
