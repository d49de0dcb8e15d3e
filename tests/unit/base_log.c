/* The progress line: on a terminal, without one, and interrupted by a warning. */
#include "../harness/child.h"
#include "../harness/tap.h"
#include "base/log.h"

#include <sys/wait.h>
#include <unistd.h>

static void show(bool force, bool quiet)
{
    struct tf_progress p;
    tf_progname = "tf-x";
    tf_progress_begin(&p, force, quiet);
    tf_progress_show(&p, "%d%%\n", 1);
    for (int i = 0; i < 1000; i++)
        tf_progress_show(&p, "again"); /* too soon */
    tf_warn("odd");
    usleep(250000);
    tf_progress_show(&p, "2%%%0100d", 0);
    tf_progress_end(&p);
}

/* The output of show() on stderr, which is a terminal (columns 0: of unknown width) or a pipe. */
static const char *shown(bool terminal, unsigned short columns, bool force, bool quiet)
{
    static char text[4096];
    int fd[2];
    if (terminal ? !open_terminal(fd, columns) : pipe(fd) != 0)
        return NULL;
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(fd[1], 2);
        close(fd[0]);
        close(fd[1]);
        show(force, quiet);
        _exit(0);
    }
    close(fd[1]);
    size_t n = 0;
    ssize_t got;
    while ((got = read(fd[0], text + n, sizeof text - 1 - n)) > 0) /* a terminal ends with EIO */
        n += (size_t)got;
    text[n] = 0;
    close(fd[0]);
    waitpid(pid, NULL, 0);
    return text;
}

int main(void)
{
    char want[256];
    const char *text = shown(true, 0, false, false);
    snprintf(want, sizeof want,
             "\r\033[Ktf-x: 1%%\\x0a\r\033[Ktf-x: warning: odd\r\n"
             "\r\033[Ktf-x: 2%%%071d\r\033[K",
             0);
    if (text == NULL) {
        skip("no terminal to be had");
    } else {
        is_str(text, want,
               "a terminal: one line, 80 columns, rewritten, cleared for a warning and at the end");
        is_str(shown(true, 10, false, false),
               "\r\033[Ktf-x: 1%\\\r\033[Ktf-x: warning: odd\r\n\r\033[Ktf-x: 2%0\r\033[K",
               "cut to its width");
    }
    text = shown(true, 0, true, true);
    if (text != NULL)
        is_str(text, "tf-x: warning: odd\r\n", "quiet");
    is_str(shown(false, 0, false, false), "tf-x: warning: odd\n", "a pipe: no progress");
    is_str(shown(false, 0, true, false), "tf-x: 1%\\x0a\ntf-x: warning: odd\n",
           "a pipe, forced: a line every 5 seconds");
    return done();
}
