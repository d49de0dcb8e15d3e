/* input.c - buffered input over read(2), or over a filter. */
#include "base/input.h"
#include "base/fd.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/terminal_private.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BUFFER = 64 << 10 };

int tf_in_refuse_terminal(const struct tf_in *in, const char *what, struct tf_err *err)
{
    if (!isatty(in->fd))
        return 0;
    return tf_fail_status(err, TF_USAGE, "%s is a terminal: %s is required", in->name, what);
}

void tf_in_from_fd(struct tf_in *in, int fd, const char *name)
{
    struct stat st;
    *in = (struct tf_in){
        .fd = fd, .size = -1, .name = tf_xstrdup(name), .cap = BUFFER, .buf = tf_xmalloc(BUFFER)};
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
        in->size = (int64_t)st.st_size;
        in->modified = st.st_mtim;
    }
}

int tf_in_open(struct tf_in *in, const char *path, struct tf_err *err)
{
    struct stat st;
    bool std = tf_is_std(path);
    const char *name = std ? "stdin" : *path != 0 ? path : "''";
    *in = (struct tf_in){.fd = -1, .size = -1};
    int rc = 0, fd = std ? 0 : tf_fd_open(path, O_RDONLY, 0);
    if (fd < 0 || fstat(fd, &st) != 0)
        rc = tf_fail_errno(err, "%s", name);
    else if (S_ISDIR(st.st_mode))
        rc = tf_fail_directory(err, name);
    if (rc == 0) {
        tf_terminal_use(fd);
        tf_in_from_fd(in, fd, name);
    } else if (fd > 0) {
        close(fd);
    }
    return rc;
}

void tf_in_close(struct tf_in *in)
{
    if (in->source_free != NULL)
        in->source_free(in->source_arg);
    if (in->raw != NULL)
        tf_in_close(in->raw);
    free(in->raw);
    if (in->fd > 0 && in->name != NULL)
        close(in->fd);
    free(in->name);
    free(in->buf);
    *in = (struct tf_in){.fd = -1, .size = -1};
}

struct tf_in *tf_in_interpose(struct tf_in *in, tf_in_source *source, void *arg,
                              void (*source_free)(void *arg))
{
    struct tf_in *raw = tf_xmalloc(sizeof *raw);
    *raw = *in;
    raw->check = NULL;
    tf_in_from_fd(in, -1, raw->name);
    in->source = source;
    in->source_arg = arg;
    in->source_free = source_free;
    in->raw = raw;
    return raw;
}

void tf_in_may_grow(struct tf_in *in)
{
    while (in->raw != NULL)
        in = in->raw;
    in->grows = true;
}

/* Does the file still begin with what was read? -1 if reading it again fails. */
static int still_begins(const struct tf_in *in, struct tf_err *err)
{
    /* stdin may have been at some offset */
    off_t at = lseek(in->fd, 0, SEEK_CUR) - (off_t)in->taken;
    uint8_t *piece = tf_xmalloc(BUFFER);
    uint64_t left = in->taken;
    uint32_t crc = 0;
    ssize_t got = 1;
    while (left > 0 && got > 0) {
        got = pread(in->fd, piece, left < BUFFER ? left : BUFFER, at);
        if (got < 0 && errno == EINTR) {
            got = 1;
        } else if (got > 0) {
            crc = tf_crc32c(crc, piece, (size_t)got);
            at += got;
            left -= (uint64_t)got;
        }
    }
    free(piece);
    return got < 0 ? tf_fail_errno(err, "%s: read", in->name) : left == 0 && crc == in->crc;
}

/* Not by the time of change (ctime): a file may be renamed, linked or protected while we read. */
int tf_in_unchanged(const struct tf_in *in, struct tf_err *err)
{
    struct stat st;
    if (in->size < 0)
        return 0;
    if (fstat(in->fd, &st) != 0)
        return tf_fail_errno(err, "%s", in->name);
    if (st.st_size == in->size && st.st_mtim.tv_sec == in->modified.tv_sec &&
        st.st_mtim.tv_nsec == in->modified.tv_nsec)
        return 0;
    int same = in->grows && st.st_size >= in->size ? still_begins(in, err) : 0;
    if (same != 0)
        return same < 0 ? -1 : 0;
    return tf_fail(err, "%s: changed while it was read", in->name);
}

/* One read that returns data: its size, 0 at the end and from then on, -1 on error. */
static ssize_t read_some(struct tf_in *in, void *dst, size_t n, struct tf_err *err)
{
    if (in->source != NULL && !in->eof) {
        ssize_t got = in->source(in->source_arg, dst, n, err);
        in->eof = got == 0;
        return got;
    }
    while (!in->eof) {
        ssize_t got = read(in->fd, dst, n < SSIZE_MAX ? n : SSIZE_MAX);
        if (got > 0) {
            in->taken += (uint64_t)got;
            if (in->grows)
                in->crc = tf_crc32c(in->crc, dst, (size_t)got);
            return got;
        }
        if (got == 0 && tf_in_unchanged(in, err) != 0)
            return -1;
        if (got == 0)
            in->eof = true;
        else if (errno == EAGAIN || errno == EWOULDBLOCK)
            poll(&(struct pollfd){.fd = in->fd, .events = POLLIN}, 1, -1);
        else if (errno != EINTR)
            return tf_fail_errno(err, "%s: read", in->name);
    }
    return 0;
}

/* Let the check look at what is there. As tf_in_check. */
static int look(struct tf_in *in, struct tf_err *err)
{
    if (in->check == NULL || (in->pos == in->len && !in->eof))
        return 0;
    tf_in_check *check = in->check;
    in->check = NULL;
    int rc = check(in, err);
    if (rc <= 0)
        in->check = check;
    return rc;
}

ssize_t tf_in_fill(struct tf_in *in, size_t need, struct tf_err *err)
{
    if (look(in, err) < 0)
        return -1;
    if (in->pos == in->len) {
        in->offset += in->pos;
        in->pos = in->len = 0;
    }
    if (need > in->cap - in->pos) {
        memmove(in->buf, in->buf + in->pos, in->len - in->pos);
        in->offset += in->pos;
        in->len -= in->pos;
        in->pos = 0;
        if (need > in->cap) {
            in->buf = tf_xarray(in->buf, need, 1);
            in->cap = need;
        }
    }
    while (in->len - in->pos < need) {
        ssize_t got = read_some(in, in->buf + in->len, in->cap - in->len, err);
        if (got < 0)
            return -1;
        in->len += (size_t)got;
        int rc = look(in, err);
        if (rc != 0)
            return rc < 0 ? -1 : tf_in_fill(in, need, err); /* perhaps from a filter now */
        if (got == 0)
            break;
    }
    return (ssize_t)(in->len - in->pos);
}

ssize_t tf_in_read(struct tf_in *in, void *dst, size_t n, struct tf_err *err)
{
    uint8_t *p = dst;
    size_t done = 0;
    while (in->check != NULL && !in->eof)
        if (tf_in_fill(in, in->len - in->pos + 1, err) < 0)
            return -1;
    while (done < n) {
        size_t have = in->len - in->pos, want = n - done;
        if (have > 0) {
            size_t take = have < want ? have : want;
            memcpy(p + done, in->buf + in->pos, take);
            in->pos += take;
            done += take;
        } else if (want >= BUFFER) {
            ssize_t got = read_some(in, p + done, want, err);
            if (got <= 0)
                return got < 0 ? -1 : (ssize_t)done;
            in->offset += in->pos + (size_t)got;
            in->pos = in->len = 0;
            done += (size_t)got;
        } else {
            ssize_t got = tf_in_fill(in, want, err);
            if (got <= 0)
                return got < 0 ? -1 : (ssize_t)done;
        }
    }
    return (ssize_t)done;
}

bool tf_in_ready(struct tf_in *in)
{
    return in->pos < in->len || tf_in_more_ready(in);
}

bool tf_in_more_ready(struct tf_in *in)
{
    if (in->eof)
        return true;
    if (in->source == NULL)
        return tf_fd_readable(in->fd);
    return in->raw == NULL || tf_in_ready(in->raw);
}

int tf_in_all(struct tf_in *in, char **data, size_t *n, size_t max, struct tf_err *err)
{
    /* One byte more than the file has, so that a short read shows its end. */
    size_t cap = in->size >= 0 && (uint64_t)in->size < max ? (size_t)in->size + 1 : 0, len = 0;
    if (cap < BUFFER)
        cap = BUFFER;
    char *p = tf_xmalloc(cap + 1);
    ssize_t got;
    while ((got = tf_in_read(in, p + len, cap - len, err)) >= 0) {
        len += (size_t)got;
        if (len > max) {
            got = tf_fail(err, "%s: larger than %zu bytes", in->name, max);
            break;
        }
        if (len < cap)
            break;
        cap *= 2;
        p = tf_xarray(p, cap + 1, 1);
    }
    if (got < 0) {
        free(p);
        return -1;
    }
    p[len] = 0;
    *data = p;
    *n = len;
    return 0;
}

int tf_read_file(char **data, size_t *n, const char *path, size_t max, struct tf_err *err)
{
    struct tf_in in;
    if (tf_in_open(&in, path, err) != 0)
        return -1;
    int rc = tf_in_all(&in, data, n, max, err);
    tf_in_close(&in);
    return rc;
}
