/* Tools that share a terminal: who shows progress, and who clears it. */
#include "../harness/child.h"
#include "../harness/tap.h"
#include "base/log.h"
#include "base/terminal_private.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* A tool that obeys letters from a pipe, and answers each. */
struct tool {
    const char *name;
    pid_t pid;
    int to[2], from[2];
};

static void obey(const struct tool *t)
{
    struct tf_progress p = {0};
    char c;
    tf_progname = t->name;
    while (read(t->to[0], &c, 1) == 1) {
        if (c == 'b')
            tf_progress_begin(&p, false, false);
        else if (c == 's')
            p.last = 0, tf_progress_show(&p, "progress");
        else if (c == 'w')
            tf_warn("odd");
        else if (c == 't')
            tf_terminal_use(2);
        else if (c == 'g')
            setpgid(0, 0);
        else if (c == 'e')
            tf_progress_end(&p);
        if (write(t->from[1], "", 1) != 1)
            break;
    }
    _exit(0);
}

/* other: a tool that is already there, or NULL */
static void start_tool(struct tool *t, const char *name, const struct tool *other)
{
    t->name = name;
    if (pipe(t->to) != 0 || pipe(t->from) != 0 || (t->pid = fork()) < 0)
        bail_out("no pipe, or no process");
    if (t->pid == 0) {
        close(t->to[1]);
        if (other != NULL)
            close(other->to[1]);
        alarm(20);
        obey(t);
    }
    close(t->to[0]);
}

/* Tell tools what to do: "1b 2s", tool and letter. Returns what then appears on the terminal. */
static const char *after(struct tool tools[2], int terminal, const char *orders)
{
    static char text[4096];
    char c;
    for (const char *p = orders; *p; p += p[2] ? 3 : 2) {
        struct tool *t = &tools[*p - '1'];
        if (write(t->to[1], p + 1, 1) != 1 || read(t->from[0], &c, 1) != 1)
            bail_out("a tool does not answer");
    }
    size_t n = 0;
    ssize_t got;
    fcntl(terminal, F_SETFL, O_NONBLOCK);
    while ((got = read(terminal, text + n, sizeof text - 1 - n)) > 0)
        n += (size_t)got;
    text[n] = 0;
    return text;
}

#define CLEAR "\r\033[K"

/* In a session of its own, whose terminal it is. */
static void share(int terminal, int slave)
{
    struct tool tools[2];
    setsid();
    ioctl(slave, TIOCSCTTY, 0);
    dup2(slave, 2);
    start_tool(&tools[0], "tf-1", NULL);
    start_tool(&tools[1], "tf-2", &tools[0]);
    if (tools[0].pid > tools[1].pid) { /* ids start over */
        struct tool t = tools[0];
        tools[0] = tools[1];
        tools[1] = t;
    }
    const char *one = tools[0].name, *two = tools[1].name;
    char want[100];
    snprintf(want, sizeof want, CLEAR "%s: progress", one);
    is_str(after(tools, terminal, "1b 1s"), want, "the only tool shows progress");
    is_str(after(tools, terminal, "2b 1s"), "", "a later tool begins: the first is silent");
    snprintf(want, sizeof want, CLEAR "%s: progress", two);
    is_str(after(tools, terminal, "2s 1s"), want, "the later tool shows progress");
    snprintf(want, sizeof want, CLEAR "%s: warning: odd\r\n", one);
    is_str(after(tools, terminal, "1w"), want, "a warning clears the line of the other tool");
    snprintf(want, sizeof want, CLEAR "%s: progress", two);
    is_str(after(tools, terminal, "2s"), want, "which shows it again");
    is_str(after(tools, terminal, "2e"), CLEAR, "and clears it at its end");
    snprintf(want, sizeof want, CLEAR CLEAR "%s: progress", one);
    is_str(after(tools, terminal, "2b 2e 1s"), want, "then it is the first tool's turn again");
    snprintf(want, sizeof want, CLEAR "%s: warning: odd\r\n", two);
    is_str(after(tools, terminal, "2b 2w"), want, "the later tool clears what the first has left");
    snprintf(want, sizeof want, CLEAR "%s: progress", two);
    is_str(after(tools, terminal, "2s 1e"), want, "the first leaves the line of the other alone");
    is_str(after(tools, terminal, "1b 1t"), CLEAR, "before lines of text it is cleared");
    is_str(after(tools, terminal, "1s 2s"), "", "among lines of text nobody shows progress");
    snprintf(want, sizeof want, "%s: warning: odd\r\n", two);
    is_str(after(tools, terminal, "2w"), want, "and a warning clears none of them");
    snprintf(want, sizeof want, "%s: warning: odd\r\n", one);
    is_str(after(tools, terminal, "1w"), want, "nor does one of that tool");
    close(tools[0].to[1]);
    waitpid(tools[0].pid, NULL, 0);
    snprintf(want, sizeof want, CLEAR "%s: progress", two);
    is_str(after(tools, terminal, "2s"), want, "when that tool has ended they show it");
    is_str(after(tools, terminal, "2e 2g 2b 2s"), CLEAR, "a job in the background shows none");
    tcsetpgrp(2, tools[1].pid);
    is_str(after(tools, terminal, "2s"), want, "in the foreground it does");
    exit(done());
}

int main(void)
{
    int fd[2], status;
    if (!open_terminal(fd, 0)) {
        skip("no terminal to be had");
        return done();
    }
    pid_t pid = fork();
    if (pid == 0)
        share(fd[0], fd[1]);
    waitpid(pid, &status, 0);
    return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}
