/* temp.c - a list of the temporary files and directories that exist, for exit and signal
 * handlers. */
#include "base/temp_private.h"
#include "base/buf.h"
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct temp {
    struct temp *next;
    pid_t owner; /* a forked child does not remove its parent's files */
    int dir;     /* the directory that the name is relative to */
    const char *const *names; /* of the files in a directory, or NULL for a file */
    size_t n;
    char name[];
};
static struct temp *temps;
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

/* The files in a directory first, which it does not outlive. Safe in a signal handler. */
static int remove_one(const struct temp *t)
{
    const int fd = t->names == NULL ? -1 : open(t->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (size_t i = 0; fd >= 0 && i < t->n; i++)
        unlinkat(fd, t->names[i], 0);
    if (fd >= 0)
        close(fd);
    return unlinkat(t->dir, t->name, t->names == NULL ? 0 : AT_REMOVEDIR);
}

/* At exit, any thread may call it (out of memory). What came last, as the files of a directory, is
 * removed first. */
void tf_temp_remove_all(void)
{
    sigset_t old = lock_temps();
    for (struct temp *t = temps; t != NULL; t = t->next)
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

static void add_temp(int dir, const char *name, const char *const *names, size_t n_names)
{
    static bool registered;
    size_t n = strlen(name) + 1;
    struct temp *t = malloc(sizeof *t + n);
    if (t == NULL)
        return;
    t->owner = getpid();
    t->dir = dir;
    t->names = names;
    t->n = n_names;
    memcpy(t->name, name, n);
    sigset_t old = lock_temps();
    t->next = temps;
    temps = t;
    if (!registered) {
        registered = atexit(tf_temp_remove_all) == 0;
        catch_deadly_signals();
    }
    unlock_temps(old);
}

static void delete_temp(int dir, const char *name)
{
    sigset_t old = lock_temps();
    for (struct temp **t = &temps, *gone; (gone = *t) != NULL; t = &gone->next)
        if (gone->dir == dir && strcmp(gone->name, name) == 0) {
            *t = gone->next;
            free(gone);
            break;
        }
    unlock_temps(old);
}

/* A file with the mode, or with names a directory. */
static int create(char **temp, int dir, const char *path, mode_t mode, const char *const *names,
                  size_t n_names)
{
    const char *slash = strrchr(path, '/');
    int n = slash != NULL ? (int)(slash - path) + 1 : 0, fd = -1;
    struct tf_buf name = {0};
    sigset_t block = deadly_set(), old;
    /* None of them between the moment a file exists and the moment it is in the list. */
    pthread_sigmask(SIG_BLOCK, &block, &old);
    /* A name can be in use: several outputs with the same path, or an earlier process of the same
     * id that was killed. */
    for (int i = 0; i < 100; i++) {
        tf_buf_clear(&name);
        tf_buf_printf(&name, "%.*s.tf-%.200s.tmp.%ld", n, path, path + n, (long)getpid());
        if (i > 0)
            tf_buf_printf(&name, ".%d", i);
        fd = names == NULL ? tf_fd_open_at(dir, name.p, O_WRONLY | O_CREAT | O_EXCL, mode)
             : mkdirat(dir, name.p, mode) == 0 ? tf_fd_open_at(dir, name.p, O_DIRECTORY, 0)
                                               : -1;
        if (fd >= 0 || errno != EEXIST)
            break;
    }
    int sys = errno;
    if (fd >= 0)
        add_temp(dir, name.p, names, n_names);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (fd >= 0)
        *temp = name.p;
    else
        tf_buf_release(&name);
    errno = sys;
    return fd;
}

int tf_temp_create(char **temp, int dir, const char *path, mode_t mode)
{
    return create(temp, dir, path, mode, NULL, 0);
}

int tf_temp_create_dir(char **temp, const char *path, const char *const *names, size_t n)
{
    return create(temp, AT_FDCWD, path, 0777, names, n);
}

int tf_temp_rename(char *temp, int dir, const char *path)
{
    if (renameat(dir, temp, dir, path) != 0)
        return -1;
    delete_temp(dir, temp);
    free(temp);
    return 0;
}

void tf_temp_remove(char *temp, int dir)
{
    /* At exit the descriptor of another directory may be closed, or be another's. */
    if (unlinkat(dir, temp, 0) == 0 || errno == ENOENT || dir != AT_FDCWD)
        delete_temp(dir, temp);
    free(temp);
}

void tf_temp_remove_dir(char *temp)
{
    sigset_t old = lock_temps();
    struct temp *t = temps;
    while (t != NULL && strcmp(t->name, temp) != 0)
        t = t->next;
    if (t != NULL)
        (void)remove_one(t);
    unlock_temps(old);
    delete_temp(AT_FDCWD, temp);
    free(temp);
}
