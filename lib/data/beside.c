/* beside.c - see beside_private.h. */
#include "data/beside_private.h"
#include "text/text_file.h"

enum { MOST_LINE = 16 << 20 };

int tf_beside_open(struct tf_beside *b, const char *path, struct tf_err *err)
{
    if (tf_text_open(&b->in, path, TF_TEXT_UTF8, err) != 0)
        return -1;
    tf_sha256_init(&b->sha);
    b->there = true;
    return 0;
}

void tf_beside_close(struct tf_beside *b)
{
    if (b->there)
        tf_in_close(&b->in);
    b->there = false;
}

int tf_beside_line(struct tf_beside *b, uint64_t record, const char *corpus, const char **line,
                   size_t *n, struct tf_err *err)
{
    const int rc = tf_in_line(&b->in, line, n, MOST_LINE, err);
    if (rc < 0)
        return -1;
    if (rc == 0)
        return tf_fail(err, "%s ends after %llu lines, %s continues", b->in.name,
                       (unsigned long long)record - 1, corpus);
    if (rc == 2)
        return tf_fail(err, "%s: line %llu: %zu bytes, at most %d", b->in.name,
                       (unsigned long long)record, *n, MOST_LINE);
    tf_sha256_add(&b->sha, *line, *n);
    tf_sha256_add(&b->sha, "\n", 1);
    return 0;
}

int tf_beside_end(struct tf_beside *b, uint64_t records, const char *corpus, struct tf_err *err)
{
    const char *line;
    size_t n;
    const int rc = tf_in_line(&b->in, &line, &n, MOST_LINE, err);
    return rc <= 0 ? rc
                   : tf_fail(err, "%s ends after %llu records, %s continues", corpus,
                             (unsigned long long)records, b->in.name);
}

void tf_beside_add(struct tf_beside *b, struct tf_sha256 *corpus)
{
    uint8_t digest[32];
    tf_sha256_end(&b->sha, digest);
    tf_sha256_add(corpus, digest, sizeof digest);
    tf_sha256_init(&b->sha);
}
