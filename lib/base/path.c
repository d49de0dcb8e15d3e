/* path.c - what a path refers to. */
#include "base/path.h"
#include "base/buf.h"
#include "base/memory.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool tf_is_std(const char *path)
{
    return path == NULL || strcmp(path, "-") == 0;
}

bool tf_is_own_std(const char *path)
{
    static const char *const names[] = {"/dev/stdin", "/dev/stdout",     "/dev/fd/0",
                                        "/dev/fd/1",  "/proc/self/fd/0", "/proc/self/fd/1"};
    bool is = tf_is_std(path);
    for (size_t i = 0; !is && i < sizeof names / sizeof *names; i++)
        is = strcmp(path, names[i]) == 0;
    return is;
}

size_t tf_count_std(const char *const *paths, size_t n)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        count += paths[i] != NULL && strcmp(paths[i], "-") == 0;
    return count;
}

bool tf_same_file(const char *input, const char *output)
{
    struct stat in, out;
    return (tf_is_std(input) ? fstat(0, &in) : stat(input, &in)) == 0 &&
           (tf_is_std(output) ? fstat(1, &out) : stat(output, &out)) == 0 && S_ISREG(in.st_mode) &&
           in.st_dev == out.st_dev && in.st_ino == out.st_ino;
}

/* What a symbolic link refers to, relative to the same directory as path; NULL with errno. */
static char *follow_link(const char *path)
{
    char to[PATH_MAX];
    ssize_t n = readlink(path, to, sizeof to);
    if (n < 0 || n == (ssize_t)sizeof to) {
        errno = n < 0 ? errno : ENAMETOOLONG;
        return NULL;
    }
    const char *slash = to[0] != '/' ? strrchr(path, '/') : NULL;
    struct tf_buf b = {0};
    if (slash != NULL)
        tf_buf_add(&b, path, (size_t)(slash - path) + 1);
    tf_buf_add(&b, to, (size_t)n);
    tf_buf_byte(&b, 0);
    return b.p;
}

const char *tf_path_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

/* The directory of a path, without links, and its last part. */
static char *real_parent(const char *path)
{
    const char *name = tf_path_name(path);
    char *dir = name > path ? tf_xstrndup(path, (size_t)(name - path)) : tf_xstrdup("."),
         *real = realpath(dir, NULL);
    free(dir);
    if (real == NULL)
        return NULL;
    struct tf_buf b = {0};
    tf_buf_printf(&b, "%s/%s", strcmp(real, "/") != 0 ? real : "", name);
    free(real);
    return b.p;
}

char *tf_path_target(const char *path)
{
    enum { MOST_LINKS = 40 }; /* the kernel's limit */
    char *real = realpath(path, NULL), *now = NULL, *next;
    if (real != NULL || errno != ENOENT)
        return real;
    for (int i = 0; i < MOST_LINKS && (next = follow_link(now != NULL ? now : path)) != NULL; i++) {
        free(now);
        now = next;
    }
    if (errno == EINVAL || errno == ENOENT) /* no link, or no file */
        real = real_parent(now != NULL ? now : path);
    int sys = errno;
    free(now);
    errno = sys;
    return real;
}

int tf_fail_directory(struct tf_err *err, const char *name)
{
    tf_fail(err, "%s: is a directory", name);
    err->sys = EISDIR;
    return -1;
}
