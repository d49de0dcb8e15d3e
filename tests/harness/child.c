/* child.c - functions in processes of their own: see child.h. */
#include "child.h"
#include "tap.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

static void new_pipe(int fd[2])
{
    if (pipe(fd) != 0)
        bail_out("pipe: %s", strerror(errno));
}

static pid_t new_process(void)
{
    fflush(stdout); /* or the child would print it a second time */
    pid_t pid = fork();
    if (pid < 0)
        bail_out("fork: %s", strerror(errno));
    return pid;
}

static void read_to_end(char *text, size_t size, int fd)
{
    size_t n = 0;
    ssize_t got;
    while ((got = read(fd, text + n, size - 1 - n)) > 0)
        n += (size_t)got;
    text[n] = 0;
    close(fd);
}

void run_child(struct child *c, void (*fn)(void *arg), void *arg, const char *stdout_path)
{
    int out[2], err[2], status;
    new_pipe(out);
    new_pipe(err);
    pid_t pid = new_process();
    if (pid == 0) {
        if (stdout_path != NULL && *stdout_path != 0)
            out[1] = open(stdout_path, O_WRONLY);
        dup2(out[1], 1);
        dup2(err[1], 2);
        if (stdout_path != NULL && *stdout_path == 0)
            close(1);
        for (int fd = 3; fd < 32; fd++)
            close(fd);
        fn(arg);
        _exit(99);
    }
    close(out[1]);
    close(err[1]);
    read_to_end(c->out, sizeof c->out, out[0]);
    read_to_end(c->err, sizeof c->err, err[0]);
    waitpid(pid, &status, 0);
    c->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

const char *piped(const void *data, size_t n, size_t step)
{
    static char path[32];
    static int reader = -1;
    static pid_t writer;
    int fd[2];
    if (reader >= 0) {
        close(reader);
        waitpid(writer, NULL, 0);
    }
    new_pipe(fd);
    writer = new_process();
    if (writer == 0) {
        close(fd[0]);
        for (size_t at = 0; at < n; at += step)
            if (write(fd[1], (const char *)data + at, step < n - at ? step : n - at) < 0)
                _exit(1);
        _exit(0);
    }
    close(fd[1]);
    reader = fd[0];
    snprintf(path, sizeof path, "/dev/fd/%d", reader);
    return path;
}

bool open_terminal(int fd[2], unsigned short columns)
{
    fd[0] = posix_openpt(O_RDWR | O_NOCTTY);
    if (fd[0] < 0 || grantpt(fd[0]) != 0 || unlockpt(fd[0]) != 0)
        return false;
    fd[1] = open(ptsname(fd[0]), O_RDWR | O_NOCTTY);
    ioctl(fd[1], TIOCSWINSZ, &(struct winsize){.ws_row = 24, .ws_col = columns});
    return fd[1] >= 0;
}
