/* retain.c - see retain.h. */
#include "train/store/retain.h"
#include "base/fd.h"
#include "base/path.h"
#include "train/store/newest.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int copy(const struct tf_rundir *d, const char *from, const char *to, struct tf_err *err)
{
    struct tf_in in;
    struct tf_out out;
    ssize_t n;
    if (tf_rundir_input(d, &in, from, 0, err) != 0)
        return -1;
    if (tf_rundir_create(d, &out, to, err) != 0) {
        tf_in_close(&in);
        return -1;
    }
    while ((n = tf_in_fill(&in, 1, err)) > 0) {
        if (tf_out_write(&out, in.buf + in.pos, (size_t)n, err) != 0) {
            n = -1;
            break;
        }
        in.pos += (size_t)n;
    }
    tf_in_close(&in);
    if (n == 0)
        return tf_out_commit(&out, err);
    tf_out_abort(&out);
    return -1;
}

int tf_rundir_make_best(const struct tf_rundir *d, const char *path, struct tf_err *err)
{
    char temp[48], *best = tf_rundir_file(d->path, TF_RUN_BEST);
    const char *name = tf_path_name(path);
    int rc = 0;
    snprintf(temp, sizeof temp, ".tf-" TF_RUN_BEST ".tmp.%ld", (long)getpid());
    unlinkat(d->fd, temp, 0);
    if (linkat(d->fd, name, d->fd, temp, 0) != 0)
        rc = copy(d, name, TF_RUN_BEST, err); /* a file system without hard links */
    else if (renameat(d->fd, temp, d->fd, TF_RUN_BEST) != 0)
        rc = tf_fail_errno(err, "%s: rename", best);
    else
        rc = tf_sync_dir_at(d->fd, best, err);
    unlinkat(d->fd, temp, 0); /* rename does nothing when both names are one file */
    free(best);
    return rc;
}

bool tf_rundir_best_is(const struct tf_rundir *d, uint64_t step)
{
    struct tf_checkpoint_file best;
    struct tf_err why;
    bool there = tf_rundir_peek(&best, d, TF_RUN_BEST, &why);
    free(best.path);
    return there && why.status == 0 && best.step == step;
}

static int remove_checkpoint(const struct tf_rundir *d, const char *path, struct tf_err *err)
{
    return unlinkat(d->fd, tf_path_name(path), 0) != 0 && errno != ENOENT
               ? tf_fail_errno(err, "%s: unlink", path)
               : 0;
}

int tf_rundir_retain(const struct tf_rundir *d, uint64_t keep, uint64_t end, uint64_t step,
                     struct tf_err *err)
{
    struct tf_checkpoint_list l;
    struct tf_checkpoint_file resume;
    struct tf_err why;
    int rc = 0;
    if (tf_rundir_list_of(&l, tf_rundir_entries(d), d->path, err) != 0)
        return -1;
    /* Files of later steps are damaged ones that a resumed run skipped: they do not count. */
    size_t n = 0;
    while (n < l.n && l.v[n].step <= step)
        n++;
    if (n > 1 && end > 0 && l.v[n - 2].step == end) {
        rc = remove_checkpoint(d, l.v[n - 2].path, err);
        struct tf_checkpoint_file gone = l.v[n - 2];
        l.v[n - 2] = l.v[n - 1];
        l.v[n - 1] = gone;
        n--;
    }
    for (size_t i = 0; keep > 0 && rc == 0 && i + keep < n; i++)
        rc = remove_checkpoint(d, l.v[i].path, err);
    if (rc == 0 && tf_rundir_peek(&resume, d, TF_RUN_RESUME, &why)) {
        if (why.status == 0 && resume.step <= step)
            rc = remove_checkpoint(d, resume.path, err);
        free(resume.path);
    }
    tf_checkpoint_list_release(&l);
    return rc;
}
