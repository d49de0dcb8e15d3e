/* A process that makes copies of itself: what they have, where they read and write, their end. */
#include "../harness/tap.h"
#include "base/copies.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static int said[2]; /* a pipe */
static char text[] = "first"; /* "second" in what makes copies */

/* Print the text, the place and what stdin has; or end as that says. */
_Noreturn static void copy(int place)
{
    const char number = (char)('0' + place);
    char line[64];
    const ssize_t n = read(STDIN_FILENO, line, sizeof line);
    if (n > 0 && line[0] == 'K')
        raise(SIGKILL);
    if (n < 1 || write(STDOUT_FILENO, text, strlen(text)) < 0 ||
        write(STDOUT_FILENO, &number, 1) < 0 || write(STDOUT_FILENO, line, (size_t)n) < 0)
        _exit(99);
    exit(0);
}

/* Say that there is a request. */
static void awaited(void)
{
    if (write(said[1], "", 1) < 0)
        _exit(99);
}

static pid_t start(int *asks)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) != 0)
        bail_out("socketpair");
    const pid_t pid = fork();
    if (pid == 0) {
        memcpy(text, "other", sizeof text);
        dup2(ends[0], STDIN_FILENO);
        close(ends[0]);
        close(ends[1]);
        tf_copies_await();
        awaited();
        copy(tf_copies_make());
    }
    close(ends[0]);
    *asks = ends[1];
    return pid;
}

/* Our ends of the pipes of a copy. */
struct ends {
    int in, out, life;
};

static bool ask(int asks, int place, struct ends *e)
{
    int in[2], out[2], life[2];
    if (pipe(in) != 0 || pipe(out) != 0 || pipe(life) != 0)
        bail_out("pipe");
    for (int i = 0; i < 2; i++) {
        fcntl(in[i], F_SETFD, FD_CLOEXEC);
        fcntl(out[i], F_SETFD, FD_CLOEXEC);
    }
    const struct tf_copy_request r = {in[0], out[1], life[1], getpgrp(), place};
    const bool taken = tf_copies_ask(asks, &r);
    close(in[0]);
    close(out[1]);
    close(life[1]);
    *e = (struct ends){in[1], out[0], life[0]};
    return taken;
}

static void expect(const struct ends *e, const char *line, const char *want)
{
    char got[64] = {0};
    char byte;
    if (write(e->in, line, strlen(line)) < 0)
        bail_out("write");
    size_t n = 0;
    for (ssize_t k; (k = read(e->out, got + n, sizeof got - 1 - n)) > 0;)
        n += (size_t)k;
    is_str(got, want, "%s: its output", line);
    is_int(read(e->life, &byte, 1), 0, "%s: its end", line);
}

int main(void)
{
    int asks, status;
    struct ends a, b, c;
    signal(SIGPIPE, SIG_IGN);
    alarm(60); /* ends the test */
    if (pipe2(said, O_NONBLOCK) != 0)
        bail_out("pipe");
    pid_t pid = start(&asks);
    close(asks);
    is_int(waitpid(pid, &status, 0), pid, "nobody has asked: the process ends");
    is_int(status, 0, "its status");
    char byte;
    is_int(read(said[0], &byte, 1), -1, "it has not gone on");
    pid = start(&asks);
    /* At the same time, and answered in the other order. */
    ok(ask(asks, 0, &a) && ask(asks, 1, &b) && ask(asks, 2, &c), "requests");
    expect(&c, "K", "");
    expect(&b, "b", "other1b");
    expect(&a, "a", "other0a");
    close(asks);
    is_int(waitpid(pid, &status, 0), pid, "nobody asks any more: the process ends");
    is_int(status, 0, "its status");
    is_int(read(said[0], &byte, 1), 1, "it has gone on when it was asked");
    const pid_t killed = start(&asks);
    kill(killed, SIGKILL);
    waitpid(killed, &status, 0);
    ok(!ask(asks, 0, &a), "a request that nobody takes");
    is_int(read(a.out, &byte, 1) + read(a.life, &byte, 1), 0, "its pipes end");
    return done();
}
