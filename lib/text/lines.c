/* lines.c - one line at a time out of the buffer of a file, a child that unpacks, or a converted
 * text. */
#include "text/lines.h"
#include "text/unicode.h"
#include <errno.h>
#include <fcntl.h>
#include <iconv.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static bool is_utf8_name(const char *e)
{
    return !e || !strcasecmp(e, "utf-8") || !strcasecmp(e, "utf8") || !strcasecmp(e, "utf_8");
}

/* gzip's own words would be a second message, so they go; its status tells. */
static int unpack(struct tf_lines *l, struct tf_err *err)
{
    int fd[2];
    char *argv[] = {"gzip", "-dc", NULL};
    posix_spawn_file_actions_t a;
    if (pipe2(fd, O_CLOEXEC) < 0)
        return tf_fail_errno(err, "%s: pipe", l->name);
    posix_spawn_file_actions_init(&a);
    posix_spawn_file_actions_adddup2(&a, l->in.fd, 0);
    posix_spawn_file_actions_adddup2(&a, fd[1], 1);
    posix_spawn_file_actions_addopen(&a, 2, "/dev/null", O_WRONLY, 0);
    int rc = posix_spawnp(&l->child, "gzip", &a, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&a);
    close(fd[1]);
    if (rc) {
        close(fd[0]);
        l->child = 0;
        errno = rc;
        return tf_fail_errno(err, "%s: gzip", l->name);
    }
    close(l->in.fd);
    l->in.fd = fd[0];
    l->in.size = -1;
    return 0;
}

static int reap(struct tf_lines *l, struct tf_err *err)
{
    int status = 0;
    pid_t child = l->child;
    l->child = 0;
    if (!child)
        return 0;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return 0;
    return status ? tf_fail(err, "%s: gzip cannot unpack it", l->name) : 0;
}

/* iconv_open, which has to be told latin1 where Python's users say latin-1 or latin_1. */
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

/* All that is in the buffer, and all that follows, from another encoding into UTF-8. */
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
    for (bool last = false; !last;) { /* the last call gives what the encoding has held back */
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
    size_t n = strlen(path);
    *l = (struct tf_lines){.name = strcmp(path, "-") ? path : "stdin", .universal = universal};
    if (tf_in_open(&l->in, path, err) < 0)
        return -1;
    l->open = true;
    if (n >= 3 && !strcmp(path + n - 3, ".gz") && unpack(l, err) < 0)
        return -1;
    return is_utf8_name(encoding) ? 0 : convert(l, encoding, err);
}

void tf_lines_close(struct tf_lines *l)
{
    struct tf_err ignored = {0};
    if (!l->open)
        return;
    tf_in_close(&l->in); /* a gzip that still writes ends by SIGPIPE */
    if (reap(l, &ignored) < 0) {
        /* Whoever stops early has an error of his own. */
    }
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
            return reap(l, err);
        if (have > TF_LINES_MAX)
            return tf_fail(err, "%s: line %ju: longer than %d bytes", l->name, (uintmax_t)l->n + 1,
                           TF_LINES_MAX);
        seen = have;
        if (tf_in_fill(in, have == in->cap ? 2 * have : have + 1, err) < 0)
            return -1;
    }
    n = end ? (size_t)(end - p) : have;
    in->pos += n + (end != NULL);
    l->skip_lf = end && *end == '\r';
    l->n++;
    const char *s = (const char *)p;
    size_t bad = tf_utf8_span(s, n);
    if (bad < n) {
        if (l->n == 1 && n >= 2 && !memcmp(s, "\x1f\x8b", 2))
            return tf_fail(err, "%s: compressed by gzip, but not named .gz", l->name);
        return tf_fail(err, "%s: line %ju: invalid UTF-8 at byte %zu", l->name, (uintmax_t)l->n,
                       bad + 1);
    }
    *line = (struct tf_text){s, l->keep ? n : tf_uc_rstrip(s, n)};
    return 1;
}
