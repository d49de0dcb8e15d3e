/* terminal.c - see terminal_private.h. */
#include "base/terminal_private.h"

#include <fcntl.h>
#include <stdint.h>
#include <sys/stat.h>
#include <unistd.h>

/* Offsets of the locks within those of a job; process ids are smaller. */
#define TEXT ((int64_t)1 << 31)
#define JOB ((int64_t)1 << 32)

static bool used; /* by this process: its own locks do not conflict with its queries */

static int64_t job(void)
{
    return (int64_t)getpgrp() * JOB;
}

static struct flock range(short type, int64_t from, int64_t to)
{
    return (struct flock){.l_type = type,
                          .l_whence = SEEK_SET,
                          .l_start = (off_t)(job() + from),
                          .l_len = (off_t)(to - from)};
}

static void set_lock(short type, int64_t at)
{
    struct flock l = range(type, at, at + 1);
    (void)fcntl(STDERR_FILENO, F_SETLK, &l);
}

/* Does another process hold a lock there? */
static bool locked(int64_t from, int64_t to)
{
    struct flock l = range(F_WRLCK, from, to);
    return fcntl(STDERR_FILENO, F_GETLK, &l) == 0 && l.l_type != F_UNLCK;
}

void tf_terminal_enter(void)
{
    set_lock(F_WRLCK, getpid());
}

void tf_terminal_leave(void)
{
    set_lock(F_UNLCK, getpid());
}

bool tf_terminal_mine(void)
{
    pid_t foreground = tcgetpgrp(STDERR_FILENO); /* -1: not our controlling terminal */
    return !used && (foreground < 0 || foreground == getpgrp()) && !locked(getpid(), JOB);
}

bool tf_terminal_has_line(bool own)
{
    return isatty(STDERR_FILENO) && !used && !locked(TEXT, JOB) && (own || locked(0, TEXT));
}

void tf_terminal_use(int fd)
{
    static const char clear[] = "\r\033[K";
    struct stat a, b;
    if (used || !isatty(fd) || !isatty(STDERR_FILENO) || fstat(fd, &a) != 0 ||
        fstat(STDERR_FILENO, &b) != 0 || a.st_rdev != b.st_rdev)
        return;
    if (tf_terminal_has_line(false) && write(STDERR_FILENO, clear, sizeof clear - 1) < 0)
        return;
    set_lock(F_WRLCK, TEXT + getpid());
    used = true;
}
