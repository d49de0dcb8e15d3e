/* user_lines.c - see user_lines.h. */
#include "text/user_lines.h"
#include "base/hash.h"
#include "base/utf8.h"
#include "text/text_file.h"

#include <inttypes.h>

static int add_line(const struct tf_user_lines *l, struct tf_text s, struct tf_err *err)
{
    if (!tf_utf8_valid((const uint8_t *)s.p, s.n))
        return tf_fail(err, "not UTF-8");
    const size_t mark = l->n == 1 ? tf_utf8_mark(s.p, s.n) : 0,
                 cr = s.n > mark && s.p[s.n - 1] == '\r';
    return l->add(l, (struct tf_text){s.p + mark, s.n - mark - cr}, err);
}

int tf_user_lines(struct tf_user_lines *l, struct tf_in *in, struct tf_err *err)
{
    struct tf_text s;
    struct tf_sha256 sum;
    int more, rc = 0;
    tf_sha256_init(&sum);
    while (rc == 0 && (more = tf_in_line(in, &s.p, &s.n, l->longest, err)) > 0) {
        l->n++;
        if (more == 1) {
            tf_sha256_add(&sum, s.p, s.n);
            tf_sha256_add(&sum, "\n", 1);
        }
        rc = more == 1 ? add_line(l, s, err) : tf_fail(err, "longer than %zu bytes", l->longest);
    }
    tf_sha256_end(&sum, l->sum);
    if (rc != 0)
        return tf_context(err, "%s: line %" PRIu64, l->name != NULL ? l->name : in->name, l->n);
    return more;
}

int tf_user_lines_read(struct tf_user_lines *l, const char *path, struct tf_err *err)
{
    struct tf_in in;
    int rc = tf_text_open(&in, path, TF_TEXT_AS_IS, err);
    if (rc == 0)
        rc = tf_user_lines(l, &in, err);
    tf_in_close(&in);
    return rc;
}
