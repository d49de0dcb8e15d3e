/* pipeline.c - see pipeline.h. The write ends of the pipes stay open here until the command that
 * writes has succeeded. */
#include "base/pipeline.h"
#include "base/memory.h"
#include "base/sandbox.h"
#include "base/tool.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* In the environment of commands after the first: our process id. */
#define PARENT "TF_PIPELINE"

struct stage {
    const char *const *argv;
    pid_t pid; /* 0: not started, or ended */
    int write; /* our copy of the write end of its pipe, or -1 */
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

/* In the child: run the command with these as stdin and stdout, unless they are -1. */
_Noreturn static void become(const char *const *argv, pid_t parent, int in, int out)
{
    char path[TF_TOOL_PATH];
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) /* it died before that call */
        _exit(TF_FAILED);
    char number[32];
    snprintf(number, sizeof number, "%ld", (long)parent);
    if (in >= 0)
        setenv(PARENT, number, 1);
    if ((in < 0 || dup2(in, STDIN_FILENO) >= 0) && (out < 0 || dup2(out, STDOUT_FILENO) >= 0))
        execvp(tf_tool_path(path, argv[0]), (char *const *)argv);
    fprintf(stderr, "%s: %s: %s\n", tf_progname, argv[0], strerror(errno));
    _exit(TF_FAILED);
}

/* Start a stage whose stdin is *in, or ours if that is -1; *in becomes the read end of its pipe. */
static int start_stage(struct stage *s, int *in, bool last, struct tf_err *err)
{
    int ends[2] = {-1, -1};
    const pid_t self = getpid();
    if (!last && pipe2(ends, O_CLOEXEC) != 0)
        return tf_fail_errno(err, "%s: pipe", s->argv[0]);
    s->write = ends[1];
    s->pid = fork();
    if (s->pid == 0)
        become(s->argv, self, *in, ends[1]);
    if (*in >= 0)
        close(*in);
    *in = ends[0];
    if (s->pid > 0)
        return 0;
    s->pid = 0;
    return tf_fail_errno(err, "%s", s->argv[0]);
}

void tf_pipeline_await_end(void)
{
    const char *parent = getenv(PARENT);
    if (parent != NULL && strtol(parent, NULL, 10) == (long)getppid())
        pause();
}

static void close_write(struct stage *s)
{
    if (s->write >= 0)
        close(s->write);
    s->write = -1;
}

/* End all that run; their input must not end before. */
static void end_all(const struct stage *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (s[i].pid > 0)
            kill(s[i].pid, SIGTERM);
}

/* Wait for all; returns the status. */
static int wait_all(struct stage *s, size_t n, struct tf_err *err)
{
    int result = TF_OK;
    for (size_t left = n; left > 0;) {
        int status;
        const pid_t pid = waitpid(-1, &status, 0);
        if (pid < 0 && errno == EINTR)
            continue;
        if (pid < 0)
            return tf_fail_errno(err, "waiting for the tools");
        size_t i = 0;
        while (i < n && s[i].pid != pid)
            i++;
        if (i == n)
            continue;
        s[i].pid = 0;
        left--;
        const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
        const bool failed = code != TF_OK && code != TF_PARTIAL;
        if (result != TF_OK && result != TF_PARTIAL) /* of a failure that has been seen */
            continue;
        if (failed)
            end_all(s, n);
        else
            close_write(&s[i]);
        result = code == TF_OK ? result : code;
        if (code < 0)
            tf_fail(err, "%s: ended by signal %d", s[i].argv[0], WTERMSIG(status));
    }
    return result;
}

int tf_pipeline(const char *const *const *argv, size_t n, struct tf_err *err)
{
    struct stage *s = tf_xcalloc(n, sizeof *s);
    int in = -1, rc = 0;
    for (size_t i = 0; i < n; i++)
        s[i] = (struct stage){argv[i], 0, -1};
    size_t started = 0;
    while (started < n && rc == 0) {
        rc = start_stage(&s[started], &in, started + 1 == n, err);
        started += rc == 0;
    }
    if (in >= 0)
        close(in);
    if (rc != 0)
        end_all(s, n);
    struct tf_err ended = {0};
    const int status = wait_all(s, started, rc == 0 ? err : &ended);
    for (size_t i = 0; i < n; i++)
        close_write(&s[i]);
    free(s);
    return rc == 0 ? status : -1;
}

int tf_pipeline_open(const char *const *argv, pid_t *pid, int *in, int *out, struct tf_err *err)
{
    int to[2], from[2] = {-1, -1};
    const pid_t self = getpid();
    if (pipe2(to, O_CLOEXEC) != 0)
        return tf_fail_errno(err, "%s: pipe", argv[0]);
    if (pipe2(from, O_CLOEXEC) == 0)
        *pid = fork();
    else
        *pid = -1;
    if (*pid == 0) {
        sigset_t none;
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        setpgid(0, 0);
        become(argv, self, to[0], from[1]);
    }
    if (*pid < 0)
        tf_fail_errno(err, "%s", argv[0]);
    else
        setpgid(*pid, *pid); /* for a kill() before it has run */
    close(to[0]);
    if (from[1] >= 0)
        close(from[1]);
    *in = to[1];
    *out = from[0];
    if (*pid > 0 && fcntl(*in, F_SETFL, O_NONBLOCK) == 0 && fcntl(*out, F_SETFL, O_NONBLOCK) == 0)
        return 0;
    close(*in);
    if (*out >= 0)
        close(*out);
    *in = *out = -1;
    return -1;
}

int tf_run_sandboxed(int (*f)(const struct tf_strs *files, struct tf_err *err),
                     const struct tf_strs *files, struct tf_err *err)
{
    int status;
    fflush(stdout);
    const pid_t pid = fork();
    if (pid == 0) {
        const struct tf_sandbox sandbox = {.read = *files};
        struct tf_err own = {0};
        (void)tf_sandbox_enter(&sandbox);
        _exit(tf_tool_finish(f(files, &own), &own));
    }
    if (pid < 0)
        return tf_fail_errno(err, "fork");
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return tf_fail_errno(err, "waiting for a process");
    return WIFEXITED(status) ? WEXITSTATUS(status)
                             : tf_fail(err, "ended by signal %d", WTERMSIG(status));
}
