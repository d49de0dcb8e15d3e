/* shim.c - LD_PRELOAD: calls that a tool makes fail, come back short, or kill it.
 *
 * Only calls whose return address lies in the program itself count: the C library, SentencePiece
 * and libcbor see the true system. Threads share one counter, so a point in the thread that saves
 * is as easy to reach as one in main. File descriptor 2 is left alone: the message must come out.
 *
 *     TF_FAULT_CALLS=write,fsync   what counts; "files": all but allocation, mmap, poll, threads;
 *     "all": all but allocation; "malloc": all allocation
 *     TF_FAULT_OF=PATTERN          of the calls with a path, only those on a file of such a name
 *     TF_FAULT_AT=5                the fifth of them; "5+" the fifth and all that follow
 *     TF_FAULT_DO=ENOSPC           an error by name, "kill", "stop": the process stops before the
 *     call (SIGSTOP), "wait": the call takes five seconds longer, or "spoil": a write of which
 *     one bit comes out wrong
 *     TF_FAULT_SHORT=SEED          read and write move 1 to 64 bytes at a time, and now and then
 *     say EINTR first (poll too)
 *     TF_FAULT_CLOCK=SEED          the time of day is any, in any order
 *     TF_FAULT_SLOW=MS             making a lock, as each pass over a batch does, takes so many
 *     milliseconds longer
 *     TF_FAULT_REPORT=FILE         at the end: how many calls counted, how many were struck
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <link.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define CALLER ((uintptr_t)__builtin_return_address(0))

/* One bit for each function that may be struck. */
enum call {
    C_OPEN,
    C_READ,
    C_WRITE,
    C_PWRITE,
    C_CLOSE,
    C_FSYNC,
    C_RENAME,
    C_LINK,
    C_UNLINK,
    C_MKDIR,
    C_FTRUNCATE,
    C_FCHMOD,
    C_FLOCK,
    C_STAT,
    C_OPENDIR,
    C_READDIR,
    C_POLL,
    C_MMAP,
    C_PREAD,
    C_THREAD,
    C_MALLOC,
    C_CALLOC,
    C_REALLOC,
    C_ALIGNED,
    N_CALLS
};
static const char *const names[N_CALLS] = {"open",   "read",    "write",        "pwrite",
                                           "close",  "fsync",   "rename",       "link",
                                           "unlink", "mkdir",   "ftruncate",    "fchmod",
                                           "flock",  "stat",    "opendir",      "readdir",
                                           "poll",   "mmap",    "pread",        "thread",
                                           "malloc", "calloc",  "realloc",      "aligned_alloc"};
enum { ALLOCATION = 1 << C_MALLOC | 1 << C_CALLOC | 1 << C_REALLOC | 1 << C_ALIGNED };

static const struct {
    const char *name;
    int value;
} errors[] = {{"ENOSPC", ENOSPC}, {"EIO", EIO},       {"EDQUOT", EDQUOT}, {"EFBIG", EFBIG},
              {"EACCES", EACCES}, {"EMFILE", EMFILE}, {"ENOMEM", ENOMEM}, {"EROFS", EROFS},
              {"EINTR", EINTR},   {"EMLINK", EMLINK}, {"EPERM", EPERM}};

static uintptr_t text_begin, text_end;
static unsigned mask;
static const char *of;
static long at;
static int onward, give, shortly, killing, spoiling, stopping, waiting, lying;
static atomic_long count, struck;
static atomic_uint_least64_t state;
static int report = -1;
static long slow; /* ms */
static __thread int inside;

static int find_text(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size, (void)arg;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type == PT_LOAD && (p->p_flags & PF_X)) {
            text_begin = info->dlpi_addr + p->p_vaddr;
            text_end = text_begin + p->p_memsz;
        }
    }
    return 1; /* the program itself comes first */
}

__attribute__((constructor)) static void begin(void)
{
    of = getenv("TF_FAULT_OF");
    const char *calls = getenv("TF_FAULT_CALLS"), *when = getenv("TF_FAULT_AT"),
               *what = getenv("TF_FAULT_DO"), *seed = getenv("TF_FAULT_SHORT"),
               *clock = getenv("TF_FAULT_CLOCK"), *delay = getenv("TF_FAULT_SLOW");
    char *end;
    /* Before the tool enters its sandbox, and above the descriptors that it gets. */
    const char *path = getenv("TF_FAULT_REPORT");
    int fd = path != NULL ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666) : -1;
    if (fd >= 0) {
        report = fcntl(fd, F_DUPFD_CLOEXEC, 200);
        close(fd);
    }
    if (calls != NULL) {
        for (int i = 0; i < N_CALLS; i++) {
            const char *p = strstr(calls, names[i]);
            size_t n = strlen(names[i]);
            if (p != NULL && (p == calls || p[-1] == ',') && (p[n] == 0 || p[n] == ','))
                mask |= 1u << i;
        }
        if (strcmp(calls, "malloc") == 0)
            mask = ALLOCATION;
        if (strcmp(calls, "all") == 0)
            mask = ~(unsigned)ALLOCATION;
        if (strcmp(calls, "files") == 0)
            mask = ~(unsigned)(ALLOCATION | 1 << C_MMAP | 1 << C_POLL | 1 << C_THREAD);
    }
    if (when != NULL) {
        at = strtol(when, &end, 10);
        onward = *end == '+';
    }
    if (what != NULL) {
        killing = strcmp(what, "kill") == 0;
        spoiling = strcmp(what, "spoil") == 0;
        stopping = strcmp(what, "stop") == 0;
        waiting = strcmp(what, "wait") == 0;
        for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
            if (strcmp(what, errors[i].name) == 0)
                give = errors[i].value;
    }
    if (seed != NULL) {
        shortly = 1;
        atomic_store(&state, strtoull(seed, NULL, 10) * 2654435761u + 1);
    }
    if (clock != NULL) {
        lying = 1;
        atomic_fetch_add(&state, strtoull(clock, NULL, 10) * 2654435761u + 1);
    }
    if (delay != NULL)
        slow = strtol(delay, NULL, 10);
    if (stopping) /* nobody would continue a program that this one starts */
        unsetenv("TF_FAULT_DO");
    dl_iterate_phdr(find_text, NULL);
}

__attribute__((destructor)) static void finish(void)
{
    char text[64];
    inside++;
    if (report >= 0) {
        int n = snprintf(text, sizeof text, "%ld %ld\n", atomic_load(&count), atomic_load(&struck));
        if (ftruncate(report, 0) != 0 || pwrite(report, text, (size_t)n, 0) != n)
            abort();
    }
}

static int ours(uintptr_t caller)
{
    return caller >= text_begin && caller < text_end && inside == 0;
}

/* Is this call to fail? errno is set then. */
static int strike(enum call which, uintptr_t caller)
{
    if (!(mask >> which & 1) || !ours(caller))
        return 0;
    long n = atomic_fetch_add(&count, 1) + 1;
    if (at == 0 || (onward ? n < at : n != at))
        return 0;
    atomic_fetch_add(&struck, 1);
    if (killing)
        raise(SIGKILL);
    if (stopping)
        raise(SIGSTOP);
    if (waiting)
        sleep(5);
    if (stopping || waiting)
        return 0;
    errno = give != 0 ? give : ENOMEM;
    return 1;
}

/* The same for a call on a path. */
static int strike_path(enum call which, uintptr_t caller, const char *path)
{
    const char *slash = strrchr(path, '/');
    return (of == NULL || fnmatch(of, slash != NULL ? slash + 1 : path, 0) == 0) &&
           strike(which, caller);
}

static unsigned draw(unsigned below)
{
    uint64_t x = atomic_fetch_add(&state, 0x9e3779b97f4a7c15u) + 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return (unsigned)((x ^ x >> 31) % below);
}

/* Fewer bytes than requested, or 0 for an interruption. */
static size_t fewer(size_t n, int fd)
{
    if (!shortly || fd == 2 || n == 0)
        return n;
    if (draw(8) == 0) {
        errno = EINTR;
        return 0;
    }
    size_t most = 1 + draw(64);
    return n < most ? n : most;
}

#define REAL(name) ((__typeof__(&name))real_##name())
#define RESOLVE(name)                    \
    static void *real_##name(void)       \
    {                                    \
        static _Atomic(void *) p;        \
        if (p == NULL)                   \
            p = dlsym(RTLD_NEXT, #name); \
        return p;                        \
    }

RESOLVE(open)
RESOLVE(openat)
RESOLVE(read)
RESOLVE(pread)
RESOLVE(write)
RESOLVE(pwrite)
RESOLVE(close)
RESOLVE(fsync)
RESOLVE(rename)
RESOLVE(renameat)
RESOLVE(renameat2)
RESOLVE(link)
RESOLVE(linkat)
RESOLVE(unlink)
RESOLVE(unlinkat)
RESOLVE(mkdir)
RESOLVE(ftruncate)
RESOLVE(fchmod)
RESOLVE(flock)
RESOLVE(stat)
RESOLVE(lstat)
RESOLVE(fstat)
RESOLVE(fstatat)
RESOLVE(opendir)
RESOLVE(fdopendir)
RESOLVE(readdir)
RESOLVE(poll)
RESOLVE(mmap)
RESOLVE(pthread_create)
RESOLVE(aligned_alloc)
RESOLVE(clock_gettime)
RESOLVE(time)
RESOLVE(pthread_mutex_init)

EXPORT int open(const char *path, int flags, ...)
{
    va_list ap;
    va_start(ap, flags);
    mode_t mode = flags & O_CREAT ? va_arg(ap, mode_t) : 0;
    va_end(ap);
    if (strike_path(C_OPEN, CALLER, path))
        return -1;
    return REAL(open)(path, flags, mode);
}

EXPORT int openat(int d, const char *path, int flags, ...)
{
    va_list ap;
    va_start(ap, flags);
    mode_t mode = flags & O_CREAT ? va_arg(ap, mode_t) : 0;
    va_end(ap);
    if (strike_path(C_OPEN, CALLER, path))
        return -1;
    return REAL(openat)(d, path, flags, mode);
}

EXPORT ssize_t read(int fd, void *p, size_t n)
{
    if (strike(C_READ, CALLER))
        return -1;
    size_t m = ours(CALLER) ? fewer(n, fd) : n;
    return m == 0 && n > 0 ? -1 : REAL(read)(fd, p, m);
}

EXPORT ssize_t pread(int fd, void *p, size_t n, off_t where)
{
    return strike(C_PREAD, CALLER) ? -1 : REAL(pread)(fd, p, n, where);
}

/* The disk says that all is well, and a bit is another. */
static ssize_t write_spoiled(int fd, const uint8_t *p, size_t n)
{
    uint8_t wrong = n > 0 ? p[n / 2] ^ 1 : 0;
    ssize_t head = n > 0 ? REAL(write)(fd, p, n / 2) : 0;
    if (head < 0 || (size_t)head < n / 2)
        return head;
    ssize_t mid = REAL(write)(fd, &wrong, n > 0);
    if (mid <= 0)
        return mid < 0 ? mid : head;
    ssize_t tail = REAL(write)(fd, p + n / 2 + 1, n - n / 2 - 1);
    return tail < 0 ? tail : head + mid + tail;
}

EXPORT ssize_t write(int fd, const void *p, size_t n)
{
    if (fd != 2 && strike(C_WRITE, CALLER))
        return spoiling ? write_spoiled(fd, p, n) : -1;
    size_t m = ours(CALLER) ? fewer(n, fd) : n;
    return m == 0 && n > 0 ? -1 : REAL(write)(fd, p, m);
}

EXPORT ssize_t pwrite(int fd, const void *p, size_t n, off_t where)
{
    return strike(C_PWRITE, CALLER) ? -1 : REAL(pwrite)(fd, p, n, where);
}

EXPORT int close(int fd)
{
    if (fd != 2 && strike(C_CLOSE, CALLER)) {
        int e = errno;
        REAL(close)(fd); /* as the kernel does: the descriptor is gone even when close fails */
        errno = e;
        return -1;
    }
    return REAL(close)(fd);
}

EXPORT int fsync(int fd)
{
    return strike(C_FSYNC, CALLER) ? -1 : REAL(fsync)(fd);
}

EXPORT int rename(const char *a, const char *b)
{
    return strike_path(C_RENAME, CALLER, b) ? -1 : REAL(rename)(a, b);
}

EXPORT int renameat2(int d, const char *a, int e, const char *b, unsigned flags)
{
    return strike_path(C_RENAME, CALLER, b) ? -1 : REAL(renameat2)(d, a, e, b, flags);
}

EXPORT int renameat(int d, const char *a, int e, const char *b)
{
    return strike_path(C_RENAME, CALLER, b) ? -1 : REAL(renameat)(d, a, e, b);
}

EXPORT int link(const char *a, const char *b)
{
    return strike_path(C_LINK, CALLER, b) ? -1 : REAL(link)(a, b);
}

EXPORT int linkat(int d, const char *a, int e, const char *b, int flags)
{
    return strike_path(C_LINK, CALLER, b) ? -1 : REAL(linkat)(d, a, e, b, flags);
}

EXPORT int unlink(const char *a)
{
    return strike_path(C_UNLINK, CALLER, a) ? -1 : REAL(unlink)(a);
}

EXPORT int unlinkat(int d, const char *a, int flags)
{
    return strike_path(C_UNLINK, CALLER, a) ? -1 : REAL(unlinkat)(d, a, flags);
}

EXPORT int mkdir(const char *a, mode_t mode)
{
    return strike_path(C_MKDIR, CALLER, a) ? -1 : REAL(mkdir)(a, mode);
}

EXPORT int ftruncate(int fd, off_t n)
{
    return strike(C_FTRUNCATE, CALLER) ? -1 : REAL(ftruncate)(fd, n);
}

EXPORT int fchmod(int fd, mode_t mode)
{
    return strike(C_FCHMOD, CALLER) ? -1 : REAL(fchmod)(fd, mode);
}

EXPORT int flock(int fd, int op)
{
    return strike(C_FLOCK, CALLER) ? -1 : REAL(flock)(fd, op);
}

EXPORT int stat(const char *path, struct stat *st)
{
    return strike_path(C_STAT, CALLER, path) ? -1 : REAL(stat)(path, st);
}

EXPORT int lstat(const char *path, struct stat *st)
{
    return strike_path(C_STAT, CALLER, path) ? -1 : REAL(lstat)(path, st);
}

EXPORT int fstat(int fd, struct stat *st)
{
    return fd != 2 && strike(C_STAT, CALLER) ? -1 : REAL(fstat)(fd, st);
}

EXPORT int fstatat(int d, const char *path, struct stat *st, int flags)
{
    return strike_path(C_STAT, CALLER, path) ? -1 : REAL(fstatat)(d, path, st, flags);
}

EXPORT DIR *opendir(const char *path)
{
    return strike_path(C_OPENDIR, CALLER, path) ? NULL : REAL(opendir)(path);
}

EXPORT DIR *fdopendir(int fd)
{
    return strike(C_OPENDIR, CALLER) ? NULL : REAL(fdopendir)(fd);
}

EXPORT struct dirent *readdir(DIR *d)
{
    return strike(C_READDIR, CALLER) ? NULL : REAL(readdir)(d);
}

EXPORT int poll(struct pollfd *p, nfds_t n, int ms)
{
    if (strike(C_POLL, CALLER))
        return -1;
    if (shortly && ours(CALLER) && draw(4) == 0) {
        errno = EINTR;
        return -1;
    }
    return REAL(poll)(p, n, ms);
}

EXPORT void *mmap(void *p, size_t n, int prot, int flags, int fd, off_t where)
{
    return strike(C_MMAP, CALLER) ? MAP_FAILED : REAL(mmap)(p, n, prot, flags, fd, where);
}

EXPORT int pthread_create(pthread_t *t, const pthread_attr_t *attr, void *(*run)(void *), void *arg)
{
    return strike(C_THREAD, CALLER) ? EAGAIN : REAL(pthread_create)(t, attr, run, arg);
}

EXPORT int clock_gettime(clockid_t clock, struct timespec *t)
{
    int rc = REAL(clock_gettime)(clock, t);
    if (lying && ours(CALLER) && rc == 0 && clock == CLOCK_REALTIME)
        t->tv_sec = draw(UINT32_MAX);
    return rc;
}

EXPORT int pthread_mutex_init(pthread_mutex_t *m, const pthread_mutexattr_t *a)
{
    if (slow > 0 && ours(CALLER))
        nanosleep(&(struct timespec){slow / 1000, slow % 1000 * 1000000}, NULL);
    return REAL(pthread_mutex_init)(m, a);
}

EXPORT time_t time(time_t *t)
{
    time_t now = REAL(time)(NULL);
    if (lying && ours(CALLER))
        now = draw(UINT32_MAX);
    if (t != NULL)
        *t = now;
    return now;
}

/* glibc's own names, since looking them up by dlsym would allocate. */
extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);

EXPORT void *malloc(size_t n)
{
    return strike(C_MALLOC, CALLER) ? NULL : __libc_malloc(n);
}

EXPORT void *calloc(size_t n, size_t m)
{
    return strike(C_CALLOC, CALLER) ? NULL : __libc_calloc(n, m);
}

EXPORT void *realloc(void *p, size_t n)
{
    return strike(C_REALLOC, CALLER) ? NULL : __libc_realloc(p, n);
}

EXPORT void *aligned_alloc(size_t a, size_t n)
{
    return strike(C_ALIGNED, CALLER) ? NULL : REAL(aligned_alloc)(a, n);
}
