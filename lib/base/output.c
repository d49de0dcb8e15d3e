/* output.c - buffered output over write(2). */
#include "base/output.h"
#include "base/buf.h"
#include "base/fd.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/rights_private.h"
#include "base/temp_private.h"
#include "base/terminal_private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BUFFER = 64 << 10 };

/* The descriptor that /dev/stdout, /dev/stderr, /dev/fd/N or /proc/self/fd/N names; -1 for every
 * other path. */
static int named_descriptor(const char *path)
{
    static const char *const dirs[] = {"/dev/fd/", "/proc/self/fd/"};
    if (strcmp(path, "/dev/stdout") == 0)
        return 1;
    if (strcmp(path, "/dev/stderr") == 0)
        return 2;
    for (int i = 0; i < 2; i++) {
        const char *n = path + strlen(dirs[i]);
        if (strncmp(path, dirs[i], strlen(dirs[i])) == 0 && *n != 0 && strlen(n) <= 8 &&
            strspn(n, "0123456789") == strlen(n))
            return (int)strtol(n, NULL, 10);
    }
    return -1;
}

void tf_out_return(struct tf_out *out)
{
    if (out->adopted)
        (void)!rename(out->part, out->path);
    out->adopted = false;
}

/* For this process alone. */
static int lock_part(struct tf_out *out, unsigned flags, mode_t mode, struct tf_err *err)
{
    out->fd = tf_fd_open(out->part, O_RDWR | O_CREAT, mode);
    if (out->fd < 0)
        return tf_fail_errno(err, "%s", out->part);
    struct stat is, named; /* another process may have given it its last name meanwhile */
    if (flock(out->fd, LOCK_EX | LOCK_NB) != 0 || fstat(out->fd, &is) != 0 ||
        stat(out->part, &named) != 0 || is.st_ino != named.st_ino || is.st_dev != named.st_dev) {
        close(out->fd); /* what another process writes is not ours to remove */
        out->fd = -1;
        return tf_fail_status(err, TF_AGAIN, "%s: in use by another process", out->part);
    }
    if ((flags & TF_OUT_CONTINUE ? lseek(out->fd, 0, SEEK_END) : ftruncate(out->fd, 0)) < 0)
        return tf_fail_errno(err, "%s", out->part);
    return 0;
}

/* PATH.part. exists: there is a file that has the path. */
static int open_part(struct tf_out *out, bool exists, unsigned flags, mode_t mode,
                     struct tf_err *err)
{
    struct tf_buf name = {0};
    tf_buf_printf(&name, "%s.part", out->path);
    out->part = name.p;
    if ((flags & TF_OUT_CONTINUE) && exists && access(out->part, F_OK) != 0) {
        if (rename(out->path, out->part) != 0)
            return tf_fail_errno(err, "%s: rename to %s", out->path, out->part);
        out->adopted = true;
    }
    if (lock_part(out, flags, mode, err) == 0)
        return 0;
    tf_out_return(out);
    return -1;
}

/* st: of the file that will be replaced; NULL if there is none. */
static int open_temp(struct tf_out *out, const struct stat *st, unsigned flags, struct tf_err *err)
{
    /* We own the new file: the mode of another owner's file would grant rights that we never gave,
     * and set-id bits would apply to us. */
    const bool keep = st != NULL && st->st_uid == geteuid();
    /* Nobody else may open it before it has its rights. */
    const mode_t mode = keep ? st->st_mode & 0700 : 0666;
    if ((flags & TF_OUT_PART) && open_part(out, st != NULL, flags, mode, err) != 0)
        return -1;
    if (out->part == NULL)
        out->fd = tf_temp_create(&out->temp, out->dir, out->path, mode);
    if (out->fd < 0)
        return tf_fail_errno(err, "%s: cannot create a temporary file in its directory", out->name);
    if (keep && !out->adopted && tf_rights_copy(out->fd, out->dir, out->path, st) != 0 &&
        errno != EPERM)
        return tf_fail_errno(err, "%s: chmod", out->name);
    return 0;
}

static int open_path(struct tf_out *out, const char *path, unsigned flags, struct tf_err *err)
{
    struct stat st, link;
    if (*path == 0)
        return tf_fail(err, "'': empty file name");
    if (named_descriptor(path) >= 0) {
        /* A duplicate shares offset and O_APPEND with the descriptor; open(2) would not. */
        out->fd = fcntl(named_descriptor(path), F_DUPFD_CLOEXEC, 3);
        return out->fd < 0 ? tf_fail_errno(err, "%s", path) : 0;
    }
    bool exists = stat(path, &st) == 0;
    if (!exists && errno != ENOENT)
        return tf_fail_errno(err, "%s", path);
    if (exists && S_ISDIR(st.st_mode))
        return tf_fail_directory(err, path);
    if ((exists && !S_ISREG(st.st_mode)) || (flags & TF_OUT_IN_PLACE)) {
        const int create = flags & TF_OUT_IN_PLACE ? O_CREAT | O_TRUNC : 0;
        out->fd = tf_fd_open(path, O_WRONLY | create, 0666);
        return out->fd < 0 ? tf_fail_errno(err, "%s", path) : 0;
    }
    bool linked = lstat(path, &link) == 0 && S_ISLNK(link.st_mode);
    out->path = linked ? tf_path_target(path) : tf_xstrdup(path);
    if (out->path == NULL)
        return tf_fail_errno(err, "%s: symbolic link", path);
    return open_temp(out, exists ? &st : NULL, flags, err);
}

static int open_own(struct tf_out *out, const char *base, struct tf_err *err)
{
    struct stat st;
    bool exists = fstatat(out->dir, base, &st, AT_SYMLINK_NOFOLLOW) == 0;
    if (!exists && errno != ENOENT)
        return tf_fail_errno(err, "%s", out->name);
    if (exists && S_ISDIR(st.st_mode))
        return tf_fail_directory(err, out->name);
    exists = exists && !S_ISLNK(st.st_mode);
    if (exists && !S_ISREG(st.st_mode))
        return tf_fail(err, "%s: not a regular file", out->name);
    out->path = tf_xstrdup(base);
    return open_temp(out, exists ? &st : NULL, 0, err);
}

static struct tf_out new_output(int fd, int dir, const char *name)
{
    return (struct tf_out){
        .fd = fd, .name = tf_xstrdup(name), .dir = dir, .cap = BUFFER, .buf = tf_xmalloc(BUFFER)};
}

int tf_out_open_at(struct tf_out *out, int dir, const char *base, const char *path,
                   struct tf_err *err)
{
    *out = new_output(-1, dir, path);
    int rc = open_own(out, base, err);
    if (rc < 0)
        tf_out_abort(out);
    return rc;
}

int tf_out_open(struct tf_out *out, const char *path, unsigned flags, struct tf_err *err)
{
    bool std = tf_is_std(path);
    *out = new_output(std ? 1 : -1, AT_FDCWD, std ? "stdout" : path);
    int rc = std ? 0 : open_path(out, path, flags, err);
    if (rc == 0 && (flags & TF_OUT_BINARY) && isatty(out->fd))
        rc = tf_fail_status(err, TF_USAGE, "%s: will not write binary data to a terminal",
                            out->name);
    if (rc < 0)
        tf_out_abort(out);
    return rc;
}

static int write_all(struct tf_out *out, const uint8_t *p, size_t n, struct tf_err *err)
{
    if (out->failed)
        return tf_fail(err, "%s: an earlier write failed", out->name);
    if (n > 0 && out->path == NULL && out->fd >= 0)
        tf_terminal_use(out->fd);
    out->failed = tf_fd_write(out->fd, out->name, p, n, err) != 0;
    if (out->failed && err->sys == EPIPE)
        err->status = TF_READER_LEFT;
    return out->failed ? -1 : 0;
}

int tf_out_flush(struct tf_out *out, struct tf_err *err)
{
    size_t n = out->len;
    out->len = 0;
    return write_all(out, out->buf, n, err);
}

const char *tf_out_temp_name(const struct tf_out *out)
{
    return out->part != NULL   ? tf_path_name(out->part)
           : out->temp != NULL ? tf_temp_name(out->temp)
                               : NULL;
}

bool tf_out_is_file(const struct tf_out *out)
{
    struct stat st;
    return fstat(out->fd, &st) == 0 && S_ISREG(st.st_mode);
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

/* fsync and close, unless it is stdout. */
static int close_file(struct tf_out *out, int rc, struct tf_err *err)
{
    if (out->fd <= 1)
        return rc;
    /* Pipes and devices have nothing to sync: EINVAL. */
    if (rc == 0 && fsync(out->fd) != 0 && errno != EINVAL && errno != EROFS && errno != ENOTSUP)
        rc = tf_fail_errno(err, "%s: fsync", out->name);
    if (close(out->fd) != 0 && rc == 0)
        rc = tf_fail_errno(err, "%s: close", out->name);
    out->fd = -1;
    return rc;
}

int tf_out_commit(struct tf_out *out, struct tf_err *err)
{
    int rc = tf_out_flush(out, err);
    /* While it is locked: nobody else may empty it before it has its name. */
    if (rc == 0 && out->part != NULL &&
        (fsync(out->fd) != 0 || rename(out->part, out->path) != 0))
        rc = tf_fail_errno(err, "%s: rename", out->part);
    rc = close_file(out, rc, err);
    if (rc == 0 && out->temp != NULL) {
        rc = tf_temp_finish(out->temp, out->path, out->name, err);
        out->temp = NULL;
    }
    if (rc == 0 && out->part != NULL)
        rc = tf_sync_dir(out->path, err);
    tf_out_abort(out);
    return rc;
}

int tf_out_finish(struct tf_out *out, int rc, struct tf_err *err)
{
    struct tf_err later = {0};
    if (rc == 0)
        rc = tf_out_commit(out, err);
    else if (out->path == NULL && !out->failed && tf_out_flush(out, &later) != 0)
        tf_fail_later(err, &later);
    tf_out_abort(out);
    return rc;
}

void tf_out_abort(struct tf_out *out)
{
    if (out->name == NULL)
        return;
    struct stat st;
    if (out->part != NULL && out->fd >= 0 && fstat(out->fd, &st) == 0 && st.st_size == 0)
        unlink(out->part); /* nothing to continue */
    if (out->fd > 1)
        close(out->fd);
    if (out->temp != NULL)
        tf_temp_remove(out->temp);
    free(out->part);
    free(out->path);
    free(out->name);
    free(out->buf);
    *out = (struct tf_out){.fd = -1};
}
