/* sandbox.c - see sandbox.h. The constants of Landlock are written out, because the kernel that
 * runs the program may know more than the headers that it was compiled with. */
#include "base/sandbox.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/sanitize_private.h"
#include "base/temp_private.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#if defined __x86_64__
#define ARCH AUDIT_ARCH_X86_64
#elif defined __aarch64__ && defined __AARCH64EL__
#define ARCH AUDIT_ARCH_AARCH64
#endif

static unsigned in_force;
static bool has_processes, has_copies;

/* ---- files: Landlock ---- */

enum {
    SYS_CREATE_RULESET = 444, /* the same numbers on all architectures */
    SYS_ADD_RULE = 445,
    SYS_RESTRICT_SELF = 446,
};

enum access {
    EXECUTE = 1 << 0,
    WRITE_FILE = 1 << 1,
    READ_FILE = 1 << 2,
    READ_DIR = 1 << 3,
    REMOVE_DIR = 1 << 4,
    REMOVE_FILE = 1 << 5,
    MAKE_DIR = 1 << 7,
    MAKE_REG = 1 << 8,
    TRUNCATE = 1 << 14,
    IOCTL_DEV = 1 << 15,
    OF_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV,
    READ = READ_FILE | READ_DIR | IOCTL_DEV,
    /* READ_DIR to open the directory, for fsync. */
    WRITE = WRITE_FILE | TRUNCATE | IOCTL_DEV | MAKE_REG | REMOVE_FILE | READ_DIR,
};

struct ruleset {
    uint64_t files, net, scoped; /* struct landlock_ruleset_attr */
    int fd, abi;
    bool failed;
};

/* Not open(2): fault injection counts the calls that a tool makes for its user. */
static int open_at(struct ruleset *r, int dir, const char *path, int flags)
{
    long fd = syscall(SYS_openat, dir, path, flags | O_CLOEXEC);
    if (fd < 0)
        r->failed = r->failed || errno == EMFILE || errno == ENFILE || errno == ENOMEM;
    return (int)fd;
}

/* Allow access to a path and to all below it. A path that cannot be opened gets no rule: opening it
 * fails later, too. */
static void allow_at(struct ruleset *r, int dir, const char *path, uint64_t access)
{
    struct stat st;
    struct __attribute__((packed)) {
        uint64_t access;
        int32_t fd;
    } rule; /* struct landlock_path_beneath_attr */
    int fd = open_at(r, dir, path, O_PATH);
    if (fd < 0)
        return;
    if (fstat(fd, &st) == 0 && !S_ISDIR(st.st_mode))
        access &= OF_FILES;
    rule.access = access & r->files;
    rule.fd = fd;
    if (rule.access != 0)
        (void)syscall(SYS_ADD_RULE, r->fd, 1, &rule, 0); /* 1: LANDLOCK_RULE_PATH_BENEATH */
    close(fd);
}

static void allow(struct ruleset *r, const char *path, uint64_t access)
{
    allow_at(r, AT_FDCWD, path, access);
}

static void allow_parent(struct ruleset *r, const char *path, uint64_t access)
{
    char *copy = tf_xstrdup(path);
    allow(r, dirname(copy), access);
    free(copy);
}

/* Allow reading the files that links in a directory refer to: a rule for the directory does not
 * cover those that are elsewhere. */
static void allow_links(struct ruleset *r, const char *path)
{
    _Alignas(struct dirent64) char entries[8192];
    struct stat st;
    ssize_t n;
    int left = TF_SANDBOX_LINKS, dir = open_at(r, AT_FDCWD, path, O_RDONLY | O_DIRECTORY);
    if (dir < 0)
        return;
    while (left > 0 && (n = getdents64(dir, entries, sizeof entries)) > 0)
        for (const char *p = entries; left > 0 && p < entries + n;) {
            const struct dirent64 *e = (const void *)p;
            p += e->d_reclen;
            if ((e->d_type != DT_LNK && e->d_type != DT_UNKNOWN) ||
                fstatat(dir, e->d_name, &st, 0) != 0 || !S_ISREG(st.st_mode))
                continue;
            allow_at(r, dir, e->d_name, READ);
            left--;
        }
    close(dir);
}

static void allow_read(struct ruleset *r, const char *path)
{
    allow(r, path, READ);
    allow_links(r, path);
}

static void allow_beside(struct ruleset *r, const char *path)
{
    char *target = tf_path_target(path);
    allow_parent(r, path, READ);
    if (target != NULL)
        allow_parent(r, target, READ);
    free(target);
}

/* A file is replaced in its directory; base/output.c replaces what a link refers to. */
static void allow_output(struct ruleset *r, const char *path)
{
    struct stat st;
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) {
        if (!S_ISDIR(st.st_mode))
            allow(r, path, WRITE);
        return;
    }
    char *target = tf_path_target(path);
    allow_parent(r, target != NULL ? target : path, WRITE);
    free(target);
}

static void allow_dir(struct ruleset *r, const char *path)
{
    struct stat st;
    if (stat(path, &st) == 0) {
        allow(r, path, READ | WRITE);
        allow_links(r, path);
        allow_parent(r, path, READ_DIR); /* to open it, for fsync */
    } else {
        allow_parent(r, path, READ | WRITE | MAKE_DIR | REMOVE_DIR);
    }
}

/* What libraries are loaded from, and what they read. Programs are found there, too. */
static void allow_system(struct ruleset *r, bool processes)
{
    static const char *const paths[] = {"/usr",
                                        "/lib",
                                        "/lib64",
                                        "/nix/store",
                                        "/gnu/store",
                                        "/etc/ld.so.cache",
                                        "/etc/ld.so.preload",
                                        "/etc/localtime",
                                        "/dev/null",
                                        "/proc/cpuinfo",
                                        "/proc/self/maps",
                                        "/proc/sys/vm/overcommit_memory",
                                        "/sys/devices/system"};
    const uint64_t access = READ | (processes ? EXECUTE : 0);
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        allow(r, paths[i], access);
    const char *dirs = getenv("LD_LIBRARY_PATH");
    for (const char *p = dirs; p != NULL && *p != 0;) {
        size_t n = strcspn(p, ":;");
        char *dir = tf_xstrndup(p, n);
        allow(r, n > 0 ? dir : ".", access);
        free(dir);
        p += n + (p[n] != 0);
    }
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (processes && n > 0) {
        self[n] = 0;
        allow(r, dirname(self), access);
    }
}

static void restrict_files(const struct tf_sandbox *s)
{
    /* The rights that each version of Landlock knows. */
    static const uint64_t known[] = {0x1fff, 0x3fff, 0x7fff, 0x7fff, 0xffff};
    enum { N = sizeof known / sizeof *known, SCOPED = 6, VERSION = 1 };
    long abi = syscall(SYS_CREATE_RULESET, NULL, 0, VERSION);
    if (abi < 1)
        return;
    struct ruleset r = {.files = known[abi < N ? abi - 1 : N - 1], .abi = (int)abi};
    /* Signals to processes outside, and abstract sockets of theirs. */
    r.scoped = abi >= SCOPED && !s->processes ? 3 : 0;
    r.fd = (int)syscall(SYS_CREATE_RULESET, &r,
                        abi >= SCOPED ? offsetof(struct ruleset, fd) : sizeof r.files, 0);
    if (r.fd < 0)
        return;
    allow_system(&r, s->processes);
    for (size_t i = 0; i < s->read.n; i++)
        allow_read(&r, s->read.v[i]);
    for (size_t i = 0; i < s->beside.n; i++)
        allow_beside(&r, s->beside.v[i]);
    for (size_t i = 0; i < s->write.n; i++)
        allow_output(&r, s->write.v[i]);
    for (size_t i = 0; i < s->dirs.n; i++)
        allow_dir(&r, s->dirs.v[i]);
    if (!r.failed && syscall(SYS_RESTRICT_SELF, r.fd, 0) == 0)
        in_force |= TF_SANDBOX_FILES;
    close(r.fd);
}

/* ---- calls: seccomp ---- */

#ifdef ARCH

enum { LOW = 0, HIGH = 4 }; /* halves of an argument: both architectures are little-endian */

struct filter {
    struct sock_filter v[1024];
    unsigned short n;
};

static void put_op(struct filter *f, unsigned code, uint32_t k, unsigned yes, unsigned no)
{
    TF_ASSERT(f->n < sizeof f->v / sizeof *f->v);
    f->v[f->n++] = (struct sock_filter)BPF_JUMP((uint16_t)code, k, (uint8_t)yes, (uint8_t)no);
}

static void load_word(struct filter *f, size_t offset)
{
    put_op(f, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}

static void answer(struct filter *f, uint32_t action)
{
    put_op(f, BPF_RET | BPF_K, action, 0, 0);
}

#define REFUSE (SECCOMP_RET_ERRNO | EPERM)
#define UNKNOWN (SECCOMP_RET_ERRNO | ENOSYS)
#define ARG(i, half) (offsetof(struct seccomp_data, args) + 8 * (i) + (half))

/* The number of the call is loaded before and after each of these. */

static void on_call(struct filter *f, long call, uint32_t action)
{
    put_op(f, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)call, 0, 1);
    answer(f, action);
}

/* Answer a call by its argument i: `yes` if test (BPF_JEQ, or BPF_JSET for any of the bits) is true
 * of the lower half. */
static void on_argument(struct filter *f, long call, int i, unsigned test, uint32_t value,
                        uint32_t yes, uint32_t no)
{
    put_op(f, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)call, 0, 4);
    load_word(f, ARG(i, LOW));
    put_op(f, BPF_JMP | test | BPF_K, value, 0, 1);
    answer(f, yes);
    answer(f, no);
}

/* A call in the numbers of another architecture is no call of ours. x32 has numbers above all
 * others. */
static void begin_filter(struct filter *f)
{
    load_word(f, offsetof(struct seccomp_data, arch));
    put_op(f, BPF_JMP | BPF_JEQ | BPF_K, ARCH, 1, 0);
    answer(f, SECCOMP_RET_KILL_PROCESS);
    load_word(f, offsetof(struct seccomp_data, nr));
}

static bool install(struct filter *f)
{
    struct sock_fprog program = {.len = f->n, .filter = f->v};
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
}

/* Calls that no tool makes. Landlock has no rights for modes, owners and attributes. Those above
 * 423 have the same numbers everywhere. */
/* clang-format off */
static const short refused[] = {
    /* processes, and what acts on others */
    SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev, SYS_kcmp, SYS_rt_sigqueueinfo,
    SYS_rt_tgsigqueueinfo, SYS_setns, SYS_unshare, SYS_personality, SYS_perf_event_open,
    424 /* pidfd_send_signal */, 434 /* pidfd_open */, 438 /* pidfd_getfd */,
    440 /* process_madvise */, 448 /* process_mrelease */,
#ifdef SYS_modify_ldt
    SYS_modify_ldt, SYS_iopl, SYS_ioperm,
#endif
    /* files by other ways than a path, and what is not their content */
    SYS_name_to_handle_at, SYS_open_by_handle_at, SYS_fanotify_init, SYS_mknodat, SYS_fchmodat,
    SYS_fchownat, SYS_setxattr, SYS_lsetxattr, SYS_fsetxattr, SYS_removexattr,
    SYS_lremovexattr, SYS_fremovexattr, SYS_truncate, SYS_utimensat, 425 /* io_uring_setup */,
    426 /* io_uring_enter */, 427 /* io_uring_register */, 452 /* fchmodat2 */,
    463 /* setxattrat */, 466 /* removexattrat */, 469 /* file_setattr */,
#ifdef SYS_chmod
    SYS_chmod, SYS_chown, SYS_lchown, SYS_mknod, SYS_utime, SYS_utimes, SYS_futimesat,
#endif
    /* the kernel and the machine */
    SYS_bpf, SYS_userfaultfd, SYS_add_key, SYS_request_key, SYS_keyctl, SYS_init_module,
    SYS_finit_module, SYS_delete_module, SYS_kexec_load, SYS_reboot, SYS_swapon, SYS_swapoff,
    SYS_acct, SYS_syslog, SYS_quotactl, SYS_sethostname, SYS_setdomainname, SYS_settimeofday,
    SYS_clock_settime, SYS_adjtimex, SYS_clock_adjtime, SYS_vhangup, SYS_mount, SYS_umount2,
    SYS_pivot_root, SYS_chroot, 428 /* open_tree */, 429 /* move_mount */, 430 /* fsopen */,
    431 /* fsconfig */, 432 /* fsmount */, 433 /* fspick */, 442 /* mount_setattr */,
    443 /* quotactl_fd */, 467 /* open_tree_attr */,
#ifdef SYS_kexec_file_load
    SYS_kexec_file_load,
#endif
    /* memory and queues of other processes */
    SYS_shmget, SYS_shmat, SYS_msgget, SYS_semget, SYS_mq_open
};
/* clang-format on */

/* Besides, unless `processes`. */
/* clang-format off */
static const short refused_alone[] = {
    SYS_execve, SYS_execveat, SYS_socket, SYS_socketpair, SYS_connect, SYS_bind, SYS_listen,
    SYS_accept, SYS_accept4, SYS_sendto, SYS_sendmsg, SYS_sendmmsg, SYS_recvmmsg,
#ifdef SYS_fork
    SYS_fork, SYS_vfork,
#endif
};
/* clang-format on */

enum {
    LAST_KNOWN = 469, /* a later call may be another way to do any of that */
    NAMESPACES = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER |
                 CLONE_NEWPID | CLONE_NEWNET
};

static void restrict_calls(const struct tf_sandbox *s)
{
    const bool processes = s->processes, has_outputs = s->write.n > 0 || s->dirs.n > 0;
    struct filter f = {.n = 0};
    begin_filter(&f);
    put_op(&f, BPF_JMP | BPF_JGT | BPF_K, LAST_KNOWN, 0, 1);
    answer(&f, UNKNOWN);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        on_call(&f, refused[i], REFUSE);
    for (size_t i = 0; !processes && i < sizeof refused_alone / sizeof *refused_alone; i++)
        on_call(&f, refused_alone[i], REFUSE);
    if (!processes && !s->copies)
        on_call(&f, SYS_recvmsg, REFUSE);
    if (!processes) {
        /* Its flags are in memory, where a filter cannot see them; the C library then uses clone.
         */
        on_call(&f, 435 /* clone3 */, UNKNOWN);
        if (s->copies)
            on_argument(&f, SYS_clone, 0, BPF_JSET, NAMESPACES, REFUSE, SECCOMP_RET_ALLOW);
        else
            on_argument(&f, SYS_clone, 0, BPF_JSET, CLONE_THREAD, SECCOMP_RET_ALLOW, REFUSE);
        on_argument(&f, SYS_kill, 0, BPF_JEQ, (uint32_t)getpid(), SECCOMP_RET_ALLOW, REFUSE);
        on_argument(&f, SYS_tgkill, 0, BPF_JEQ, (uint32_t)getpid(), SECCOMP_RET_ALLOW, REFUSE);
        on_argument(&f, SYS_tkill, 0, BPF_JEQ, (uint32_t)getpid(), SECCOMP_RET_ALLOW, REFUSE);
    }
    /* An output gets the group and permissions of the file that it replaces: no other owner, and no
     * set-id bits. */
    on_argument(&f, SYS_fchown, 1, BPF_JEQ, (uint32_t)-1, has_outputs ? SECCOMP_RET_ALLOW : REFUSE,
                REFUSE);
    on_argument(&f, SYS_fchmod, 1, BPF_JSET, 07000, REFUSE,
                has_outputs ? SECCOMP_RET_ALLOW : REFUSE);
    /* What would type into the user's terminal. */
    put_op(&f, BPF_JMP | BPF_JEQ | BPF_K, SYS_ioctl, 0, 5);
    load_word(&f, ARG(1, LOW));
    put_op(&f, BPF_JMP | BPF_JEQ | BPF_K, TIOCSTI, 1, 0);
    put_op(&f, BPF_JMP | BPF_JEQ | BPF_K, 0x541c /* TIOCLINUX */, 0, 1);
    answer(&f, REFUSE);
    answer(&f, SECCOMP_RET_ALLOW);
    answer(&f, SECCOMP_RET_ALLOW);
    if (install(&f))
        in_force |= TF_SANDBOX_CALLS;
}

/* What is left when the sandbox is sealed. */
/* clang-format off */
static const short sealed[] = {
    SYS_read, SYS_readv, SYS_pread64, SYS_write, SYS_writev, SYS_pwrite64, SYS_lseek, SYS_close,
    SYS_fstat, SYS_newfstatat, SYS_statx, SYS_fcntl, SYS_ioctl, SYS_ppoll, SYS_fsync,
    SYS_fdatasync, SYS_ftruncate, SYS_unlinkat, SYS_renameat, SYS_renameat2, SYS_readlinkat,
    SYS_munmap, SYS_mremap, SYS_madvise, SYS_brk, SYS_mincore, SYS_futex, SYS_clone,
    SYS_set_robust_list, SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_rt_sigreturn,
    SYS_sigaltstack, SYS_restart_syscall, SYS_sched_yield, SYS_sched_getaffinity, SYS_getpid,
    SYS_getppid, SYS_gettid, SYS_geteuid, SYS_getpgid, SYS_kill, SYS_tgkill, SYS_tkill,
    SYS_prlimit64, SYS_getrandom, SYS_clock_gettime, SYS_clock_getres, SYS_clock_nanosleep,
    SYS_nanosleep, SYS_gettimeofday, SYS_setitimer, SYS_getrusage, SYS_times, SYS_uname,
    SYS_sysinfo, SYS_membarrier, SYS_exit, SYS_exit_group, SYS_rseq,
#ifdef SYS_poll
    SYS_poll, SYS_stat, SYS_lstat, SYS_unlink, SYS_rename, SYS_readlink, SYS_time,
    SYS_getrlimit, SYS_getpgrp, SYS_arch_prctl, SYS_pause,
#endif
};
/* clang-format on */

/* Besides, for copies. */
static const short sealed_copies[] = {SYS_recvmsg, SYS_dup3, SYS_setpgid,
#ifdef SYS_dup2
                                      SYS_dup2
#endif
};

static void refuse_the_rest(void)
{
    struct filter f = {.n = 0};
    begin_filter(&f);
    for (size_t i = 0; has_copies && i < sizeof sealed_copies / sizeof *sealed_copies; i++)
        on_call(&f, sealed_copies[i], SECCOMP_RET_ALLOW);
    for (size_t i = 0; i < sizeof sealed / sizeof *sealed; i++)
        on_call(&f, sealed[i], SECCOMP_RET_ALLOW);
    on_argument(&f, SYS_mmap, 2, BPF_JSET, PROT_EXEC, REFUSE, SECCOMP_RET_ALLOW);
    on_argument(&f, SYS_mprotect, 2, BPF_JSET, PROT_EXEC, REFUSE, SECCOMP_RET_ALLOW);
    /* A directory, for fsync: its flags as temp.c has them. */
    on_argument(&f, SYS_openat, 2, BPF_JEQ, O_RDONLY | O_DIRECTORY | O_CLOEXEC, SECCOMP_RET_ALLOW,
                REFUSE);
    on_call(&f, 435 /* clone3 */, UNKNOWN);
    answer(&f, REFUSE);
    if (install(&f))
        in_force |= TF_SANDBOX_SEALED;
}

#else
static void restrict_calls(const struct tf_sandbox *s)
{
    (void)s;
}
static void refuse_the_rest(void)
{
}
#endif

/* ---- CPU time and memory ---- */

static struct {
    char text[1024];
    struct rlimit data;
    struct sigaction action; /* these two as they were */
} limits;

static void give_up(int sig)
{
    (void)sig;
    (void)!write(STDERR_FILENO, limits.text, strlen(limits.text));
    tf_temp_remove_all();
    _exit(TF_FAILED);
}

static void set_timer(double seconds)
{
    struct itimerval t = {.it_value = {(time_t)seconds, (suseconds_t)(1e6 * fmod(seconds, 1))}};
    setitimer(ITIMER_PROF, &t, NULL);
}

void tf_sandbox_limit(double seconds, size_t bytes, const char *text)
{
    struct sigaction end = {.sa_handler = give_up};
    snprintf(limits.text, sizeof limits.text, "%s: %s\n", tf_progname, text);
    getrlimit(RLIMIT_DATA, &limits.data);
    struct rlimit data = limits.data;
    if (!TF_SANITIZED && bytes < data.rlim_cur) {
        data.rlim_cur = bytes;
        setrlimit(RLIMIT_DATA, &data);
    }
    sigaction(SIGPROF, &end, &limits.action);
    set_timer(seconds);
}

void tf_sandbox_unlimit(void)
{
    set_timer(0);
    sigaction(SIGPROF, &limits.action, NULL);
    setrlimit(RLIMIT_DATA, &limits.data);
}

/* ---- entry points ---- */

unsigned tf_sandbox_enter(const struct tf_sandbox *s)
{
    const char *wanted = getenv("TF_SANDBOX");
    if (TF_SANITIZED || s->off || (wanted != NULL && strcmp(wanted, "no") == 0) ||
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return in_force;
    has_processes = s->processes;
    has_copies = s->copies;
    restrict_files(s);
    restrict_calls(s);
    return in_force;
}

unsigned tf_sandbox_seal(void)
{
    if ((in_force & TF_SANDBOX_CALLS) && !has_processes)
        refuse_the_rest();
    return in_force;
}
