/* rundir.c - the directory of a run. */
#include "train/store/rundir.h"
#include "base/fd.h"
#include "base/memory.h"
#include "base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- files ---- */

DIR *tf_rundir_entries(const struct tf_rundir *d)
{
    int fd = tf_fd_open_at(d->fd, ".", O_RDONLY | O_DIRECTORY, 0);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    if (dir == NULL && fd >= 0) {
        int sys = errno;
        close(fd);
        errno = sys;
    }
    return dir;
}

int tf_rundir_open_file(const struct tf_rundir *d, const char *name, int flags, struct tf_err *err)
{
    struct stat st;
    char *path = tf_rundir_file(d->path, name);
    int rc = 0, fd = tf_fd_open_at(d->fd, name, flags | O_NONBLOCK, 0666);
    if (fd < 0)
        rc = errno == ELOOP && (flags & O_NOFOLLOW)
                 ? tf_fail(err, "%s: a symbolic link, not a file of a run", path)
                 : tf_fail_errno(err, "%s", path);
    else if (fstat(fd, &st) != 0)
        rc = tf_fail_errno(err, "%s", path);
    else if (S_ISDIR(st.st_mode))
        rc = tf_fail_directory(err, path);
    else if (!S_ISREG(st.st_mode))
        rc = tf_fail(err, "%s: not a regular file", path);
    free(path);
    if (rc == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

int tf_rundir_create(const struct tf_rundir *d, struct tf_out *out, const char *name,
                     struct tf_err *err)
{
    char *path = tf_rundir_file(d->path, name);
    int rc = tf_out_open_at(out, d->fd, name, path, err);
    free(path);
    return rc;
}

int tf_rundir_input(const struct tf_rundir *d, struct tf_in *in, const char *name, int flags,
                    struct tf_err *err)
{
    int fd = tf_rundir_open_file(d, name, O_RDONLY | flags, err);
    if (fd < 0)
        return -1;
    char *path = tf_rundir_file(d->path, name);
    tf_in_from_fd(in, fd, path);
    free(path);
    return 0;
}

int tf_rundir_read(const struct tf_rundir *d, const char *name, struct tf_model_file *m,
                   unsigned flags, struct tf_err *err)
{
    struct tf_in in;
    if (tf_rundir_input(d, &in, name, 0, err) != 0)
        return -1;
    int rc = tf_model_read_in(m, &in, flags, 0, err);
    tf_in_close(&in);
    return rc;
}

static int refuse_foreign(const char *path, struct tf_err *err)
{
    return tf_fail(err, "%s: not written by tf-train: move it, or choose another directory", path);
}

/* A log begins with an event. After a power cut it may be empty, cut short or begin with zeros. */
static int check_log(const struct tf_rundir *d, struct tf_err *err)
{
    static const char begin[] = "{\"event\":\"";
    char *path = tf_rundir_file(d->path, TF_RUN_LOG), head[sizeof begin - 1];
    struct tf_err e = {0};
    int rc = 0, fd = tf_rundir_open_file(d, TF_RUN_LOG, O_RDONLY | O_NOFOLLOW, &e);
    if (fd >= 0) {
        ssize_t n = read(fd, head, sizeof head);
        if (n < 0)
            rc = tf_fail_errno(err, "%s: read", path);
        else if (n > 0 && head[0] != 0 && memcmp(head, begin, (size_t)n) != 0)
            rc = refuse_foreign(path, err);
        close(fd);
    } else if (e.sys != ENOENT) {
        *err = e;
        rc = -1;
    }
    free(path);
    return rc;
}

/* Who may open the lock can also lock it, and so keep a run from starting: only those who may write
 * may read. */
static int create_lock(int dir)
{
    mode_t mask = umask(077), mode;
    umask(mask); /* there are no other threads yet */
    mode = 0222 & ~mask;
    int fd = tf_fd_open_at(dir, TF_RUN_LOCK, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
    if (fd >= 0)
        (void)fchmod(fd, 0600 | mode | mode << 1); /* without it: ours alone */
    return fd;
}

static int open_lock(const struct tf_rundir *d, const char *path, struct tf_err *err)
{
    /* Others create and remove it at the same time. */
    for (int i = 0; i < 100; i++) {
        struct tf_err e = {0};
        struct stat st;
        int fd = tf_rundir_open_file(d, TF_RUN_LOCK, O_RDWR | O_NOFOLLOW, &e);
        if (fd >= 0) {
            if (fstat(fd, &st) == 0 && st.st_uid == geteuid())
                (void)fchmod(fd, st.st_mode & 0777 & ~(0444 & ~(st.st_mode << 1)));
            return fd;
        }
        if (e.sys != ENOENT) {
            *err = e;
            return -1;
        }
        fd = create_lock(d->fd);
        if (fd >= 0)
            return fd;
        if (errno != EEXIST)
            break;
    }
    return tf_fail_errno(err, "%s", path);
}

/* Read the process id from the lock; "" if there is none, as after the end of a run. -1: it is
 * another kind of file. */
static int read_pid(const struct tf_rundir *d, char *pid, size_t size)
{
    ssize_t n = pread(d->lock, pid, size - 1, 0);
    pid[n > 0 ? n : 0] = 0;
    size_t digits = strspn(pid, "0123456789");
    bool ours = pid[digits] == 0 || strcmp(pid + digits, "\n") == 0;
    pid[digits] = 0;
    return n < 0 || !ours ? -1 : 0;
}

static int lock_it(struct tf_rundir *d, const char *path, struct tf_err *err)
{
    char pid[32];
    bool locked = flock(d->lock, LOCK_EX | LOCK_NB) == 0;
    if (!locked && errno != EWOULDBLOCK)
        return tf_fail_errno(err, "%s: flock", path);
    if (read_pid(d, pid, sizeof pid) != 0)
        return refuse_foreign(path, err);
    if (!locked)
        return tf_fail_status(err, TF_AGAIN, "%s: in use by process %s", d->path,
                              pid[0] != 0 ? pid : "unknown");
    d->locked = true;
    int n = snprintf(pid, sizeof pid, "%ld\n", (long)getpid());
    if (ftruncate(d->lock, 0) != 0 || pwrite(d->lock, pid, (size_t)n, 0) != n)
        return tf_fail_errno(err, "%s: write", path);
    return tf_rundir_check_lock(d, err); /* it may have been removed before it was locked */
}

static int take_lock(struct tf_rundir *d, struct tf_err *err)
{
    char *path = tf_rundir_file(d->path, TF_RUN_LOCK);
    d->lock = open_lock(d, path, err);
    int rc = d->lock < 0 ? -1 : lock_it(d, path, err);
    free(path);
    return rc;
}

int tf_rundir_check_lock(const struct tf_rundir *d, struct tf_err *err)
{
    char *path = tf_rundir_file(d->path, TF_RUN_LOCK);
    struct stat held, named;
    int rc = 0;
    bool there = lstat(path, &named) == 0;
    if ((!there && errno != ENOENT && errno != ENOTDIR) || fstat(d->lock, &held) != 0)
        rc = tf_fail_errno(err, "%s", path);
    else if (!there || held.st_dev != named.st_dev || held.st_ino != named.st_ino)
        rc = tf_fail_status(err, TF_AGAIN,
                            "%s: removed or replaced, so that another run may use the directory",
                            path);
    free(path);
    return rc;
}

int tf_rundir_failed(const struct tf_rundir *d, struct tf_err *err)
{
    struct tf_err lock = {0};
    if (tf_rundir_check_lock(d, &lock) != 0 && lock.status == TF_AGAIN)
        *err = lock;
    return -1;
}

/* Names that only the holder of the lock writes to. */
static bool own_name(const char *name)
{
    uint64_t step;
    return tf_rundir_regular_step(name, &step) || strcmp(name, TF_RUN_RESUME) == 0 ||
           strcmp(name, TF_RUN_BEST) == 0 || strcmp(name, TF_RUN_VALID) == 0 ||
           strcmp(name, TF_RUN_LOG) == 0 || strcmp(name, TF_RUN_LOCK) == 0;
}

/* Is the path a link to one of the files that d has? Closes d. */
static int owns_link(DIR *d, const char *dir, const char *path, struct tf_err *err)
{
    struct dirent *e;
    bool own = false;
    int rc = 0;
    while (!own && (rc = tf_next_entry(d, &e)) > 0)
        if (own_name(e->d_name)) {
            char *file = tf_rundir_file(dir, e->d_name);
            own = tf_same_file(file, path);
            free(file);
        }
    if (rc < 0)
        tf_fail_errno(err, "%s", dir);
    closedir(d);
    return rc < 0 ? -1 : own;
}

int tf_rundir_owns(const char *dir, const char *path, struct tf_err *err)
{
    char *target = tf_path_target(path), /* may not exist yet */
        *base = tf_xstrdup(target != NULL ? target : path), *parent = tf_xstrdup(base);
    struct stat x, y;
    bool own = own_name(basename(base)) && stat(dir, &x) == 0 && stat(dirname(parent), &y) == 0 &&
               x.st_dev == y.st_dev && x.st_ino == y.st_ino;
    free(target);
    free(base);
    free(parent);
    DIR *d = own ? NULL : opendir(dir);
    if (d != NULL)
        return owns_link(d, dir, path, err);
    return own || errno == ENOENT || errno == ENOTDIR ? own : tf_fail_errno(err, "%s", dir);
}

/* Is it a temporary of such a file? Another program may be writing others, an average say. */
static bool own_temporary(const char *name)
{
    const char *end = strstr(name, ".tmp.");
    char of[40];
    if (strncmp(name, ".tf-", 4) != 0 || end == NULL || end - name >= (ptrdiff_t)sizeof of)
        return false;
    snprintf(of, sizeof of, "%.*s", (int)(end - name - 4), name + 4);
    return own_name(of);
}

/* Remove what killed runs left: temporary files, and the model of a command for validation. What
 * cannot be read stays for the next start. */
static void sweep(const struct tf_rundir *dir)
{
    DIR *d = tf_rundir_entries(dir);
    if (d == NULL)
        return;
    for (struct dirent *e; tf_next_entry(d, &e) > 0;)
        if (own_temporary(e->d_name) || strcmp(e->d_name, TF_RUN_VALID) == 0)
            unlinkat(dir->fd, e->d_name, 0);
    closedir(d);
}

int tf_rundir_open(struct tf_rundir *d, const char *path, struct tf_err *err)
{
    *d = (struct tf_rundir){.path = tf_xstrdup(path), .fd = -1, .lock = -1};
    int rc = 0;
    if (mkdir(path, 0777) != 0 && errno != EEXIST)
        rc = tf_fail_errno(err, "%s: mkdir", path);
    else if ((d->fd = tf_fd_open(path, O_RDONLY | O_DIRECTORY, 0)) < 0)
        rc = errno == ENOTDIR ? tf_fail(err, "%s: not a directory", path)
                              : tf_fail_errno(err, "%s", path);
    /* A checkpoint survives a power cut only if its directory does, which a start that was killed
     * may have made. */
    if (rc != 0 || tf_sync_dir(path, err) != 0 || check_log(d, err) != 0 ||
        take_lock(d, err) != 0) {
        tf_rundir_close(d);
        return -1;
    }
    sweep(d);
    return 0;
}

void tf_rundir_close(struct tf_rundir *d)
{
    if (d->locked) /* the process id in it may be that of another program soon */
        (void)!ftruncate(d->lock, 0);
    if (d->lock >= 0)
        close(d->lock);
    if (d->fd >= 0)
        close(d->fd);
    free(d->path);
    *d = (struct tf_rundir){.fd = -1, .lock = -1};
}
