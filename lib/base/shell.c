/* shell.c - see shell.h. */
#include "base/shell.h"
#include "base/measure_private.h"
#include "base/utf8.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { TICK_MS = 50, GRACE_TICKS = 100, MOST_FDS = 1024 };
enum { TAIL = 1 << 20 /* bytes of the output at least, in which its number is looked for */ };

/* One write of a result must not be torn. */
_Static_assert(sizeof(struct tf_shell_result) <= PIPE_BUF, "a result is written at once");

/* ---- the lines before the last ---- */

/* n bytes are in r->text, all of the output or its beginning. */
static void end_text(struct tf_shell_result *r, size_t n)
{
    while (n > 0 && r->text[n - 1] == '\n')
        n--;
    while (n > 0 && r->text[n - 1] != '\n')
        n--;
    n -= n > 0;
    r->text[tf_utf8_span(r->text, strnlen(r->text, n))] = 0;
}

/* ---- the other process ---- */

static void nothing(int sig)
{
    (void)sig;
}

/* What ends the first process by a signal to the group must not end this one before. A handler, not
 * SIG_IGN: the command gets the default back. */
static void outlive_signals(void)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
    struct sigaction old, sa = {.sa_handler = nothing, .sa_flags = SA_RESTART};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        if (sigaction(signals[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            sigaction(signals[i], &sa, NULL);
}

/* Close all but stderr and two pipes: a program that writes to the first process's input, or reads
 * its output, sees its end only when no other process has it open. The pipes become 3 and 4. */
static void keep_pipes(int in, int out)
{
    int null = open("/dev/null", O_RDWR), high_in = fcntl(in, F_DUPFD, 5),
        high_out = fcntl(out, F_DUPFD, 5);
    dup2(null, 0);
    dup2(null, 1);
    dup2(high_in, 3);
    dup2(high_out, 4);
    fcntl(3, F_SETFD, FD_CLOEXEC);
    fcntl(4, F_SETFD, FD_CLOEXEC);
    if (syscall(SYS_close_range, 5U, ~0U, 0U) != 0)
        for (int fd = 5; fd < MOST_FDS; fd++)
            close(fd);
}

static void sleep_tick(void)
{
    nanosleep(&(struct timespec){.tv_nsec = TICK_MS * 1000000L}, NULL);
}

/* What the command started may outlive it and becomes ours to wait for: in a container nobody else
 * might. */
_Noreturn static void end_group(pid_t pid)
{
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    kill(-pid, SIGTERM);
    for (int i = 0; i < GRACE_TICKS && kill(-pid, 0) == 0; i++) {
        sleep_tick();
        while (waitpid(-pid, NULL, WNOHANG) > 0)
            ;
    }
    kill(-pid, SIGKILL);
    _exit(0);
}

/* Has the first process ended, or closed its end? It writes only when no command runs. */
static bool abandoned(int ms)
{
    struct pollfd p = {.fd = 3, .events = POLLIN};
    return poll(&p, 1, ms) > 0;
}

static void take_output(int fd, pid_t pid, struct tf_shell_result *r)
{
    static char tail[2 * TAIL];
    char buf[4096];
    size_t kept = 0, in_tail = 0;
    for (;;) { /* until the command and all that has its output have closed it */
        struct pollfd p[] = {{.fd = fd, .events = POLLIN}, {.fd = 3, .events = POLLIN}};
        if (poll(p, 2, -1) < 0)
            continue;
        if (p[1].revents != 0)
            end_group(pid);
        ssize_t n = read(fd, buf, sizeof buf);
        if (n == 0 || (n < 0 && errno != EINTR))
            break;
        const size_t got = n > 0 ? (size_t)n : 0, room = sizeof r->text - 1 - kept;
        if (in_tail + got > sizeof tail) {
            memmove(tail, tail + in_tail - TAIL, TAIL);
            in_tail = TAIL;
        }
        memcpy(tail + in_tail, buf, got);
        in_tail += got;
        memcpy(r->text + kept, buf, got < room ? got : room);
        kept += got < room ? got : room;
    }
    r->has_number = tf_measure_of(&r->number, r->why, tail, in_tail);
    end_text(r, kept);
}

_Noreturn static void become(const char *command, int out)
{
    setpgid(0, 0);
    dup2(out, 1);
    signal(SIGPIPE, SIG_DFL); /* tf_tool_start ignores them */
    signal(SIGXFSZ, SIG_DFL);
    execl("/bin/sh", "sh", "-c", command, (char *)NULL);
    _exit(127);
}

static struct tf_shell_result run_once(const char *command)
{
    struct tf_shell_result r = {0};
    int out[2], status = 0;
    if (pipe2(out, O_CLOEXEC) != 0)
        return r;
    pid_t pid = fork();
    if (pid == 0)
        become(command, out[1]);
    close(out[1]);
    if (pid > 0) {
        setpgid(pid, pid); /* either may be first */
        take_output(out[0], pid, &r);
        while (waitpid(pid, &status, WNOHANG) == 0) /* it may close its output before */
            if (abandoned(TICK_MS))
                end_group(pid);
        r.exited = WIFEXITED(status);
        r.status = r.exited ? WEXITSTATUS(status) : WTERMSIG(status);
    }
    close(out[0]);
    return r;
}

_Noreturn static void serve(const char *command)
{
    uint64_t step;
    char number[24];
    outlive_signals();
    signal(SIGCHLD, SIG_DFL);
    while (read(3, &step, sizeof step) == sizeof step) {
        snprintf(number, sizeof number, "%" PRIu64, step);
        setenv("TF_STEP", number, 1);
        const struct tf_shell_result r = run_once(command);
        if (write(4, &r, sizeof r) != sizeof r)
            break;
    }
    _exit(0);
}

/* ---- the first process ---- */

void tf_shell_start(struct tf_shell *s, const char *command, const char *variable,
                    const char *value)
{
    int to[2] = {-1, -1}, from[2] = {-1, -1};
    *s = (struct tf_shell){.to = -1, .from = -1};
    if (pipe2(to, O_CLOEXEC) == 0 && pipe2(from, O_CLOEXEC) == 0 && (s->pid = fork()) == 0) {
        keep_pipes(to[0], from[1]);
        setenv(variable, value, 1);
        serve(command);
    }
    if (s->pid <= 0) {
        s->pid = 0;
        (void)!tf_fail_errno(&s->err, "a process for the command");
        close(to[1]);
        close(from[0]);
    } else {
        s->to = to[1];
        s->from = from[0];
    }
    close(to[0]);
    close(from[1]);
}

int tf_shell_begin(struct tf_shell *s, uint64_t step, struct tf_err *err)
{
    if (s->pid == 0) {
        *err = s->err;
        return -1;
    }
    return write(s->to, &step, sizeof step) == sizeof step
               ? 0
               : tf_fail_errno(err, "the process that runs the command");
}

int tf_shell_wait(struct tf_shell *s, int ms, struct tf_shell_result *r, struct tf_err *err)
{
    struct pollfd p = {.fd = s->from, .events = POLLIN};
    if (poll(&p, 1, ms) <= 0)
        return 0;
    ssize_t n = read(s->from, r, sizeof *r);
    return n == sizeof *r ? 1 : tf_fail(err, "the process that runs the command has ended");
}

void tf_shell_stop(struct tf_shell *s)
{
    if (s->pid == 0 || s->to < 0)
        return;
    close(s->to);
    close(s->from);
    s->to = s->from = -1;
}

void tf_shell_close(struct tf_shell *s)
{
    if (s->pid == 0)
        return;
    tf_shell_stop(s);
    while (waitpid(s->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    *s = (struct tf_shell){0};
}
