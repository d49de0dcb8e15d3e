/* What a process in the sandbox can still do. Each case runs in a process of its own and prints
 * what the kernel said. */
#include "../harness/child.h"
#include "../harness/tap.h"
#include "../harness/temp.h"
#include "base/fd.h"
#include "base/output.h"
#include "base/sandbox.h"
#include "base/temp_private.h"
#include "base/thread.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static unsigned in_force; /* what a sandbox of this machine can do */
static struct tf_sandbox plain;
static bool sealing;

/* 0, or the errno of the first failure. */
typedef int attempt(void);

static int result(long rc)
{
    return rc >= 0 ? 0 : errno;
}

/* path: below the test's directory, unless it begins with '/' */
static int opened(const char *path, int flags)
{
    int fd = open(*path == '/' ? path : temp_path(path), flags | O_CLOEXEC, 0600);
    if (fd < 0)
        return errno;
    close(fd);
    return 0;
}

enum { NEW = O_WRONLY | O_CREAT };
static const char *path_to_open;
static int flags_to_open;

static int open_it(void)
{
    return opened(path_to_open, flags_to_open);
}

static int sync_parent_of_run(void)
{
    struct tf_err err = {0};
    int fd = open(temp_path(""), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return errno;
    int rc = tf_sync_dir_at(fd, temp_path("run"), &err);
    close(fd);
    return rc == 0 ? 0 : err.sys;
}

static int in_new_run(void)
{
    return mkdir(temp_path("runs/new"), 0777) != 0 ? errno
                                                   : opened("runs/new/x", O_RDWR | O_CREAT);
}

static int write_through(const char *link)
{
    struct tf_out out;
    struct tf_err err = {0};
    if (tf_out_open(&out, temp_path(link), 0, &err) != 0)
        return err.sys;
    return tf_out_finish(&out, tf_out_write(&out, "x", 1, &err), &err) == 0 ? 0 : err.sys;
}

static int output(void)
{
    return write_through("out/link");
}
static int new_output(void)
{
    return write_through("out/dangling");
}

static int run_program(void)
{
    execl("/bin/true", "true", (char *)NULL);
    return errno;
}

static int spawn(void)
{
    pid_t pid = fork();
    int status;
    if (pid == 0)
        _exit(run_program() == 0);
    if (pid < 0)
        return errno;
    return waitpid(pid, &status, 0) == pid && status == 0 ? 0 : EINVAL;
}

static int copy(void)
{
    pid_t pid = fork();
    int status;
    if (pid == 0)
        _exit(0);
    return pid < 0 ? errno : waitpid(pid, &status, 0) == pid && status == 0 ? 0 : EINVAL;
}

/* Sealed, it cannot wait. */
static int copy_alone(void)
{
    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    return pid < 0 ? errno : 0;
}

static int new_users(void)
{
    long pid = syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, NULL, NULL, NULL, NULL);
    if (pid == 0)
        _exit(0);
    return result(pid);
}

static int inet(void)
{
    return result(socket(AF_INET, SOCK_STREAM, 0));
}
static int unix_pair(void)
{
    int fd[2];
    return result(socketpair(AF_UNIX, SOCK_STREAM, 0, fd));
}
static int trace(void)
{
    return result(ptrace(PTRACE_ATTACH, getppid(), NULL, NULL));
}
static int signal_parent(void)
{
    return result(kill(getppid(), 0));
}
static int change_mode(void)
{
    return result(chmod(temp_path("in/other"), 04777));
}
static int change_open(uid_t user, gid_t group)
{
    int fd = open(temp_path("out/new"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    return result(fd < 0 ? fd : fchown(fd, user, group));
}
/* Of an open file in the directory of an output. */
static int set_mode(mode_t mode)
{
    int fd = open(temp_path("out/mine"), O_WRONLY | O_CREAT, 0600);
    return result(fd < 0 ? fd : fchmod(fd, mode));
}

static int change_rights(void)
{
    return set_mode(0640);
}

static int set_user_id(void)
{
    return set_mode(04755);
}

static int change_input(void)
{
    int fd = open(temp_path("in/input"), O_RDONLY);
    return result(fd < 0 ? fd : fchmod(fd, 0644));
}

static int change_group(void)
{
    return change_open((uid_t)-1, getegid());
}
static int change_owner(void)
{
    return change_open(geteuid(), (gid_t)-1);
}
static int type_into_terminal(void)
{
    return result(ioctl(0, TIOCSTI, "x"));
}
static int ring(void)
{
    return result(syscall(425, 1, NULL));
}
static int key(void)
{
    return result(syscall(SYS_add_key, "user", "tf", "x", 1, -3));
}
static int of_tomorrow(void)
{
    return result(syscall(9999));
}

static void *nothing(void *arg)
{
    return arg;
}

static int start_thread(void)
{
    pthread_t t;
    int rc = tf_thread_start(&t, nothing, NULL);
    return rc != 0 ? rc : pthread_join(t, NULL);
}

static void got(int sig)
{
    (void)sig;
}

static int signal_self(void)
{
    signal(SIGUSR1, got);
    return raise(SIGUSR1) != 0 ? errno : result(kill(getpid(), SIGUSR1));
}

/* What base/terminal.c needs to know the other tools of its job. */
static int job(void)
{
    return result(getpgrp());
}

static int new_code(void)
{
    void *p = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return p == MAP_FAILED ? errno : 0;
}

static int allocate(void)
{
    void *p = malloc(64 << 20);
    if (p == NULL)
        return errno;
    memset(p, 1, 64 << 20);
    free(p);
    return 0;
}

/* Within a limit, more memory than it allows. */
static int allocate_much(void)
{
    tf_sandbox_limit(100, 48 << 20, "");
    int rc = allocate();
    tf_sandbox_unlimit();
    return rc != 0 ? rc : EEXIST;
}

static int allocate_after(void)
{
    (void)allocate_much();
    return allocate();
}

/* Within limits that it keeps, and after them. */
static int compute(void)
{
    volatile unsigned x = 1;
    tf_sandbox_limit(100, (size_t)1 << 30, "");
    int rc = allocate();
    tf_sandbox_unlimit();
    tf_sandbox_limit(0.01, (size_t)1 << 30, "");
    tf_sandbox_unlimit();
    for (clock_t end = clock() + CLOCKS_PER_SEC / 10; clock() < end;)
        x++;
    return rc;
}

static void compute_without_end(void *arg)
{
    (void)arg;
    volatile unsigned x = 1;
    struct tf_temp *temp;
    struct tf_err err = {0};
    tf_progname = "tf-x";
    tf_sandbox_enter(&plain);
    if (tf_temp_create(&temp, AT_FDCWD, temp_path("out/file"), 0600) < 0)
        exit(2);
    tf_sandbox_seal();
    tf_fail(&err, "a\nmodel: more than 0.1 s");
    tf_sandbox_limit(0.1, (size_t)1 << 30, err.msg);
    for (;;)
        x++;
}

static void enter_and_try(void *arg)
{
    attempt *fn = *(attempt **)arg;
    tf_sandbox_enter(&plain);
    if (sealing)
        tf_sandbox_seal();
    printf("%d\n", fn());
    fflush(stdout);
    _exit(0);
}

/* needs: what enforces it (TF_SANDBOX_FILES ...); 0 for what is allowed. */
static void expect(attempt *fn, unsigned needs, int want, const char *name)
{
    struct child c;
    if ((in_force & needs) != needs) {
        char why[128];
        snprintf(why, sizeof why, "sandbox: %s: this kernel lacks it, or sanitizers", name);
        skip(why);
        return;
    }
    run_child(&c, enter_and_try, &fn, NULL);
    is_int(c.status, 0, "%s: ends", name);
    is_int(strtol(c.out, NULL, 10), want, "%s: %s", name, want == 0 ? "works" : strerror(want));
}

static void expect_open(const char *path, int flags, unsigned needs, int want, const char *name)
{
    path_to_open = path;
    flags_to_open = flags;
    expect(open_it, needs, want, name);
}

static void report(void *arg)
{
    (void)arg;
    tf_sandbox_enter(&plain);
    printf("%u\n", tf_sandbox_seal());
    fflush(stdout);
    _exit(0);
}

static unsigned ask(void)
{
    struct child c;
    run_child(&c, report, NULL, NULL);
    return (unsigned)strtoul(c.out, NULL, 10);
}

static void test_files(void)
{
    enum { FILES = TF_SANDBOX_FILES };
    expect_open("in/input", O_RDONLY, 0, 0, "an input");
    expect_open("all/below/it", O_RDONLY, 0, 0, "a file below an input that is a directory");
    expect_open("data/appeared", O_RDONLY, 0, 0, "a file beside one that is opened again");
    expect_open("disk/appeared", O_RDONLY, 0, 0, "a file beside the one that its link refers to");
    expect_open("all/link", O_RDONLY, 0, 0, "a link in an input that is a directory");
    expect_open("run/link", O_RDONLY, 0, 0, "a link in the directory of a run");
    expect(sync_parent_of_run, 0, 0, "syncing the directory that has the directory of a run");
    expect_open("/usr/lib", O_RDONLY | O_DIRECTORY, 0, 0, "libraries");
    expect_open("out/new", NEW, 0, 0, "a new file in the directory of an output");
    expect(output, 0, 0, "an output through a link to another directory");
    expect(new_output, 0, 0, "a new output through a link to another directory");
    expect_open("run/x", O_RDWR | O_CREAT, 0, 0, "the directory of a run");
    expect(in_new_run, 0, 0, "a run that does not exist yet");
    expect_open("in/other", O_RDONLY, FILES, EACCES, "another file in the directory of an input");
    expect_open("all/below/link", O_RDONLY, FILES, EACCES, "a link further below");
    expect_open("all/dir/other", O_RDONLY, FILES, EACCES, "a link to a directory");
    expect_open("else/other", O_RDONLY, FILES, EACCES, "another file where a link leads");
    expect_open("run/link", O_WRONLY, FILES, EACCES, "writing to what a link in a run refers to");
    expect_open("else/beside", O_RDONLY, FILES, EACCES,
                "a file that shares a directory with a run");
    expect_open("/etc/passwd", O_RDONLY, FILES, EACCES, "a file of the system");
    expect_open("/proc/1/environ", O_RDONLY, FILES, EACCES, "another process");
    expect_open("in/input", O_WRONLY, FILES, EACCES, "writing to an input");
    expect_open("in/new", NEW, FILES, EACCES, "a new file beside an input");
    expect_open("out/there", O_RDONLY, FILES, EACCES, "reading in the directory of an output");
}

static void test_calls(void)
{
    enum { CALLS = TF_SANDBOX_CALLS };
    expect(start_thread, 0, 0, "a thread");
    expect(signal_self, 0, 0, "a signal to the process itself");
    expect(run_program, CALLS, EPERM, "execve");
    expect(spawn, CALLS, EPERM, "fork");
    expect(inet, CALLS, EPERM, "socket");
    expect(unix_pair, CALLS, EPERM, "socketpair");
    expect(trace, CALLS, EPERM, "ptrace");
    expect(signal_parent, CALLS, EPERM, "a signal to another process");
    expect(change_group, 0, 0, "the group of an output");
    expect(change_rights, 0, 0, "the permissions of an output");
    expect(set_user_id, CALLS, EPERM, "set-user-ID for an output");
    expect(change_mode, CALLS, EPERM, "chmod");
    expect(change_owner, CALLS, EPERM, "the owner of an output");
    expect(type_into_terminal, CALLS, EPERM, "TIOCSTI");
    expect(ring, CALLS, EPERM, "io_uring");
    expect(key, CALLS, EPERM, "add_key");
    expect(of_tomorrow, CALLS, ENOSYS, "a call that nobody knows");
}

static void test_without_outputs(void)
{
    struct tf_sandbox with = plain;
    plain.write = plain.dirs = (struct tf_strs){0};
    expect_open("in/input", O_RDONLY, 0, 0, "without outputs: an input");
    expect(change_input, TF_SANDBOX_CALLS, EPERM, "without outputs: permissions");
    plain = with;
}

static void test_processes(void)
{
    plain.processes = true;
    expect(spawn, 0, 0, "with processes: a program");
    expect(unix_pair, 0, 0, "with processes: a socket");
    expect_open("/etc/passwd", O_RDONLY, TF_SANDBOX_FILES, EACCES,
                "with processes: a file of the system");
    expect(trace, TF_SANDBOX_CALLS, EPERM, "with processes: ptrace");
    plain.processes = false;
}

static void test_copies(void)
{
    expect(copy, TF_SANDBOX_CALLS, EPERM, "a copy of the process");
    plain.copies = true;
    expect(copy, 0, 0, "with copies: a copy");
    expect(start_thread, 0, 0, "with copies: a thread");
    expect(run_program, TF_SANDBOX_CALLS, EPERM, "with copies: execve");
    expect(unix_pair, TF_SANDBOX_CALLS, EPERM, "with copies: a socket");
    expect(new_users, TF_SANDBOX_CALLS, EPERM, "with copies: a namespace");
    sealing = true;
    expect(copy_alone, 0, 0, "sealed, with copies: a copy");
    expect_open("in/input", O_RDONLY, TF_SANDBOX_SEALED, EPERM, "sealed, with copies: an input");
    expect(run_program, TF_SANDBOX_CALLS, EPERM, "sealed, with copies: execve");
    sealing = false;
    plain.copies = false;
    sealing = true;
    expect(copy_alone, TF_SANDBOX_CALLS, EPERM, "sealed: a copy");
    sealing = false;
}

static void test_sealed(void)
{
    enum { SEALED = TF_SANDBOX_SEALED };
    sealing = true;
    expect(start_thread, 0, 0, "sealed: a thread");
    expect(allocate, 0, 0, "sealed: memory");
    expect(signal_self, 0, 0, "sealed: a signal to the process itself");
    expect(job, 0, 0, "sealed: the job of a terminal");
    expect_open("in/input", O_RDONLY, SEALED, EPERM, "sealed: an input");
    expect_open("out/new", NEW, SEALED, EPERM, "sealed: an output");
    expect(new_code, SEALED, EPERM, "sealed: executable memory");
    expect(run_program, SEALED, EPERM, "sealed: execve");
    sealing = false;
}

static void test_limits(void)
{
    struct child c;
    int files = count_entries(temp_path("out"));
    expect(compute, 0, 0, "what stays within limits");
    expect(allocate_much, TF_SANDBOX_CALLS, ENOMEM, "more memory than a limit");
    expect(allocate_after, 0, 0, "as much memory after it");
    run_child(&c, compute_without_end, NULL, NULL);
    is_int(c.status, TF_FAILED, "more CPU than a limit: the status");
    is_str(c.err, "tf-x: a\\x0amodel: more than 0.1 s\n", "the message");
    is_int(count_entries(temp_path("out")), files, "no temporary file is left");
}

static void test_off(void)
{
    setenv("TF_SANDBOX", "no", 1);
    is_int(ask(), 0, "TF_SANDBOX=no: nothing is in force");
    expect_open("in/other", O_RDONLY, 0, 0, "TF_SANDBOX=no: any file");
    unsetenv("TF_SANDBOX");
    plain.off = true;
    is_int(ask(), 0, "off: nothing is in force");
    plain.off = false;
}

int main(void)
{
    unsetenv("TF_SANDBOX");
    static const char *const dirs[] = {"in",   "out", "all", "all/below", "data", "run",
                                       "runs", "far", "new", "disk",      "else", "even"};
    for (size_t i = 0; i < sizeof dirs / sizeof *dirs; i++)
        mkdir(temp_path(dirs[i]), 0777);
    static const char *const files[] = {"in/input",      "in/other",      "out/there",
                                        "all/below/it",  "data/appeared", "far/file",
                                        "disk/appeared", "disk/valid",    "else/file",
                                        "else/other",    "else/third",    "even/other",
                                        "else/beside"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        write_file(temp_path(files[i]), "x", 1);
    static const char *const links[][2] = {
        {"../new/file", "out/dangling"}, {"../disk/valid", "data/link"},
        {"../else/file", "all/link"},    {"../else/third", "run/link"},
        {"../even", "all/dir"},          {"../../in/other", "all/below/link"},
    };
    for (size_t i = 0; i < sizeof links / sizeof *links; i++)
        if (symlink(links[i][0], temp_path(links[i][1])) != 0)
            bail_out("symlink");
    if (symlink(temp_path("far/file"), temp_path("out/link")) != 0)
        bail_out("symlink");
    tf_strs_add(&plain.read, temp_path("in/input"));
    tf_strs_add(&plain.read, temp_path("in/missing"));
    tf_strs_add(&plain.read, temp_path("all"));
    tf_strs_add(&plain.beside, temp_path("data/valid"));
    tf_strs_add(&plain.beside, temp_path("data/link"));
    tf_strs_add(&plain.write, temp_path("out/result"));
    tf_strs_add(&plain.write, temp_path("out/link"));
    tf_strs_add(&plain.write, temp_path("out/dangling"));
    tf_strs_add(&plain.dirs, temp_path("run"));
    tf_strs_add(&plain.dirs, temp_path("runs/new"));
    in_force = ask();
    printf("# in force on this machine: %s%s%s%s\n", in_force & TF_SANDBOX_FILES ? "files " : "",
           in_force & TF_SANDBOX_CALLS ? "calls " : "",
           in_force & TF_SANDBOX_SEALED ? "sealed" : "", in_force == 0 ? "nothing" : "");
    test_files();
    test_calls();
    test_without_outputs();
    test_processes();
    test_copies();
    test_sealed();
    test_limits();
    test_off();
    return done();
}
