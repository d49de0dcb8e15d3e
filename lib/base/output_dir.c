/* output_dir.c - see output_dir.h. */
#include "base/output_dir.h"
#include "base/temp_private.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

static int is_there(const char *path, struct tf_err *err)
{
    return tf_fail(err, "%s: is there already; name a new directory", path);
}

int tf_out_dir_open(struct tf_out_dir *d, const char *path, const char *const *names, size_t n,
                    struct tf_err *err)
{
    struct stat st;
    *d = (struct tf_out_dir){.fd = -1};
    if (lstat(path, &st) == 0)
        return is_there(path, err);
    d->fd = tf_temp_create_dir(&d->temp, path, names, n);
    return d->fd >= 0 ? 0 : tf_fail_errno(err, "%s", path);
}

int tf_out_dir_commit(struct tf_out_dir *d, const char *path, struct tf_err *err)
{
    int rc = fsync(d->fd) == 0 ? 0 : tf_fail_errno(err, "%s: fsync", path);
    if (rc != 0)
        tf_temp_remove(d->temp);
    else
        rc = tf_temp_finish(d->temp, path, path, err);
    if (rc != 0 && err->sys == EEXIST)
        rc = is_there(path, err);
    *d = (struct tf_out_dir){.fd = -1};
    return rc;
}

void tf_out_dir_abort(struct tf_out_dir *d)
{
    if (d->temp != NULL)
        tf_temp_remove(d->temp);
    *d = (struct tf_out_dir){.fd = -1};
}
