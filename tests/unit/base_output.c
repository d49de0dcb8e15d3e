/* Output that appears complete or not at all. Runs in an empty directory of its own. */
#include "../harness/child.h"
#include "../harness/tap.h"
#include "../harness/temp.h"
#include "base/buf.h"
#include "base/fd.h"
#include "base/input.h"
#include "base/output.h"
#include "base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

static struct tf_err err;

static char *slurp(const char *path)
{
    static char *last;
    size_t n;
    free(last);
    last = NULL;
    return tf_read_file(&last, &n, path, 1 << 20, &err) == 0 ? last : NULL;
}

static int put(const char *path, const char *text)
{
    struct tf_out out;
    err = (struct tf_err){0};
    if (tf_out_open(&out, path, 0, &err) != 0)
        return -1;
    if (tf_out_write(&out, text, strlen(text), &err) != 0) {
        tf_out_abort(&out);
        return -1;
    }
    return tf_out_commit(&out, &err);
}

static void test_out(void)
{
    int before = count_entries(".");
    struct tf_out out;
    is_int(tf_out_open(&out, "new", 0, &err), 0, "open for writing");
    is_int(tf_out_printf(&out, &err, "%d %s\n", 1, "x"), 0, "printf");
    ok(access("new", F_OK) != 0, "no file before the commit");
    is_int(tf_out_commit(&out, &err), 0, "commit");
    is_str(slurp("new"), "1 x\n", "the file after the commit");
    tf_out_abort(&out);
    ok(access("new", F_OK) == 0, "abort after commit is harmless");
    struct stat st;
    umask(022);
    ok(put("mode", "a") == 0 && stat("mode", &st) == 0 && (st.st_mode & 0777) == 0644,
       "a new file's mode follows umask");
    chmod("mode", 0600);
    ok(put("mode", "b") == 0 && stat("mode", &st) == 0 && (st.st_mode & 0777) == 0600,
       "a replaced file keeps its mode");
    chmod("mode", 06755);
    ok(put("mode", "c") == 0 && stat("mode", &st) == 0 && (st.st_mode & 07777) == 0755,
       "without set-id bits");
    if (geteuid() == 0) { /* only root can change the owner */
        ok(chown("mode", 65534, 65534) == 0 && chmod("mode", 06777) == 0 && put("mode", "d") == 0 &&
               stat("mode", &st) == 0 && st.st_uid == 0 && (st.st_mode & 07777) == 0644,
           "another owner's file is replaced by one with the default mode");
    }
    unlink("mode");

    is_int(tf_out_open(&out, "new", 0, &err), 0, "open again");
    is_int(tf_out_write(&out, "zzz", 3, &err), 0, "write");
    tf_out_abort(&out);
    is_str(slurp("new"), "1 x\n", "abort leaves the old file");
    is_int(count_entries("."), before + 1, "no temporary file remains");
    tf_out_abort(&(struct tf_out){0});

    struct tf_out two;
    ok(tf_out_open(&out, "new", 0, &err) == 0 && tf_out_open(&two, "new", 0, &err) == 0,
       "the same path twice");
    ok(tf_out_write(&out, "one", 3, &err) == 0 && tf_out_write(&two, "two", 3, &err) == 0,
       "both written");
    ok(tf_out_commit(&two, &err) == 0 && tf_out_commit(&out, &err) == 0, "both committed");
    is_str(slurp("new"), "one", "the later commit replaces the earlier");

    mkdir("dir", 0755);
    ok(symlink("dir/real", "link") == 0 && put("dir/real", "old") == 0 &&
           put("link", "through") == 0,
       "write through a symbolic link");
    is_str(slurp("dir/real"), "through", "its target is replaced");
    ok(lstat("link", &st) == 0 && S_ISLNK(st.st_mode), "the link itself is kept");
    is_int(count_entries("dir"), 1, "no temporary file remains in its directory");
    if (symlink("dir/new", "dangling") != 0 || symlink("none/new", "astray") != 0 ||
        symlink("dangling", "chain") != 0 || symlink("dir/late/", "slash") != 0 ||
        symlink("loop", "loop") != 0)
        bail_out("symlink");
    is_int(put("chain", "made"), 0, "write through links to a file that does not exist");
    is_str(slurp("dir/new"), "made", "it is made");
    ok(lstat("dangling", &st) == 0 && S_ISLNK(st.st_mode) && lstat("chain", &st) == 0 &&
           S_ISLNK(st.st_mode),
       "the links are kept");
    is_int(count_entries("dir"), 2, "no temporary file remains beside it");
    ok(put("astray", "x") == -1 && err.sys == ENOENT, "a link into no directory: %s", err.msg);
    ok(put("slash", "x") == -1 && err.sys == ENOENT, "a link to no directory: %s", err.msg);
    ok(put("loop", "x") == -1 && err.sys == ELOOP, "a link to itself: %s", err.msg);
    ok(put("dir", "x") == -1, "a directory is refused");
    is_str(err.msg, "dir: is a directory", "its message");
    ok(put("no/such/file", "x") == -1 && err.sys == ENOENT, "a missing directory");
    ok(put("", "x") == -1, "an empty name");

    char longname[256];
    memset(longname, 'n', 255);
    longname[255] = 0;
    ok(put(longname, "long") == 0, "a name of 255 bytes");
    is_str(slurp(longname), "long", "its content");
    unlink(longname);

    ok(put("/dev/full", "x") == -1 && err.sys == ENOSPC, "a full device");
    is_str(err.msg, "/dev/full: write: No space left on device", "its message");
    struct tf_buf big = {0};
    for (int i = 0; i < 300000; i++)
        tf_buf_byte(&big, (unsigned char)("0123456789"[i % 10]));
    is_int(tf_out_open(&out, "/dev/full", 0, &err), 0, "open a full device");
    ok(tf_out_write(&out, big.p, big.len, &err) == -1, "a write larger than the buffer fails");
    ok(tf_out_write(&out, "x", 1, &err) == 0 && tf_out_flush(&out, &err) == -1,
       "writes after it fail, too");
    ok(tf_out_commit(&out, &err) == -1, "the commit fails, too");
    is_int(put("/dev/null", "x"), 0, "a device is written in place");
    char shm[64];
    snprintf(shm, sizeof shm, "/dev/shm/tf-base-file-%ld", (long)getpid());
    is_int(put(shm, "much longer than what comes"), 0, "a new file below /dev");
    is_int(put(shm, "short"), 0, "a second file of the same name");
    is_str(slurp(shm), "short", "the first is replaced");
    unlink(shm);

    /* Writing starts at the descriptor's offset, and leaves it open. */
    int log = open("log", O_WRONLY | O_CREAT | O_APPEND, 0666);
    char name[32], other[48];
    snprintf(name, sizeof name, "/dev/fd/%d", log);
    snprintf(other, sizeof other, "/proc/self/fd/%d", log);
    ok(log >= 0 && write(log, "first ", 6) == 6 && put(name, "second ") == 0 &&
           put(other, "third ") == 0 && write(log, "last", 4) == 4,
       "an open descriptor by name");
    is_str(slurp("log"), "first second third last", "nothing is overwritten");
    close(log);
    ok(put(name, "x") == -1 && err.sys == EBADF, "a closed descriptor");
    ok(put("/dev/fd/x", "x") == -1 && put("/dev/fd/", "x") == -1,
       "a descriptor that is not a number");
    is_int(put("big", big.p), 0, "a large file");
    is_str(slurp("big"), big.p, "its content");
    is_int(tf_out_open(&out, "big", 0, &err), 0, "offsets");
    ok(tf_out_write(&out, big.p, 10, &err) == 0 && tf_out_write(&out, big.p, big.len, &err) == 0 &&
           out.offset == big.len + 10,
       "offsets include the buffer");
    tf_out_abort(&out);
    tf_buf_release(&big);

    /* A file size limit in place of a full disk: the write fails, no file appears. */
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &(struct rlimit){1000, 1000});
        static char text[2001];
        memset(text, 'f', 2000);
        _exit(put("filled", text) == -1 && err.sys == EFBIG ? 0 : 1);
    }
    int status;
    waitpid(pid, &status, 0);
    is_int(status, 0, "a write above the file size limit fails");
    ok(access("filled", F_OK) != 0, "no file remains");

    mkfifo("fifo", 0644);
    fflush(stdout);
    if ((pid = fork()) == 0)
        _exit(put("fifo", "through") != 0);
    is_str(slurp("fifo"), "through", "a FIFO is written in place");
    waitpid(pid, &status, 0);
    is_int(status, 0, "writing to it succeeds");
    ok(lstat("fifo", &st) == 0 && S_ISFIFO(st.st_mode), "it is still a FIFO");

    ok(tf_same_file("new", "./new") && !tf_same_file("new", "big") &&
           !tf_same_file("new", "missing"),
       "same_file");
    ok(!tf_same_file("/dev/null", "/dev/null"), "devices are never the same");
    is_int(tf_sync_dir("new", &err), 0, "sync_dir of a bare name");
    is_int(tf_sync_dir("/", &err), 0, "sync_dir of the root");
}

/* A directory in which files can be made, but which cannot be opened. */
static void test_unreadable(void)
{
    int status;
    mkdir("unreadable", 0777);
    chmod("unreadable", 0333);
    chmod(".", 0711);
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) { /* root may read it */
        if (geteuid() == 0 && setuid(65534) != 0)
            _exit(2);
        if (open("unreadable", O_RDONLY | O_DIRECTORY) >= 0)
            _exit(3);
        _exit(put("unreadable/file", "x") != 0);
    }
    waitpid(pid, &status, 0);
    is_int(status, 0, "a file in a directory that may be written, but not read");
    is_str(slurp("unreadable/file"), "x", "its content");
    chmod("unreadable", 0777);
}

/* An ACL with these permissions; the user is 65534. */
/* clang-format off */
#define NO_ID 255, 255, 255, 255
#define ACL(user, group, mask, others) { \
    2, 0, 0, 0, \
    1, 0, 6, 0, NO_ID, \
    2, 0, user, 0, 254, 255, 0, 0, \
    4, 0, group, 0, NO_ID, \
    16, 0, mask, 0, NO_ID, \
    32, 0, others, 0, NO_ID}
/* clang-format on */

struct replaced {
    mode_t mode;
    bool member;                           /* of the group of the file that is replaced */
    const unsigned char *of_file, *of_dir; /* ACLs; the second for new files */
    mode_t want;
};

static int put_at(const char *base, const char *text)
{
    struct tf_out out;
    int dir = open(".", O_RDONLY | O_DIRECTORY);
    if (tf_out_open_at(&out, dir, base, base, &err) != 0)
        return -1;
    return tf_out_finish(&out, tf_out_write(&out, text, strlen(text), &err), &err);
}

static bool set_acl(const char *path, const char *name, const unsigned char *acl)
{
    return acl == NULL || setxattr(path, name, acl, 44, 0) == 0;
}

/* Replace a file of ours with the group OTHERS, as a user whose own group is another. */
static void replace(const struct replaced *c, int (*how)(const char *, const char *))
{
    enum { US = 65533, OTHERS = 65532 };
    struct stat st = {0};
    int status;
    mkdir("shared", 0777);
    chmod("shared", 0777);
    write_file("shared/file", "old", 3);
    if (chown("shared/file", US, OTHERS) != 0 || chmod("shared/file", c->mode) != 0)
        bail_out("a file of another user");
    if (!set_acl("shared/file", "system.posix_acl_access", c->of_file) ||
        !set_acl("shared", "system.posix_acl_default", c->of_dir)) {
        skip("the file system has no ACLs");
        return;
    }
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0)
        _exit(setgroups(c->member, (const gid_t[]){OTHERS}) != 0 || setgid(US) != 0 ||
              setuid(US) != 0 || chdir("shared") != 0 || how("file", "new") != 0);
    waitpid(pid, &status, 0);
    is_int(status, 0, "mode %o, %smember, ACLs of%s%s: replaced", c->mode, c->member ? "" : "no ",
           c->of_file != NULL ? " file" : "", c->of_dir != NULL ? " directory" : "");
    is_str(slurp("shared/file"), "new", "its content");
    ok(stat("shared/file", &st) == 0 && st.st_uid == US, "it is ours");
    is_int(st.st_gid, c->member ? OTHERS : US, "its group");
    ok((st.st_mode & 07777) == c->want, "its mode, %o: %o", st.st_mode & 07777, c->want);
    unlink("shared/file");
    rmdir("shared");
}

/* Nobody may do more with the new file than with the old one. */
static void test_groups(void)
{
    static const unsigned char grants[] = ACL(6, 0, 6, 0), denies[] = ACL(0, 4, 4, 4),
                               team[] = ACL(6, 4, 6, 4);
    static const struct replaced cases[] = {
        {0660, true, NULL, NULL, 0660},     {0604, true, NULL, NULL, 0604},
        {02775, true, NULL, NULL, 0775},    {0660, false, NULL, NULL, 0600},
        {0640, false, NULL, NULL, 0600},    {0664, false, NULL, NULL, 0644},
        {0646, false, NULL, NULL, 0644},    {0604, false, NULL, NULL, 0600},
        {06771, false, NULL, NULL, 0711},   {0444, false, NULL, NULL, 0444},
        {0600, true, grants, NULL, 0600},   {0600, false, grants, NULL, 0600},
        {0600, true, denies, NULL, 0600},   {0600, true, team, NULL, 0644},
        {0600, true, team, team, 0664},     {0600, false, team, team, 0644},
        {0600, true, grants, denies, 0600}, {0664, true, NULL, team, 0644},
    };
    if (geteuid() != 0) {
        skip("only root can be another user");
        return;
    }
    chmod(".", 0711);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        replace(&cases[i], put);
        replace(&cases[i], put_at);
    }
}

/* An output in a directory that is held open: no other that takes its name gets the file. */
static void test_out_at(void)
{
    struct tf_out out;
    struct stat st;
    err = (struct tf_err){0};
    int dir = mkdir("held", 0777) == 0 ? open("held", O_RDONLY | O_DIRECTORY) : -1;
    if (symlink("elsewhere", "held/link") != 0 || mkfifo("held/fifo", 0666) != 0)
        bail_out("links");
    for (int i = 0; i < 2; i++) {
        const char *name = i == 0 ? "file" : "link";
        must(tf_out_open_at(&out, dir, name, "shown", &err), &err);
        must(tf_out_write(&out, "x", 1, &err), &err);
        must(tf_out_flush(&out, &err), &err);
        rename("held", "moved");
        mkdir("held", 0777);
        is_int(tf_out_commit(&out, &err), 0, "%s: written", name);
        ok(rmdir("held") == 0, "nothing is in the other directory");
        rename("moved", "held");
    }
    is_str(slurp("held/file"), "x", "the file is in the first");
    ok(lstat("held/link", &st) == 0 && S_ISREG(st.st_mode) && access("elsewhere", F_OK) != 0,
       "a link is replaced");
    must(tf_out_open_at(&out, dir, "file", "shown", &err), &err);
    tf_out_abort(&out);
    ok(unlink("held/file") == 0 && unlink("held/link") == 0, "the files");
    ok(tf_out_open_at(&out, dir, "fifo", "shown", &err) == -1 &&
           strcmp(err.msg, "shown: not a regular file") == 0,
       "a FIFO: %s", err.msg);
    ok(tf_out_open_at(&out, dir, ".", "shown", &err) == -1 &&
           strcmp(err.msg, "shown: is a directory") == 0,
       "a directory: %s", err.msg);
    ok(unlink("held/fifo") == 0 && rmdir("held") == 0, "no temporary file is left");
    ok(tf_out_open_at(&out, dir, "file", "shown", &err) == -1 && err.sys == ENOENT,
       "a directory that is removed: %s", err.msg);
    close(dir);
    ok(tf_out_open_at(&out, dir, "file", "shown", &err) == -1 && err.sys == EBADF,
       "a descriptor that is closed: %s", err.msg);
}

int main(void)
{
    if (chdir(temp_path("")) != 0)
        bail_out("chdir");
    test_out();
    test_unreadable();
    test_groups();
    test_out_at();
    return done();
}
