/* rundir.c - the directory of a run. */
#include "train/store/rundir.h"
#include "base/fd.h"
#include "base/input.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/output.h"
#include "base/path.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

char *tf_rundir_file(const char *dir, const char *name)
{
    size_t n = strlen(dir), m = strlen(name);
    while (n > 1 && dir[n - 1] == '/')
        n--;
    char *p = tf_xmalloc(n + m + 2);
    memcpy(p, dir, n);
    p[n] = '/';
    memcpy(p + n + 1, name, m + 1);
    return p;
}

enum { NAME = 40 };

static const char *regular_name(char name[NAME], uint64_t step)
{
    snprintf(name, NAME, "ckpt-%08llu.tfm", (unsigned long long)step);
    return name;
}

char *tf_rundir_regular_name(uint64_t step)
{
    char name[NAME];
    return tf_xstrdup(regular_name(name, step));
}

/* Is it the very name that we give to the checkpoint of a step? A number too large for 64 bits and
 * superfluous zeros are not. */
static bool regular_step(const char *name, uint64_t *step)
{
    char ours[NAME];
    uint64_t x = 0;
    if (strncmp(name, "ckpt-", 5) != 0)
        return false;
    for (const char *p = name + 5; *p >= '0' && *p <= '9'; p++)
        x = x * 10 + (uint64_t)(*p - '0');
    *step = x;
    return strcmp(name, regular_name(ours, x)) == 0;
}

static int by_step(const void *a, const void *b)
{
    const struct tf_checkpoint_file *x = a, *y = b;
    return x->step < y->step ? -1 : x->step > y->step;
}

/* Would opening it wait, or act on a device? */
static bool is_special(int dir, const char *name)
{
    struct stat st;
    return fstatat(dir, name, &st, 0) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode);
}

/* The next entry: 1; 0 at the end; -1, with errno. */
static int next_entry(DIR *d, struct dirent **e)
{
    errno = 0;
    *e = readdir(d);
    return *e != NULL ? 1 : errno != 0 ? -1 : 0;
}

/* List d, which is closed; NULL: opening it failed. dir: its path. */
static int list(struct tf_checkpoint_list *l, DIR *d, const char *dir, struct tf_err *err)
{
    *l = (struct tf_checkpoint_list){0};
    if (d == NULL)
        return tf_fail_errno(err, "%s", dir);
    uint64_t step;
    struct dirent *e;
    int rc;
    while ((rc = next_entry(d, &e)) > 0)
        if (regular_step(e->d_name, &step)) {
            char *path = tf_rundir_file(dir, e->d_name);
            if (is_special(dirfd(d), e->d_name)) {
                tf_warn("%s: not a regular file; skipped", path);
                free(path);
                continue;
            }
            l->v = tf_xarray(l->v, l->n + 1, sizeof *l->v);
            l->v[l->n++] = (struct tf_checkpoint_file){.path = path, .step = step};
        }
    if (rc < 0) {
        tf_fail_errno(err, "%s", dir);
        tf_checkpoint_list_release(l);
    }
    closedir(d);
    if (l->n > 1)
        qsort(l->v, l->n, sizeof *l->v, by_step);
    return rc;
}

int tf_rundir_list(struct tf_checkpoint_list *l, const char *dir, struct tf_err *err)
{
    return list(l, opendir(dir), dir, err);
}

/* A stream of its own: reading it from the start leaves d->fd alone. */
static DIR *open_dir(const struct tf_rundir *d)
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

int tf_checkpoint_check_step(const struct tf_checkpoint_file *f, uint64_t step, struct tf_err *err)
{
    if (step == f->step)
        return 0;
    return tf_fail(err,
                   "%s: the name is that of step %llu, but it contains step %llu; move it away",
                   f->path, (unsigned long long)f->step, (unsigned long long)step);
}

void tf_checkpoint_list_release(struct tf_checkpoint_list *l)
{
    for (size_t i = 0; i < l->n; i++)
        free(l->v[i].path);
    free(l->v);
    *l = (struct tf_checkpoint_list){0};
}

/* ---- opening ---- */

int tf_rundir_open_file(const struct tf_rundir *d, const char *name, int flags, struct tf_err *err)
{
    struct stat st;
    char *path = tf_rundir_file(d->path, name);
    int fd = tf_fd_open_at(d->fd, name, flags | O_NONBLOCK, 0666);
    if (fd < 0)
        errno == ELOOP && (flags & O_NOFOLLOW)
            ? tf_fail(err, "%s: a symbolic link, not a file of a run", path)
            : tf_fail_errno(err, "%s", path);
    else if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        S_ISDIR(st.st_mode) ? tf_fail_directory(err, path)
                            : tf_fail(err, "%s: not a regular file", path);
        close(fd);
        fd = -1;
    }
    free(path);
    return fd;
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

/* Names that only the holder of the lock writes to. */
static bool own_name(const char *name)
{
    uint64_t step;
    return regular_step(name, &step) || strcmp(name, TF_RUN_RESUME) == 0 ||
           strcmp(name, TF_RUN_BEST) == 0 || strcmp(name, TF_RUN_LOG) == 0 ||
           strcmp(name, TF_RUN_LOCK) == 0;
}

/* Is the path a link to one of the files that d has? Closes d. */
static int owns_link(DIR *d, const char *dir, const char *path, struct tf_err *err)
{
    struct dirent *e;
    bool own = false;
    int rc = 0;
    while (!own && (rc = next_entry(d, &e)) > 0)
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
    char *base = tf_xstrdup(path), *parent = tf_xstrdup(path);
    struct stat x, y;
    bool own = own_name(basename(base)) && stat(dir, &x) == 0 && stat(dirname(parent), &y) == 0 &&
               x.st_dev == y.st_dev && x.st_ino == y.st_ino;
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

/* Remove the temporary files of killed runs; what cannot be read stays for the next start. */
static void sweep(const struct tf_rundir *dir)
{
    DIR *d = open_dir(dir);
    if (d == NULL)
        return;
    for (struct dirent *e; next_entry(d, &e) > 0;)
        if (own_temporary(e->d_name))
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

/* ---- the newest ---- */

struct candidate {
    struct tf_checkpoint_file file;
    int rank; /* for equal steps, the lowest first; 0: regular */
};

static int newest_first(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    return x->file.step != y->file.step ? (x->file.step > y->file.step ? -1 : 1)
                                        : x->rank - y->rank;
}

/* Read the step of a file that has none in its name: resume.tfm, best.tfm. False when there is no
 * such file, and the path is NULL; *why is set when the step can't be read. */
static bool peek(struct candidate *c, const struct tf_rundir *d, const char *name, int rank,
                 struct tf_err *why)
{
    struct tf_model_file m;
    struct stat st;
    *why = (struct tf_err){0};
    *c = (struct candidate){.rank = rank};
    if (fstatat(d->fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0 && errno == ENOENT)
        return false;
    c->file.path = tf_rundir_file(d->path, name);
    if (tf_rundir_read(d, name, &m, TF_MODEL_HEAD, why) == 0) {
        if (tf_state_step(&c->file.step, &m, why) != 0)
            tf_context(why, "%s", c->file.path);
        tf_model_release(&m);
    }
    return true;
}

static const char *last_part(const char *path)
{
    return strrchr(path, '/') + 1;
}

/* Read all of it. */
static int read_checkpoint(struct tf_model_file *m, struct tf_run_state *s,
                           const struct tf_rundir *d, const char *path, struct tf_err *err)
{
    if (tf_rundir_read(d, last_part(path), m, 0, err) != 0)
        return -1;
    if (tf_state_read(s, m, err) == 0)
        return 0;
    tf_model_release(m);
    return tf_context(err, "%s", path);
}

/* Only what is in a file is damage, or a directory under its name. A file that cannot be read now,
 * because of its mode, a missing disk or memory, may be whole: an older one would lose its updates.
 */
static int check_damaged(const struct tf_err *why, struct tf_err *err)
{
    if (why->sys == 0 || why->sys == EISDIR)
        return 0;
    return tf_fail(err, "%s; to resume from an older checkpoint, move it away", why->msg);
}

struct candidates {
    struct candidate *v;
    size_t n, torn; /* torn: those that are not among them, because they have no step */
};

static int find_candidates(struct candidates *c, const struct tf_rundir *d, struct tf_err *err)
{
    static const char *const others[] = {TF_RUN_RESUME, TF_RUN_BEST};
    enum { OTHERS = sizeof others / sizeof *others };
    struct tf_checkpoint_list l;
    *c = (struct candidates){0};
    if (list(&l, open_dir(d), d->path, err) != 0)
        return -1;
    c->v = tf_xcalloc(l.n + OTHERS, sizeof *c->v);
    for (; c->n < l.n; c->n++)
        c->v[c->n].file = l.v[c->n];
    free(l.v);
    int rc = 0;
    for (int i = 0; i < OTHERS && rc == 0; i++) {
        struct candidate *new = &c->v[c->n];
        struct tf_err why;
        if (!peek(new, d, others[i], i + 1, &why))
            continue;
        if (why.status == 0) {
            c->n++;
            continue;
        }
        free(new->file.path);
        c->torn++;
        if ((rc = check_damaged(&why, err)) == 0)
            tf_warn("%s; skipped", why.msg);
    }
    qsort(c->v, c->n, sizeof *c->v, newest_first);
    return rc;
}

static int read_newest(const struct candidates *c, const struct tf_rundir *d,
                       struct tf_model_file *m, struct tf_run_state *s, char **path,
                       struct tf_err *err)
{
    for (size_t i = 0; i < c->n; i++) {
        const struct tf_checkpoint_file *f = &c->v[i].file;
        struct tf_err why = {0};
        if (read_checkpoint(m, s, d, f->path, &why) == 0) {
            if (c->v[i].rank == 0 && tf_checkpoint_check_step(f, s->step, err) != 0) {
                tf_model_release(m);
                return -1;
            }
            *path = tf_xstrdup(f->path);
            return 1;
        }
        if (check_damaged(&why, err) != 0)
            return -1;
        tf_warn("%s%s", why.msg, i + 1 < c->n ? "; trying the checkpoint before it" : "");
    }
    if (c->n + c->torn == 0)
        return 0;
    return tf_fail(err, "%s: none of its %zu checkpoints can be read", d->path, c->n + c->torn);
}

int tf_rundir_newest(const struct tf_rundir *d, struct tf_model_file *m, struct tf_run_state *s,
                     char **path, struct tf_err *err)
{
    struct candidates c;
    *path = NULL;
    int rc = find_candidates(&c, d, err);
    if (rc == 0)
        rc = read_newest(&c, d, m, s, path, err);
    for (size_t i = 0; i < c.n; i++)
        free(c.v[i].file.path);
    free(c.v);
    return rc;
}

/* ---- best and retention ---- */

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
    const char *name = last_part(path);
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
    struct candidate best;
    struct tf_err why;
    bool there = peek(&best, d, TF_RUN_BEST, 0, &why);
    free(best.file.path);
    return there && why.status == 0 && best.file.step == step;
}

static int remove_checkpoint(const struct tf_rundir *d, const char *path, struct tf_err *err)
{
    return unlinkat(d->fd, last_part(path), 0) != 0 && errno != ENOENT
               ? tf_fail_errno(err, "%s: unlink", path)
               : 0;
}

int tf_rundir_retain(const struct tf_rundir *d, uint64_t keep, uint64_t every, uint64_t step,
                     struct tf_err *err)
{
    struct tf_checkpoint_list l;
    struct candidate resume;
    struct tf_err why;
    int rc = 0;
    if (list(&l, open_dir(d), d->path, err) != 0)
        return -1;
    /* Files of later steps are damaged ones that a resumed run skipped: they do not count. */
    size_t n = 0;
    while (n < l.n && l.v[n].step <= step)
        n++;
    /* The last checkpoint of an earlier end of the run: one that never stopped would not have it.
     */
    if (n > 1 && l.v[n - 2].step % every != 0) {
        rc = remove_checkpoint(d, l.v[n - 2].path, err);
        struct tf_checkpoint_file gone = l.v[n - 2];
        l.v[n - 2] = l.v[n - 1];
        l.v[n - 1] = gone;
        n--;
    }
    for (size_t i = 0; keep > 0 && rc == 0 && i + keep < n; i++)
        rc = remove_checkpoint(d, l.v[i].path, err);
    if (rc == 0 && peek(&resume, d, TF_RUN_RESUME, 0, &why)) {
        if (why.status == 0 && resume.file.step <= step)
            rc = remove_checkpoint(d, resume.file.path, err);
        free(resume.file.path);
    }
    tf_checkpoint_list_release(&l);
    return rc;
}
