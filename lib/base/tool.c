/* tool.c - start and end of a tool. */
#include "base/tool.h"
#include "base/cpus.h"
#include "base/log.h"
#include "base/opt_check_private.h"
#include "base/opt_parse_private.h"
#include "base/opt_print_private.h"
#include "base/sandbox.h"
#include "base/thread.h"
#include "base/version.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* If a standard stream is closed, the first file opened would get its number and receive its data.
 * Open /dev/null in the wrong direction instead, so that using the stream still fails. */
static void reserve_standard_streams(void)
{
    for (int fd = 0; fd < 3; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF &&
            open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY) < 0)
            _exit(TF_FAILED);
}

/* Raise a stack limit that is too low for us, or fail: exceeding it would be a SIGSEGV. The kernel
 * compares with the limit when the stack grows. */
static int check_stack(struct tf_err *err)
{
    enum { LEAST = TF_THREAD_STACK };
    struct rlimit l;
    if (getrlimit(RLIMIT_STACK, &l) != 0 || l.rlim_cur >= LEAST)
        return 0;
    rlim_t soft = l.rlim_cur;
    l.rlim_cur = LEAST;
    if (l.rlim_max < LEAST) /* only for those who may */
        l.rlim_max = LEAST;
    if (setrlimit(RLIMIT_STACK, &l) == 0)
        return 0;
    return tf_fail(err, "stack limited to %llu kB, at least %d kB needed (ulimit -s %d)",
                   (unsigned long long)soft / 1024, LEAST / 1024, LEAST / 1024);
}

/* Answer --help and its like. */
_Noreturn static void answer(const struct tf_tool *tool, const struct tf_args *args)
{
    static char buffer[32 << 10]; /* for all output: stdio keeps no errno of an earlier write */
    struct tf_err err = {0};
    int rc = 0;
    setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
    if (args->ask == TF_ASK_HELP)
        tf_opt_print_help(tool);
    else if (args->ask == TF_ASK_VERSION)
        printf("%s (tf-tools) %s\n", tool->name, tf_build);
    else if (args->ask == TF_ASK_OPTIONS)
        tf_opt_print_list(tool);
    else if (args->shell == NULL || tf_opt_print_completion(tool, args->shell) != 0)
        rc = tf_fail_status(&err, TF_USAGE, "--complete: one of bash, zsh, fish");
    exit(tf_tool_finish(rc, &err));
}

int tf_tool_start(const struct tf_tool *tool, int argc, char **argv, struct tf_args *args,
                  struct tf_err *err)
{
    tf_progname = tool->name;
    reserve_standard_streams();
    signal(SIGXFSZ, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGCHLD, SIG_DFL); /* where it is ignored, no end of a process can be waited for */
    if (check_stack(err) != 0)
        return -1;
    int rc = tf_opt_parse(tool, argc, argv, args, err);
    if (rc > 0)
        answer(tool, args);
    return rc;
}

int tf_tool_finish(int rc, struct tf_err *err)
{
    int status = err->status != 0 ? err->status : rc < 0 ? TF_FAILED : rc;
    tf_warn_summary();
    if (status == TF_READER_LEFT)
        status = TF_OK;
    else if ((rc < 0 || err->status != 0) && (status != TF_PARTIAL || err->msg[0] != 0))
        tf_error("%s", err->msg[0] != 0 ? err->msg : "failed");
    /* stdio keeps no errno of an earlier failure, but a full disk fails again at the flush. */
    bool earlier = ferror(stdout);
    errno = 0;
    if (fflush(stdout) != 0 || earlier || fclose(stdout) != 0) {
        int sys = errno;
        /* After another status the message is printed already. */
        if (sys != EPIPE && (status == TF_OK || status == TF_PARTIAL)) {
            status = TF_FAILED;
            tf_error("write error%s%s", sys != 0 ? ": " : "", sys != 0 ? strerror(sys) : "");
        }
    }
    return status;
}

static void enter_sandbox(const struct tf_tool *tool, const struct tf_args *args)
{
    struct tf_sandbox s = {0};
    tf_opt_files(tool, args, &s.read, &s.write, &s.dirs);
    if (tool->widen != NULL)
        tool->widen(args, &s);
    if (tf_opt_find(tool->opts, "threads") != NULL)
        (void)tf_threads_default(); /* reads files that the sandbox has not */
    (void)tf_sandbox_enter(&s);
}

int tf_tool_main(const struct tf_tool *tool, int argc, char **argv,
                 int (*run)(const struct tf_args *args, struct tf_err *err))
{
    struct tf_err err = {0};
    struct tf_args args;
    int rc = tf_tool_start(tool, argc, argv, &args, &err);
    if (rc == 0) {
        enter_sandbox(tool, &args);
        rc = run(&args, &err);
    }
    return tf_tool_finish(rc, &err);
}
