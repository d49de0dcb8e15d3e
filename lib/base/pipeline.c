/* pipeline.c - see pipeline.h. The write ends of the pipes stay open here until the command that
 * writes has succeeded. */
#include "base/pipeline.h"
#include "base/copies.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/sandbox.h"
#include "base/tool.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* In the environment of the commands: our process id. */
#define PARENT "TF_PIPELINE"

struct stage {
    const char *const *argv;
    pid_t pid; /* 0: not started, or ended */
    int write; /* our copy of the write end of its pipe, or -1 */
};

struct tf_pipeline {
    pthread_mutex_t lock; /* of what ends and what is ended */
    size_t n;             /* that were started */
    struct stage stages[];
};

const char *tf_tool_path(char path[TF_TOOL_PATH], const char *name)
{
    char self[PATH_MAX];
    const ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n <= 0)
        return name;
    self[n] = 0;
    const int len = snprintf(path, TF_TOOL_PATH, "%s/%s", dirname(self), name);
    return len < TF_TOOL_PATH && access(path, X_OK) == 0 ? path : name;
}

int tf_pipeline_refuse_std(struct tf_opt *opts, const char *const *names, struct tf_err *err)
{
    for (; *names != NULL; names++) {
        const char *given = tf_opt_find(opts, *names)->given;
        if (given != NULL && tf_is_own_std(given))
            return tf_fail_status(err, TF_USAGE,
                                  "--%s %s: not a file; stdin and stdout of the tools are pipes",
                                  *names, given);
    }
    return 0;
}

/* In a child, with SIGTERM blocked: it ends when its parent dies, and Ctrl-C is for that. */
static void be_child(pid_t parent)
{
    sigset_t none;
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_DFL); /* a handler of ours would keep the child alive */
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) /* it died before that call */
        _exit(TF_FAILED);
}

/* The same, and run the command with these as stdin and stdout. In memory of the parent. */
_Noreturn static void become(const char *const *argv, char *const *env, pid_t parent, int in,
                             int out)
{
    char path[TF_TOOL_PATH];
    be_child(parent);
    if (dup2(in, STDIN_FILENO) >= 0 && dup2(out, STDOUT_FILENO) >= 0)
        execvpe(tf_tool_path(path, argv[0]), (char *const *)argv, env);
    fprintf(stderr, "%s: %s: %s\n", tf_progname, argv[0], strerror(errno));
    _exit(TF_FAILED);
}

/* Our environment with another value of PARENT, which is "NAME=VALUE". The caller frees it. */
static char **environment_with(char *parent)
{
    size_t n = 0, k = 0;
    while (environ != NULL && environ[n] != NULL)
        n++;
    char **env = tf_xarray(NULL, n + 2, sizeof *env);
    for (size_t i = 0; i < n; i++)
        if (strncmp(environ[i], PARENT "=", sizeof PARENT) != 0)
            env[k++] = environ[i];
    env[k] = parent;
    env[k + 1] = NULL;
    return env;
}

/* Block SIGTERM for a child, so that one that comes before it is another program ends it. The
 * caller's mask is in *old, to be restored. */
static void block_term(sigset_t *old)
{
    sigset_t term;
    sigemptyset(&term);
    sigaddset(&term, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &term, old);
}

/* Run a command in a child. vfork(2) copies no tables of pages: 0.3 ms for those of a service. */
__attribute__((noinline)) static pid_t start_command(const char *const *argv, char *const *env,
                                                     int in, int out)
{
    const pid_t parent = getpid(), pid = vfork();
    if (pid == 0)
        become(argv, env, parent, in, out);
    return pid;
}

/* Start a stage whose stdin is *in; *in becomes the read end of its pipe. */
static int start_stage(struct stage *s, int *in, struct tf_err *err)
{
    int ends[2];
    sigset_t old;
    char parent[64];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return tf_fail_errno(err, "%s: pipe", s->argv[0]);
    s->write = ends[1];
    snprintf(parent, sizeof parent, PARENT "=%ld", (long)getpid());
    char **env = environment_with(parent);
    block_term(&old);
    s->pid = start_command(s->argv, env, *in, ends[1]);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    free(env);
    close(*in);
    *in = ends[0];
    if (s->pid > 0)
        return 0;
    s->pid = 0;
    return tf_fail_errno(err, "%s", s->argv[0]);
}

bool tf_in_pipeline(void)
{
    const char *parent = getenv(PARENT);
    return parent != NULL && strtol(parent, NULL, 10) == (long)getppid();
}

void tf_pipeline_await_end(void)
{
    if (tf_in_pipeline())
        pause();
    tf_copies_leave();
}

static void close_write(struct stage *s)
{
    if (s->write >= 0)
        close(s->write);
    s->write = -1;
}

/* Their input must not end before. */
static void end_all(const struct tf_pipeline *p)
{
    for (size_t i = 0; i < p->n; i++)
        if (p->stages[i].pid > 0)
            kill(p->stages[i].pid, SIGTERM);
}

void tf_pipeline_end(struct tf_pipeline *p)
{
    pthread_mutex_lock(&p->lock);
    end_all(p);
    pthread_mutex_unlock(&p->lock);
}

/* What the end of a stage, with that status, makes of the result. */
static int ended(struct tf_pipeline *p, struct stage *s, int status, int result, struct tf_err *err)
{
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    s->pid = 0;
    if (result != TF_OK && result != TF_PARTIAL) /* of a failure that has been seen */
        return result;
    if (code != TF_OK && code != TF_PARTIAL)
        end_all(p);
    else
        close_write(s);
    if (code < 0)
        tf_fail(err, "%s: ended by signal %d", s->argv[0], WTERMSIG(status));
    return code == TF_OK ? result : code;
}

int tf_pipeline_wait(struct tf_pipeline *p, struct tf_err *err)
{
    int result = TF_OK;
    for (size_t left = p->n; left > 0;) {
        siginfo_t info;
        int status;
        /* A process whose end nobody has waited for keeps its id: nothing else is killed. */
        if (waitid(P_ALL, 0, &info, WEXITED | WNOWAIT) != 0) {
            if (errno == EINTR)
                continue;
            result = tf_fail_errno(err, "waiting for the tools");
            break;
        }
        pthread_mutex_lock(&p->lock);
        const pid_t pid = waitpid(info.si_pid, &status, 0);
        for (size_t i = 0; i < p->n; i++)
            if (pid > 0 && p->stages[i].pid == pid) {
                result = ended(p, &p->stages[i], status, result, err);
                left--;
            }
        pthread_mutex_unlock(&p->lock);
    }
    for (size_t i = 0; i < p->n; i++)
        close_write(&p->stages[i]);
    return result;
}

void tf_pipeline_free(struct tf_pipeline *p)
{
    pthread_mutex_destroy(&p->lock);
    free(p);
}

static struct tf_pipeline *new_pipeline(size_t n)
{
    struct tf_pipeline *p = tf_xcalloc(1, sizeof *p + n * sizeof p->stages[0]);
    pthread_mutex_init(&p->lock, NULL);
    return p;
}

int tf_pipeline_start(struct tf_pipeline **pipeline, const char *const *const *argv, size_t n,
                      int *to, int *from, struct tf_err *err)
{
    struct tf_pipeline *p = new_pipeline(n);
    int ends[2], rc = 0;
    if (pipe2(ends, O_CLOEXEC) != 0) {
        tf_pipeline_free(p);
        return tf_fail_errno(err, "%s: pipe", argv[0][0]);
    }
    *from = ends[0];
    *to = ends[1];
    for (size_t i = 0; i < n && rc == 0; i++) {
        p->stages[i] = (struct stage){argv[i], 0, -1};
        rc = start_stage(&p->stages[i], from, err);
        p->n += rc == 0;
    }
    *pipeline = p;
    if (rc == 0) {
        close_write(&p->stages[n - 1]); /* its end is that of `from` */
        return 0;
    }
    struct tf_err ignored = {0};
    end_all(p);
    close(*to);
    close(*from);
    (void)!tf_pipeline_wait(p, &ignored);
    tf_pipeline_free(p);
    return -1;
}

/* ---- copies ---- */

/* Start a stage that makes copies; its socket, or -1. */
static int start_copying(struct stage *s, struct tf_err *err)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return tf_fail_errno(err, "%s: socket", s->argv[0]);
    const int rc = start_stage(s, &ends[0], err);
    close_write(s);
    close(ends[0]); /* the copies alone have something to write */
    if (rc == 0)
        return ends[1];
    close(ends[1]);
    return -1;
}

/* A pipe of copies; the descriptors of the request are closed. */
static bool ask_all(const int *asks, size_t n, const struct tf_copy_request *r)
{
    struct tf_copy_request one = *r;
    bool good = true;
    for (size_t i = 0; i < n; i++) {
        int ends[2] = {-1, r->out};
        if (i + 1 < n && pipe2(ends, O_CLOEXEC) != 0)
            ends[0] = ends[1] = -1;
        one.out = ends[1];
        one.place = (int)i;
        good = tf_copies_ask(asks[i], &one) && good;
        close(one.in);
        if (i + 1 < n)
            close(one.out);
        one.in = ends[0];
    }
    close(r->out);
    close(r->life);
    return good;
}

/* 0, the exit status of a failure, or -1 and err. */
static int end_sandboxed(pid_t pid, struct tf_err *err)
{
    int status;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return tf_fail_errno(err, "waiting for a process");
    return WIFEXITED(status) ? WEXITSTATUS(status)
                             : tf_fail(err, "ended by signal %d", WTERMSIG(status));
}

int tf_pipeline_copies(const char *const *const *argv, size_t n, pid_t check, struct tf_err *err)
{
    struct tf_copy_request r;
    struct tf_pipeline *p = new_pipeline(n);
    int *asks = tf_xcalloc(n, sizeof *asks), rc = 0;
    for (size_t i = 0; i < n && rc == 0; i++) {
        size_t first = 0;
        while (argv[first] != argv[i])
            first++;
        asks[i] = first < i ? asks[first] : -1;
        if (first < i)
            continue;
        p->stages[p->n] = (struct stage){argv[i], 0, -1};
        asks[i] = start_copying(&p->stages[p->n], err);
        rc = asks[i] >= 0 ? 0 : -1;
        p->n += rc == 0;
    }
    const int checked = end_sandboxed(check, err);
    rc = rc == 0 ? checked : rc;
    while (rc == 0 && tf_copies_next(STDIN_FILENO, &r))
        rc = ask_all(asks, n, &r) ? 0 : TF_FAILED; /* the one that has ended has said why */
    if (rc != 0)
        end_all(p);
    for (size_t i = 0; i < n; i++)
        if (asks[i] > STDERR_FILENO) /* the second close() of one that is there twice fails */
            close(asks[i]);
    struct tf_err later = {0};
    const int ended = tf_pipeline_wait(p, rc != 0 ? &later : err);
    tf_pipeline_free(p);
    free(asks);
    return rc != 0 ? rc : ended;
}

void *tf_shared(size_t n, struct tf_err *err)
{
    void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (p != MAP_FAILED)
        return p;
    tf_fail_errno(err, "shared memory");
    return NULL;
}

/* In a child: run f with this as stdin, and with no other files. */
_Noreturn static void copy_on_request(int (*f)(void *arg, struct tf_err *err), void *arg,
                                      pid_t parent, int in)
{
    struct tf_err err = {0};
    setpgid(0, 0);
    be_child(parent);
    prctl(PR_SET_NAME, "tf-copier");
    if (dup2(in, STDIN_FILENO) < 0)
        _exit(TF_FAILED);
    closefrom(STDERR_FILENO + 1);
    _exit(tf_tool_finish(f(arg, &err), &err));
}

int tf_pipeline_open_copies(int (*f)(void *arg, struct tf_err *err), void *arg, pid_t *pid,
                            int *asks, struct tf_err *err)
{
    int ends[2];
    sigset_t old;
    const pid_t self = getpid();
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return tf_fail_errno(err, "socket");
    fflush(stdout);
    block_term(&old);
    *pid = fork();
    if (*pid == 0)
        copy_on_request(f, arg, self, ends[0]);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    close(ends[0]);
    *asks = ends[1];
    if (*pid > 0) {
        setpgid(*pid, *pid); /* for a kill() before it has run */
        return 0;
    }
    close(*asks);
    *asks = -1;
    return tf_fail_errno(err, "fork");
}

/* The process whose group a pipe of copies is in: it ends when they have. Signals are the caller's,
 * blocked or not; a client's connection is not kept open. */
_Noreturn static void keep(int life)
{
    char byte;
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_NAME, "tf-pipeline");
    if (dup2(life, STDIN_FILENO) == STDIN_FILENO) {
        closefrom(STDIN_FILENO + 1);
        while (read(STDIN_FILENO, &byte, 1) < 0 && errno == EINTR)
            continue;
    }
    _exit(TF_OK);
}

int tf_pipeline_ask(int asks, pid_t *pid, int *in, int *out, struct tf_err *err)
{
    int ends[3][2]; /* of stdin, stdout, life */
    for (int i = 0; i < 3; i++) {
        if (pipe2(ends[i], O_CLOEXEC) == 0)
            continue;
        tf_fail_errno(err, "pipe");
        for (; i > 0; i--) {
            close(ends[i - 1][0]);
            close(ends[i - 1][1]);
        }
        return -1;
    }
    *in = ends[0][1];
    *out = ends[1][0];
    *pid = fork();
    if (*pid == 0)
        keep(ends[2][0]);
    if (*pid > 0)
        setpgid(*pid, *pid); /* before the copies join */
    else
        tf_fail_errno(err, "fork");
    const struct tf_copy_request r = {ends[0][0], ends[1][1], ends[2][1], *pid, 0};
    if (*pid > 0)
        (void)tf_copies_ask(asks, &r); /* where nobody takes it, the pipes end */
    close(r.in);
    close(r.out);
    close(r.life);
    close(ends[2][0]);
    if (*pid > 0 && fcntl(*in, F_SETFL, O_NONBLOCK) == 0 && fcntl(*out, F_SETFL, O_NONBLOCK) == 0)
        return 0;
    close(*in);
    close(*out);
    *in = *out = -1;
    return -1;
}

pid_t tf_sandboxed_begin(tf_sandboxed_fn *f, void *to, const struct tf_strs *files,
                         struct tf_err *err)
{
    fflush(stdout);
    const pid_t pid = fork();
    if (pid == 0) {
        const struct tf_sandbox sandbox = {.read = *files};
        struct tf_err own = {0};
        (void)tf_sandbox_enter(&sandbox);
        _exit(tf_tool_finish(f(to, files, &own), &own));
    }
    if (pid < 0)
        tf_fail_errno(err, "fork");
    return pid;
}

int tf_run_sandboxed(tf_sandboxed_fn *f, void *to, const struct tf_strs *files, struct tf_err *err)
{
    const pid_t pid = tf_sandboxed_begin(f, to, files, err);
    return pid < 0 ? -1 : end_sandboxed(pid, err);
}
