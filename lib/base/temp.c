/* temp.c - a list of the temporary files and directories that exist, for exit and signal
 * handlers. */
#include "base/temp_private.h"
#include "base/fd.h"
#include "base/memory.h"
#include "base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

struct tf_temp {
    struct tf_temp *next;
    pid_t owner;              /* a forked child does not remove its parent's files */
    int parent;               /* the directory that has it */
    int fd;                   /* a directory's own, or -1 */
    const char *const *names; /* of the files in a directory */
    size_t n;
    char name[]; /* in parent */
};
static struct tf_temp *temps;
static pthread_mutex_t temps_lock = PTHREAD_MUTEX_INITIALIZER;
/* What ends a process from outside: users, job schedulers, timers and limits. */
static const int deadly[] = {SIGINT,  SIGTERM,   SIGHUP,  SIGQUIT, SIGALRM,
                             SIGPROF, SIGVTALRM, SIGXCPU, SIGUSR1, SIGUSR2};
enum { N_DEADLY = sizeof deadly / sizeof *deadly };

static sigset_t deadly_set(void)
{
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < N_DEADLY; i++)
        sigaddset(&set, deadly[i]);
    return set;
}

/* Take the lock, with the deadly signals blocked, so that their handler can take it too. Returns
 * the mask to restore. */
static sigset_t lock_temps(void)
{
    sigset_t block = deadly_set(), old;
    pthread_sigmask(SIG_BLOCK, &block, &old);
    pthread_mutex_lock(&temps_lock);
    return old;
}

static void unlock_temps(sigset_t old)
{
    pthread_mutex_unlock(&temps_lock);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}

/* The files in a directory first, which it does not outlive. Other users may give its name, or a
 * name on the way to it, to a link: descriptors still refer to what we made. Safe in a signal
 * handler. */
static int remove_one(const struct tf_temp *t)
{
    for (size_t i = 0; i < t->n; i++)
        unlinkat(t->fd, t->names[i], 0);
    return unlinkat(t->parent, t->name, t->fd >= 0 ? AT_REMOVEDIR : 0);
}

/* At exit, any thread may call it (out of memory). What came last, as the files of a directory, is
 * removed first. */
void tf_temp_remove_all(void)
{
    sigset_t old = lock_temps();
    for (struct tf_temp *t = temps; t != NULL; t = t->next)
        if (t->owner == getpid())
            remove_one(t);
    unlock_temps(old);
}

/* timeout(1) sends its signal twice: the second may arrive in another thread meanwhile. The handler
 * stays in place until a thread has removed all files, whichever that is. */
static void remove_all_and_die(int sig)
{
    tf_temp_remove_all();
    signal(sig, SIG_DFL);
    raise(sig); /* it is blocked until this returns; QUIT and XCPU then dump core */
}

/* Leaves alone signals that have a handler or are ignored (nohup). */
static void catch_deadly_signals(void)
{
    for (size_t i = 0; i < N_DEADLY; i++) {
        struct sigaction now, ours = {.sa_handler = remove_all_and_die, .sa_mask = deadly_set()};
        if (sigaction(deadly[i], NULL, &now) == 0 && !(now.sa_flags & SA_SIGINFO) &&
            now.sa_handler == SIG_DFL)
            sigaction(deadly[i], &ours, NULL);
    }
}

static void add_temp(struct tf_temp *t)
{
    static bool registered;
    sigset_t old = lock_temps();
    t->next = temps;
    temps = t;
    if (!registered) {
        registered = atexit(tf_temp_remove_all) == 0;
        catch_deadly_signals();
    }
    unlock_temps(old);
}

static void take_temp(struct tf_temp *t)
{
    sigset_t old = lock_temps();
    struct tf_temp **at = &temps;
    while (*at != NULL && *at != t)
        at = &(*at)->next;
    if (*at == t)
        *at = t->next;
    unlock_temps(old);
}

static void free_temp(struct tf_temp *t)
{
    if (t->fd >= 0)
        close(t->fd);
    close(t->parent);
    free(t);
}

/* Without a right to read it, which only its sync needs. */
static int open_parent(int dir, const char *path)
{
    size_t n = (size_t)(tf_path_name(path) - path);
    char *parent = n > 0 ? tf_xstrndup(path, n) : tf_xstrdup(".");
    int fd = tf_fd_open_at(dir, parent, O_PATH | O_DIRECTORY, 0);
    free(parent);
    return fd;
}

/* Open the directory that was made, or remove it: it is in no list yet. */
static int open_new_dir(struct tf_temp *t)
{
    t->fd = tf_fd_open_at(t->parent, t->name, O_DIRECTORY | O_NOFOLLOW, 0);
    if (t->fd < 0) {
        const int sys = errno;
        unlinkat(t->parent, t->name, AT_REMOVEDIR);
        errno = sys;
    }
    return t->fd;
}

/* A file with the mode, or with names a directory. Returns its descriptor. */
static int create_temp(struct tf_temp *t, const char *name, size_t size, mode_t mode)
{
    /* A name can be in use: several outputs with the same path, or an earlier process of the same
     * id that was killed. */
    for (int i = 0; i < 100; i++) {
        int n = snprintf(t->name, size, ".tf-%.200s.tmp.%ld", name, (long)getpid());
        if (i > 0)
            snprintf(t->name + n, size - (size_t)n, ".%d", i);
        int fd = -1;
        if (t->names == NULL)
            fd = tf_fd_open_at(t->parent, t->name, O_WRONLY | O_CREAT | O_EXCL, mode);
        else if (mkdirat(t->parent, t->name, mode) == 0)
            fd = open_new_dir(t);
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
    return -1;
}

static int create_and_add(struct tf_temp **temp, int dir, const char *path, mode_t mode,
                          const char *const *names, size_t n)
{
    enum { SIZE = 256 };
    struct tf_temp *t = tf_xmalloc(sizeof *t + SIZE);
    *t = (struct tf_temp){
        .owner = getpid(), .parent = open_parent(dir, path), .fd = -1, .names = names, .n = n};
    sigset_t block = deadly_set(), old;
    /* None of them between the moment a file exists and the moment it is in the list. */
    pthread_sigmask(SIG_BLOCK, &block, &old);
    int fd = t->parent < 0 ? -1 : create_temp(t, tf_path_name(path), SIZE, mode), sys = errno;
    if (fd >= 0)
        add_temp(t);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (fd < 0) {
        if (t->parent >= 0)
            close(t->parent);
        free(t);
        t = NULL;
    }
    *temp = t;
    errno = sys;
    return fd;
}

int tf_temp_create(struct tf_temp **temp, int dir, const char *path, mode_t mode)
{
    return create_and_add(temp, dir, path, mode, NULL, 0);
}

int tf_temp_create_dir(struct tf_temp **temp, const char *path, const char *const *names, size_t n)
{
    return create_and_add(temp, AT_FDCWD, path, 0777, names, n);
}

const char *tf_temp_name(const struct tf_temp *t)
{
    return t->name;
}

void tf_temp_remove(struct tf_temp *t)
{
    sigset_t old = lock_temps();
    bool gone = remove_one(t) == 0 || errno == ENOENT;
    unlock_temps(old);
    if (!gone) /* exit tries again */
        return;
    take_temp(t);
    free_temp(t);
}

/* Its directory may be one that we may write to, but not read. */
static int sync_parent(const struct tf_temp *t, const char *shown, struct tf_err *err)
{
    int fd = tf_fd_open_at(t->parent, ".", O_RDONLY | O_DIRECTORY, 0);
    if (fd < 0 && errno == EACCES)
        return 0;
    int rc = tf_sync_dir_at(fd, shown, err);
    if (fd >= 0)
        close(fd);
    return rc;
}

/* rename(2) would let a directory replace an empty one. File systems without RENAME_NOREPLACE (NFS,
 * and others over a network) answer EINVAL: there, nothing may be seen of that name. */
static int rename_temp(const struct tf_temp *t, const char *to)
{
    struct stat st;
    if (t->fd >= 0) {
        if (renameat2(t->parent, t->name, t->parent, to, RENAME_NOREPLACE) == 0)
            return 0;
        if (errno != EINVAL && errno != ENOSYS)
            return -1;
        if (fstatat(t->parent, to, &st, AT_SYMLINK_NOFOLLOW) == 0) {
            errno = EEXIST;
            return -1;
        }
    }
    return renameat(t->parent, t->name, t->parent, to);
}

int tf_temp_finish(struct tf_temp *t, const char *path, const char *shown, struct tf_err *err)
{
    if (rename_temp(t, tf_path_name(path)) != 0) {
        (void)tf_fail_errno(err, "%s: rename", shown);
        tf_temp_remove(t);
        return -1;
    }
    take_temp(t);
    int rc = sync_parent(t, shown, err);
    free_temp(t);
    return rc;
}
