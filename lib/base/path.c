/* path.c - what a path refers to. */
#include "base/path.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

bool tf_is_std(const char *path)
{
    return path == NULL || strcmp(path, "-") == 0;
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

int tf_fail_directory(struct tf_err *err, const char *name)
{
    tf_fail(err, "%s: is a directory", name);
    err->sys = EISDIR;
    return -1;
}
