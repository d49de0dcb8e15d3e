/* fd.c - open, poll, write and fsync. */
#include "base/fd.h"
#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

int tf_fd_open_at(int dir, const char *path, int flags, mode_t mode)
{
    int fd;
    do
        fd = openat(dir, path, flags | O_CLOEXEC, mode);
    while (fd < 0 && errno == EINTR);
    return fd;
}

int tf_fd_open(const char *path, int flags, mode_t mode)
{
    return tf_fd_open_at(AT_FDCWD, path, flags, mode);
}

bool tf_fd_readable(int fd)
{
    return poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, 0) > 0;
}

int tf_fd_write(int fd, const char *name, const void *data, size_t n, struct tf_err *err)
{
    const uint8_t *p = data;
    while (n > 0) {
        ssize_t written = write(fd, p, n < SSIZE_MAX ? n : SSIZE_MAX);
        if (written >= 0) {
            p += written;
            n -= (size_t)written;
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            poll(&(struct pollfd){.fd = fd, .events = POLLOUT}, 1, -1);
        } else if (errno != EINTR) {
            return tf_fail_errno(err, "%s: write", name);
        }
    }
    return 0;
}

int tf_sync_dir_at(int dir, const char *path, struct tf_err *err)
{
    if (dir < 0 || (fsync(dir) != 0 && errno != EINVAL && errno != EROFS))
        return tf_fail_errno(err, "%s: fsync of its directory", path);
    return 0;
}

int tf_sync_dir(const char *path, struct tf_err *err)
{
    char *copy = tf_xstrdup(path);
    int fd = tf_fd_open(dirname(copy), O_RDONLY | O_DIRECTORY, 0);
    free(copy);
    if (fd < 0 && errno == EACCES) /* a directory that we may write to, but not read */
        return 0;
    int rc = tf_sync_dir_at(fd, path, err);
    if (fd >= 0)
        close(fd);
    return rc;
}
