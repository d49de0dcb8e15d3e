/* Temporary files when signals arrive, and when another user of the directory replaces what is in
 * it. Runs in an empty directory of its own. */
#include "../harness/child.h"
#include "../harness/tap.h"
#include "../harness/temp.h"
#include "base/output.h"
#include "base/output_dir.h"
#include "base/temp_private.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static int next_signal; /* arrives while files are being removed */

/* In place of the C library's: the first call waits until the other thread has had the time to die
 * of the next signal. */
int unlinkat(int dir, const char *name, int flags)
{
    int sig = next_signal;
    next_signal = 0;
    if (sig != 0) {
        kill(getpid(), sig);
        usleep(200000);
    }
    return (int)syscall(SYS_unlinkat, dir, name, flags);
}

static void *sleep_on(void *none)
{
    for (;;)
        pause();
    return none;
}

static void die_of_two(void *second)
{
    pthread_t other;
    struct tf_temp *temp;
    for (int i = 0; i < 3; i++)
        if (tf_temp_create(&temp, AT_FDCWD, "file", 0600) < 0)
            exit(1);
    if (pthread_create(&other, NULL, sleep_on, NULL) != 0)
        exit(1);
    next_signal = *(int *)second;
    pthread_kill(pthread_self(), SIGTERM);
    pause();
}

/* ---- another user of the directory ---- */

static struct tf_err err;
static const char *const names[] = {"config.json"};
enum end { ABORT, COMMIT, EXIT, KILL };

static void end_process(enum end end)
{
    if (end == KILL)
        raise(SIGTERM);
    exit(0);
}

/* A link to `victim`, which has a file of the same name, in place of the directory. */
static void replace_dir(void *end)
{
    struct tf_out_dir d;
    struct tf_out out;
    must(tf_out_dir_open(&d, "model", names, 1, &err), &err);
    must(tf_out_open_at(&out, d.fd, *names, *names, &err), &err);
    must(tf_out_commit(&out, &err), &err);
    const char *temp = tf_temp_name(d.temp);
    if (rename(temp, "ours") != 0 || symlink("victim", temp) != 0)
        exit(2);
    if (*(enum end *)end != ABORT)
        end_process(*(enum end *)end);
    tf_out_dir_abort(&d);
    _exit(0);
}

/* The same with the directory that an output is in, which gets another's file of the temporary
 * name. */
static void replace_parent(void *end)
{
    struct tf_out out;
    char other[64];
    must(tf_out_open(&out, "dir/file", 0, &err), &err);
    snprintf(other, sizeof other, "victim/%s", tf_out_temp_name(&out));
    write_file(other, "other", 5);
    if (rename("dir", "ours") != 0 || symlink("victim", "dir") != 0)
        exit(2);
    if (*(enum end *)end == COMMIT)
        _exit(tf_out_commit(&out, &err) != 0);
    if (*(enum end *)end != ABORT)
        end_process(*(enum end *)end);
    tf_out_abort(&out);
    _exit(0);
}

static void test_replaced(void)
{
    static const char *const name[] = {"abort", "commit", "exit", "signal"};
    struct child c;
    for (enum end end = ABORT; end <= KILL; end++) {
        if (end == COMMIT)
            continue;
        mkdir("victim", 0777);
        write_file("victim/config.json", "{}", 2);
        run_child(&c, replace_dir, &end, NULL);
        ok(access("victim/config.json", F_OK) == 0, "directory, %s: another's file stays (%d)",
           name[end], c.status);
        ok(rmdir("ours") == 0, "directory, %s: our file is removed", name[end]);
        if (system("rm -rf victim .tf-*") != 0)
            bail_out("rm");
    }
    for (enum end end = ABORT; end <= KILL; end++) {
        mkdir("victim", 0777);
        mkdir("dir", 0777);
        run_child(&c, replace_parent, &end, NULL);
        is_int(count_entries("victim"), 1, "parent, %s: another's file stays (%d)", name[end],
               c.status);
        ok((access("ours/file", F_OK) == 0) == (end == COMMIT), "parent, %s: our file", name[end]);
        is_int(count_entries("ours"), end == COMMIT, "parent, %s: no temporary file", name[end]);
        if (system("rm -rf victim ours dir") != 0)
            bail_out("rm");
    }
}

/* In place of the C library's, as on a file system without RENAME_NOREPLACE. */
static bool lacking;
int renameat2(int from, const char *a, int to, const char *b, unsigned flags)
{
    if (lacking) {
        errno = EINVAL;
        return -1;
    }
    return (int)syscall(SYS_renameat2, from, a, to, b, flags);
}

/* A directory that appears at the last moment is not replaced, though it is empty. */
static void test_taken(void)
{
    struct tf_out_dir d;
    struct stat before, after;
    for (int i = 0; i < 2; i++) {
        lacking = i == 1;
        const char *how = lacking ? "without RENAME_NOREPLACE" : "with it";
        err = (struct tf_err){0};
        must(tf_out_dir_open(&d, "model", names, 1, &err), &err);
        if (mkdir("model", 0700) != 0 || stat("model", &before) != 0)
            bail_out("mkdir");
        ok(tf_out_dir_commit(&d, "model", &err) == -1 &&
               strstr(err.msg, "is there already") != NULL,
           "%s: %s", how, err.msg);
        ok(stat("model", &after) == 0 && before.st_ino == after.st_ino, "%s: it stays", how);
        is_int(count_entries("."), 1, "%s: no temporary directory", how);
        if (rmdir("model") != 0)
            bail_out("rmdir");
        must(tf_out_dir_open(&d, "model", names, 1, &err), &err);
        is_int(tf_out_dir_commit(&d, "model", &err), 0, "%s: a new directory", how);
        if (rmdir("model") != 0)
            bail_out("rmdir");
    }
}

int main(void)
{
    static struct child c;
    if (chdir(temp_path("")) != 0)
        bail_out("chdir");
    int empty = count_entries(".");
    for (int *second = (int[]){0, SIGTERM, SIGINT, -1}; *second >= 0; second++) {
        run_child(&c, die_of_two, second, NULL);
        ok(c.status == 128 + SIGTERM || (*second != 0 && c.status == 128 + *second),
           "SIGTERM, then %d: the process dies of one of them: %d", *second, c.status);
        is_int(count_entries("."), empty, "SIGTERM, then %d: no temporary file is left", *second);
    }
    test_replaced();
    test_taken();
    return done();
}
