/* file.c - input and output over read(2) and write(2): every call checked, interrupted and short
 * ones continued, output files renamed into place. */
#include "base/file.h"
#include "base/buf.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BUFFER = 64 << 10, LINE_HEAD = 64 };

static bool is_std(const char *path)
{
    return path == NULL || strcmp(path, "-") == 0;
}

static int open_retry(const char *path, int flags, mode_t mode)
{
    int fd;
    do
        fd = open(path, flags | O_CLOEXEC, mode);
    while (fd < 0 && errno == EINTR);
    return fd;
}

static void is_directory(struct tf_err *err, const char *name)
{
    tf_fail(err, "%s: is a directory", name);
    err->sys = EISDIR;
}

/* ---- input ---- */

int tf_in_open(struct tf_in *in, const char *path, struct tf_err *err)
{
    *in = (struct tf_in){.fd = -1, .size = -1};
    struct stat st;
    const char *name = is_std(path) ? "stdin" : *path != 0 ? path : "''";
    int fd = is_std(path) ? 0 : open_retry(path, O_RDONLY, 0);
    if (fd < 0)
        return tf_fail_errno(err, "%s", name);
    if (fstat(fd, &st) != 0) {
        tf_fail_errno(err, "%s", name);
    } else if (S_ISDIR(st.st_mode)) {
        is_directory(err, name);
    } else {
        in->fd = fd;
        in->name = tf_xstrdup(name);
        in->cap = BUFFER;
        in->buf = tf_xmalloc(in->cap);
        in->size = S_ISREG(st.st_mode) ? (int64_t)st.st_size : -1;
        return 0;
    }
    if (fd > 0)
        close(fd);
    return -1;
}

void tf_in_close(struct tf_in *in)
{
    if (in->fd > 0 && in->name != NULL)
        close(in->fd);
    free(in->name);
    free(in->buf);
    *in = (struct tf_in){.fd = -1, .size = -1};
}

void tf_in_interpose(struct tf_in *in, struct tf_in *raw, tf_in_source *source, void *arg)
{
    *raw = *in;
    *in = (struct tf_in){.fd = -1,
                         .size = -1,
                         .name = tf_xstrdup(raw->name),
                         .cap = BUFFER,
                         .buf = tf_xmalloc(BUFFER),
                         .source = source,
                         .source_arg = arg};
}

/* One read that returned something: the count, 0 at the end (which stays), -1 on error. */
static ssize_t read_some(struct tf_in *in, void *dst, size_t n, struct tf_err *err)
{
    if (in->source != NULL && !in->eof) {
        ssize_t got = in->source(in->source_arg, dst, n, err);
        in->eof = got == 0;
        return got;
    }
    while (!in->eof) {
        ssize_t got = read(in->fd, dst, n < SSIZE_MAX ? n : SSIZE_MAX);
        if (got > 0)
            return got;
        if (got == 0)
            in->eof = true;
        else if (errno == EAGAIN || errno == EWOULDBLOCK)
            poll(&(struct pollfd){.fd = in->fd, .events = POLLIN}, 1, -1);
        else if (errno != EINTR)
            return tf_fail_errno(err, "%s: read", in->name);
    }
    return 0;
}

ssize_t tf_in_fill(struct tf_in *in, size_t need, struct tf_err *err)
{
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
        if (got == 0)
            break;
        in->len += (size_t)got;
    }
    return (ssize_t)(in->len - in->pos);
}

ssize_t tf_in_read(struct tf_in *in, void *dst, size_t n, struct tf_err *err)
{
    uint8_t *p = dst;
    size_t done = 0;
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
    if (in->pos < in->len || in->eof || in->source != NULL)
        return true;
    return poll(&(struct pollfd){.fd = in->fd, .events = POLLIN}, 1, 0) > 0;
}

/* The rest of a line that is too long: read past it, keep its first bytes at the start of the
 * buffer. */
static int long_line(struct tf_in *in, const char **line, size_t *n, struct tf_err *err)
{
    size_t total = in->len - in->pos;
    uint64_t at = in->offset + in->len; /* of the bytes read next */
    memmove(in->buf, in->buf + in->pos, LINE_HEAD < total ? LINE_HEAD : total);
    *line = (char *)in->buf;
    for (;;) {
        uint8_t *p = in->buf + LINE_HEAD;
        ssize_t got = read_some(in, p, in->cap - LINE_HEAD, err);
        if (got < 0)
            return -1;
        if (total < LINE_HEAD) /* only under a tiny max */
            memcpy(in->buf + total, p,
                   (size_t)got < LINE_HEAD - total ? (size_t)got : LINE_HEAD - total);
        uint8_t *lf = got > 0 ? memchr(p, '\n', (size_t)got) : NULL;
        total += lf != NULL ? (size_t)(lf - p) : (size_t)got;
        if (lf != NULL || got == 0) {
            in->offset = at - LINE_HEAD;
            in->pos = LINE_HEAD + (lf != NULL ? (size_t)(lf - p) + 1 : 0);
            in->len = LINE_HEAD + (size_t)got;
            *n = total;
            return 2;
        }
        at += (size_t)got;
    }
}

/* One byte more of a line whose start fills the buffer, or what one read gives. The buffer doubles,
 * so that a long line is not copied once per read. */
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
    for (;;) {
        size_t have = in->len - in->pos;
        uint8_t *p = in->buf + in->pos;
        uint8_t *lf = have > seen ? memchr(p + seen, '\n', have - seen) : NULL;
        size_t len = lf != NULL ? (size_t)(lf - p) : have;
        if (len <= max && (lf != NULL || (in->eof && have > 0))) {
            in->pos += len + (lf != NULL);
            *line = (char *)p;
            *n = len;
            return 1;
        }
        if (len > max && lf == NULL && !in->eof)
            return long_line(in, line, n, err);
        if (len > max) { /* all of it is in the buffer */
            in->pos += len + (lf != NULL);
            *line = (char *)p;
            *n = len;
            return 2;
        }
        if (in->eof)
            return 0;
        seen = have;
        if (more_of_line(in, max, err) < 0)
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
        seen = have;
        if (in->eof || have > max)
            return true;
        if (in->source == NULL &&
            poll(&(struct pollfd){.fd = in->fd, .events = POLLIN}, 1, 0) <= 0)
            return false;
        struct tf_err ignored = {0}; /* the read that follows meets the failure again */
        if (more_of_line(in, max, &ignored) < 0)
            return true;
    }
}

/* ---- temporaries that a process must not leave behind when it ends by exit() ---- */

struct temp {
    struct temp *next;
    pid_t owner;
    char name[];
};
static struct temp *temps;
static pthread_mutex_t temps_lock = PTHREAD_MUTEX_INITIALIZER;

/* Out of memory ends the process wherever it happens, in any thread; what it was writing goes
 * too. */
static void remove_temps(void)
{
    pthread_mutex_lock(&temps_lock);
    for (struct temp *t = temps; t != NULL; t = t->next)
        if (t->owner == getpid())
            unlink(t->name);
    pthread_mutex_unlock(&temps_lock);
}

/* Killed by a signal that can be caught: the same, then the death it asked for. Nothing that is
 * reachable from the list is freed while it is, so the list is read without the lock. */
static void remove_temps_and_die(int sig)
{
    for (struct temp *t = temps; t != NULL; t = t->next)
        if (t->owner == getpid())
            unlink(t->name);
    raise(sig); /* SA_RESETHAND has put the default back */
}

/* Only where nobody else handles the signal or has it ignored (nohup). */
static void catch_deadly_signals(void)
{
    static const int deadly[] = {SIGINT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < sizeof deadly / sizeof *deadly; i++) {
        struct sigaction now,
            ours = {.sa_handler = remove_temps_and_die, .sa_flags = (int)SA_RESETHAND};
        sigemptyset(&ours.sa_mask);
        if (sigaction(deadly[i], NULL, &now) == 0 && !(now.sa_flags & SA_SIGINFO) &&
            now.sa_handler == SIG_DFL)
            sigaction(deadly[i], &ours, NULL);
    }
}

static void remember_temp(const char *name)
{
    static bool registered;
    size_t n = strlen(name) + 1;
    struct temp *t = malloc(sizeof *t + n);
    if (t == NULL)
        return;
    t->owner = getpid();
    memcpy(t->name, name, n);
    pthread_mutex_lock(&temps_lock);
    t->next = temps;
    temps = t;
    if (!registered) {
        registered = atexit(remove_temps) == 0;
        catch_deadly_signals();
    }
    pthread_mutex_unlock(&temps_lock);
}

static void forget_temp(const char *name)
{
    pthread_mutex_lock(&temps_lock);
    for (struct temp **t = &temps, *gone; (gone = *t) != NULL; t = &gone->next)
        if (strcmp(gone->name, name) == 0) {
            *t = gone->next;
            free(gone);
            break;
        }
    pthread_mutex_unlock(&temps_lock);
}

/* ---- output ---- */

/* The descriptor that /dev/stdout, /dev/stderr, /dev/fd/N or /proc/self/fd/N is a name of; -1 for
 * every other path. */
static int named_descriptor(const char *path)
{
    static const char *const dirs[] = {"/dev/fd/", "/proc/self/fd/"};
    if (strcmp(path, "/dev/stdout") == 0 || strcmp(path, "/dev/stderr") == 0)
        return path[8] == 'o' ? 1 : 2;
    for (int i = 0; i < 2; i++) {
        const char *n = path + strlen(dirs[i]);
        if (strncmp(path, dirs[i], strlen(dirs[i])) == 0 && *n != 0 && strlen(n) <= 8 &&
            strspn(n, "0123456789") == strlen(n))
            return (int)strtol(n, NULL, 10);
    }
    return -1;
}

static int open_temp(struct tf_out *out, mode_t mode, bool keep_mode, struct tf_err *err)
{
    const char *slash = strrchr(out->path, '/');
    int dir = slash != NULL ? (int)(slash - out->path) + 1 : 0;
    struct tf_buf name = {0};
    /* A second name only where an earlier process of the same id was killed before its rename. */
    for (int i = 0; i < 100; i++) {
        tf_buf_clear(&name);
        tf_buf_printf(&name, "%.*s.tf-%.200s.tmp.%ld", dir, out->path, out->path + dir,
                      (long)getpid());
        if (i > 0)
            tf_buf_printf(&name, ".%d", i);
        out->fd = open_retry(name.p, O_WRONLY | O_CREAT | O_EXCL, mode);
        if (out->fd >= 0 || errno != EEXIST)
            break;
    }
    if (out->fd < 0) {
        tf_fail_errno(err, "%s: cannot create a file beside it", out->name);
        tf_buf_release(&name);
        return -1;
    }
    if (keep_mode && fchmod(out->fd, mode) != 0 && errno != EPERM)
        tf_fail_errno(err, "%s: chmod", out->name);
    out->temp = name.p;
    remember_temp(out->temp);
    return err->msg[0] != 0 ? -1 : 0;
}

int tf_out_open(struct tf_out *out, const char *path, unsigned flags, struct tf_err *err)
{
    *out = (struct tf_out){.fd = 1};
    out->name = tf_xstrdup(is_std(path) ? "stdout" : path);
    out->cap = BUFFER;
    out->buf = tf_xmalloc(out->cap);
    struct tf_err e = {0};
    struct stat st;
    if (is_std(path)) {
        if ((flags & TF_OUT_BINARY) && isatty(1))
            tf_fail_status(&e, TF_USAGE, "stdout: will not write binary data to a terminal");
    } else if (*path == 0) {
        tf_fail(&e, "'': empty file name");
    } else if (named_descriptor(path) >= 0) {
        /* Not opened anew: its offset and O_APPEND are those of what else is written there. */
        out->fd = fcntl(named_descriptor(path), F_DUPFD_CLOEXEC, 3);
        if (out->fd < 0)
            tf_fail_errno(&e, "%s", path);
    } else {
        bool exists = stat(path, &st) == 0;
        out->fd = -1;
        if (!exists && errno != ENOENT) {
            tf_fail_errno(&e, "%s", path);
        } else if (exists && S_ISDIR(st.st_mode)) {
            is_directory(&e, path);
        } else if (exists && !S_ISREG(st.st_mode)) {
            out->fd = open_retry(path, O_WRONLY, 0666);
            if (out->fd < 0)
                tf_fail_errno(&e, "%s", path);
        } else {
            struct stat link;
            bool linked = lstat(path, &link) == 0 && S_ISLNK(link.st_mode);
            /* The new file is ours: another owner's mode would grant rights that we never gave, and
             * set-id bits would apply to us. */
            bool keep = exists && st.st_uid == geteuid();
            out->path = linked ? realpath(path, NULL) : tf_xstrdup(path);
            if (out->path == NULL)
                tf_fail_errno(&e, "%s: symbolic link", path);
            else
                open_temp(out, keep ? st.st_mode & 0777 : 0666, keep, &e);
        }
    }
    if (e.msg[0] != 0) {
        *err = e;
        tf_out_abort(out);
        return -1;
    }
    return 0;
}

int tf_write_fd(int fd, const char *name, const void *data, size_t n, struct tf_err *err)
{
    const uint8_t *p = data;
    while (n > 0) {
        ssize_t put = write(fd, p, n < SSIZE_MAX ? n : SSIZE_MAX);
        if (put >= 0) {
            p += put;
            n -= (size_t)put;
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            poll(&(struct pollfd){.fd = fd, .events = POLLOUT}, 1, -1);
        } else if (errno != EINTR) {
            return tf_fail_errno(err, "%s: write", name);
        }
    }
    return 0;
}

static int write_all(struct tf_out *out, const uint8_t *p, size_t n, struct tf_err *err)
{
    if (out->failed)
        return tf_fail(err, "%s: an earlier write failed", out->name);
    out->failed = tf_write_fd(out->fd, out->name, p, n, err) < 0;
    return out->failed ? -1 : 0;
}

int tf_out_flush(struct tf_out *out, struct tf_err *err)
{
    size_t n = out->len;
    out->len = 0;
    return write_all(out, out->buf, n, err);
}

int tf_out_write(struct tf_out *out, const void *p, size_t n, struct tf_err *err)
{
    out->offset += n;
    if (n > out->cap - out->len && tf_out_flush(out, err) != 0)
        return -1;
    if (n >= out->cap)
        return write_all(out, p, n, err);
    if (n > 0)
        memcpy(out->buf + out->len, p, n);
    out->len += n;
    return 0;
}

int tf_out_printf(struct tf_out *out, struct tf_err *err, const char *fmt, ...)
{
    va_list ap, again;
    va_start(ap, fmt);
    va_copy(again, ap);
    char text[512];
    int n = vsnprintf(text, sizeof text, fmt, ap), rc = 0;
    if (n >= (int)sizeof text) {
        char *p = tf_xmalloc((size_t)n + 1);
        vsnprintf(p, (size_t)n + 1, fmt, again);
        rc = tf_out_write(out, p, (size_t)n, err);
        free(p);
    } else if (n > 0) {
        rc = tf_out_write(out, text, (size_t)n, err);
    }
    va_end(again);
    va_end(ap);
    return rc;
}

int tf_out_commit(struct tf_out *out, struct tf_err *err)
{
    int rc = tf_out_flush(out, err);
    if (out->fd > 1) {
        /* Pipes and devices have nothing to sync and say EINVAL. */
        if (rc == 0 && fsync(out->fd) != 0 && errno != EINVAL && errno != EROFS && errno != ENOTSUP)
            rc = tf_fail_errno(err, "%s: fsync", out->name);
        if (close(out->fd) != 0 && rc == 0)
            rc = tf_fail_errno(err, "%s: close", out->name);
        out->fd = -1;
    }
    if (rc == 0 && out->temp != NULL) {
        if (rename(out->temp, out->path) != 0) {
            rc = tf_fail_errno(err, "%s: rename", out->name);
        } else {
            forget_temp(out->temp);
            free(out->temp);
            out->temp = NULL;
            rc = tf_sync_dir(out->path, err);
        }
    }
    tf_out_abort(out);
    return rc;
}

int tf_out_finish(struct tf_out *out, int rc, struct tf_err *err)
{
    struct tf_err later = {0};
    if (rc == 0)
        rc = tf_out_commit(out, err);
    else if (out->path == NULL && tf_out_flush(out, &later) < 0 && err->sys == 0)
        *err = later;
    tf_out_abort(out);
    return rc;
}

void tf_out_abort(struct tf_out *out)
{
    if (out->name == NULL)
        return;
    if (out->fd > 1)
        close(out->fd);
    /* One that can't be removed now is tried again when the process ends. */
    if (out->temp != NULL && (unlink(out->temp) == 0 || errno == ENOENT))
        forget_temp(out->temp);
    free(out->temp);
    free(out->path);
    free(out->name);
    free(out->buf);
    *out = (struct tf_out){.fd = -1};
}

/* ---- small ones ---- */

int tf_in_all(struct tf_in *in, char **data, size_t *n, size_t max, struct tf_err *err)
{
    /* one more than a file has: a read that comes back short is the end */
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
    p[len] = 0; /* for those who parse it as text */
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

int tf_sync_dir(const char *path, struct tf_err *err)
{
    char *copy = tf_xstrdup(path);
    int rc = 0, fd = open_retry(dirname(copy), O_RDONLY | O_DIRECTORY, 0);
    if (fd < 0 || (fsync(fd) != 0 && errno != EINVAL && errno != EROFS))
        rc = tf_fail_errno(err, "%s: fsync of its directory", path);
    if (fd >= 0)
        close(fd);
    free(copy);
    return rc;
}

bool tf_same_file(const char *a, const char *b)
{
    struct stat x, y;
    return (is_std(a) ? fstat(0, &x) : stat(a, &x)) == 0 &&
           (is_std(b) ? fstat(1, &y) : stat(b, &y)) == 0 && S_ISREG(x.st_mode) &&
           x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

size_t tf_count_stdin(const char *const *paths, size_t n)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        count += paths[i] != NULL && strcmp(paths[i], "-") == 0;
    return count;
}
