/* The directory of a run: lock, names, retention, the newest; the state's records; the log cut
 * back. */
#include "../harness/stream.h"
#include "../harness/temp.h"
#include "train/store/journal.h"
#include "train/store/newest.h"
#include "train/store/retain.h"

#include <errno.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *dir;
static struct tf_err err;

static char *file(const char *name)
{
    return tf_rundir_file(dir, name);
}

static void put(const char *name, const char *text)
{
    write_file(temp_path(name), text, strlen(text));
}

static bool there(const char *name)
{
    return file_exists(temp_path(name));
}

/* A whole checkpoint file of that step with one small tensor. */
static void checkpoint(const char *name, uint64_t step)
{
    struct tf_arena a = {0};
    static const float x[4] = {1, 2, 3, 4};
    struct tf_run_state s = {.step = step,
                             .micro = 2 * step,
                             .src_tokens = 10,
                             .tgt_tokens = 11,
                             .cursor = {1, 2, 3, 0, 4, false, true, {5}},
                             .valid_step = step,
                             .has_best = true,
                             .best = 0.1,
                             .best_step = 3,
                             .stale = 2,
                             .has_valid = true,
                             .valid = {6}};
    struct tf_value map = tf_value_map();
    struct tf_state records[TF_STATE_RECORDS];
    size_t n = tf_state_records(records, &a, &s, &map, &map);
    struct tf_header h = {.kind = "checkpoint",
                          .special = {-1, -1, -1, -1},
                          .config = map,
                          .made = tf_value_array(),
                          .extra = map};
    struct tf_tensor t = {
        .name = "p/x", .dtype = TF_F32, .rank = 1, .dims = {4}, .data = x, .bytes = sizeof x};
    must(write_model(temp_path(name), &h, NULL, 0, records, n, &t, 1, &err), &err);
    tf_arena_release(&a);
}

static void test_lock(void)
{
    struct tf_rundir a, b;
    static const char *const swept[] = {".tf-ckpt-00000005.tfm.tmp.1", ".tf-resume.tfm.tmp.1",
                                        ".tf-best.tfm.tmp.12345", ".tf-log.jsonl.tmp.1"};
    static const char *const kept[] = {".tf-avg.tfm.tmp.1", ".tf-ckpt-5.tfm.tmp.1",
                                       ".tf-resume.tfm", ".tf-", "keep"};
    size_t n_swept = 0, n_kept = 0;
    for (size_t i = 0; i < sizeof swept / sizeof *swept; i++)
        put(swept[i], "");
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        put(kept[i], "");
    ok(tf_rundir_open(&a, dir, &err) == 0, "opens");
    for (size_t i = 0; i < sizeof swept / sizeof *swept; i++)
        n_swept += !there(swept[i]);
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        n_kept += there(kept[i]);
    is_int((long)n_swept, sizeof swept / sizeof *swept, "sweeps its own temporaries");
    is_int((long)n_kept, sizeof kept / sizeof *kept, "and only those");
    ok(tf_rundir_open(&b, dir, &err) == -1 && err.status == TF_AGAIN,
       "is refused to a second one with 75");
    char want[64];
    snprintf(want, sizeof want, "in use by process %ld", (long)getpid());
    ok(strstr(err.msg, want) != NULL, "that names the first: %s", err.msg);
    tf_rundir_close(&a);
    err = (struct tf_err){0};
    ok(tf_rundir_open(&b, dir, &err) == 0, "free again");
    tf_rundir_close(&b);
    /* Of many that start at once one gets it. It keeps it until all have answered. */
    int winners = 0;
    for (int turn = 0; turn < 20; turn++) {
        pid_t pid[8];
        int go[2], answer[2], end[2], winner = 0;
        if (pipe(go) != 0 || pipe(answer) != 0 || pipe(end) != 0)
            return;
        for (int i = 0; i < 8; i++)
            if ((pid[i] = fork()) == 0) {
                char c;
                close(go[1]);
                close(end[1]);
                (void)!read(go[0], &c, 1); /* until the parent closes its end */
                int rc = tf_rundir_open(&a, dir, &err);
                c = rc == 0 ? 0 : (char)err.status;
                (void)!write(answer[1], &c, 1);
                (void)!read(end[0], &c, 1); /* the same */
                _exit(0);
            }
        close(go[0]);
        close(answer[1]);
        close(end[0]);
        close(go[1]);
        for (int i = 0; i < 8; i++) {
            char status = 1;
            if (read(answer[0], &status, 1) != 1 || (status != 0 && status != TF_AGAIN))
                winner = -100;
            winner += status == 0;
        }
        close(answer[0]);
        close(end[1]);
        for (int i = 0; i < 8; i++)
            waitpid(pid[i], NULL, 0);
        winners += winner == 1;
    }
    is_int(winners, 20, "20 races of 8, one winner each");
}

/* Files that are not the run's own, under its names: refused, and what is in them stays. */
static void test_foreign(void)
{
    static const struct {
        const char *name, *text, *why;
    } files[] = {{"log.jsonl", "my diary\n", "log.jsonl: not written by tf-train"},
                 {"log.jsonl", "{\"events\":1}\n", "log.jsonl: not written by tf-train"},
                 {"lock", "combination 12\n", "lock: not written by tf-train"},
                 {"lock", "12\n13\n", "lock: not written by tf-train"},
                 {"log.jsonl", "", NULL},
                 {"log.jsonl", "{\"event\":\"start\"}\n", NULL},
                 {"log.jsonl", "{\"ev", NULL},
                 {"lock", "", NULL},
                 {"lock", "123", NULL}};
    const char *run = temp_path("foreign"), *other = temp_path("other");
    struct tf_rundir d;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        for (int linked = 0; linked < 2; linked++) {
            const char *text = files[i].text, *why = linked ? "a symbolic link" : files[i].why;
            char *path = tf_rundir_file(run, files[i].name);
            mkdir(run, 0777);
            write_file(linked ? other : path, text, strlen(text));
            if (linked && symlink(other, path) != 0)
                continue;
            err = (struct tf_err){0};
            int rc = tf_rundir_open(&d, run, &err);
            if (why == NULL) {
                is_int(rc, 0, "%s with '%s' is ours", files[i].name, text);
                tf_rundir_close(&d);
            } else {
                ok(rc == -1 && strstr(err.msg, why) != NULL, "%s is not: %s", text, err.msg);
                char *now = read_file(path, NULL);
                is_str(now, text, "and stays");
                free(now);
            }
            unlink(path);
            free(path);
            path = tf_rundir_file(run, TF_RUN_LOCK);
            unlink(path);
            free(path);
        }
    char *fifo = tf_rundir_file(run, TF_RUN_LOG);
    ok(mkfifo(fifo, 0666) == 0 && tf_rundir_open(&d, run, &err) == -1 &&
           strstr(err.msg, "not a regular file") != NULL,
       "a FIFO is refused at once: %s", err.msg);
    unlink(fifo);
    free(fifo);
}

/* Only who may write to the lock can lock it, whatever the umask; a lock that lost its name does
 * not count. */
static void test_lock_file(void)
{
    static const struct {
        mode_t mask, mode;
    } modes[] = {{022, 0600}, {002, 0660}, {0, 0666}, {077, 0600}, {0177, 0600}};
    struct tf_rundir d;
    struct stat st;
    const char *run = temp_path("locked");
    char *path = tf_rundir_file(run, TF_RUN_LOCK);
    err = (struct tf_err){0};
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
        for (int again = 0; again < 2; again++) {
            mode_t old = umask(modes[i].mask);
            if (!again)
                unlink(path);
            else
                chmod(path, 0644);
            int rc = tf_rundir_open(&d, run, &err);
            umask(old);
            if (!ok(rc == 0 && stat(path, &st) == 0, "umask %o: %s", modes[i].mask, err.msg))
                continue;
            is_int(st.st_mode & 0777, again ? 0600 : modes[i].mode, "umask %o: who may read",
                   modes[i].mask);
            if (again) {
                is_int(tf_rundir_check_lock(&d, &err), 0, "it is there");
                unlink(path);
                ok(tf_rundir_check_lock(&d, &err) == -1 && err.status == TF_AGAIN, "removed: %s",
                   err.msg);
                struct tf_rundir second;
                err = (struct tf_err){0};
                must(tf_rundir_open(&second, run, &err), &err);
                ok(tf_rundir_check_lock(&d, &err) == -1, "a second run has it: %s", err.msg);
                tf_rundir_close(&second);
            }
            tf_rundir_close(&d);
        }
    free(path);
}

static void test_state(void)
{
    struct tf_model_file m;
    struct tf_run_state s;
    checkpoint("resume.tfm", 7);
    char *path = file("resume.tfm"), text[200];
    ok(tf_model_read(&m, path, 0, NULL, &err) == 0 && tf_state_read(&s, &m, &err) == 0,
       "a state comes back");
    ok(s.step == 7 && s.micro == 14 && s.src_tokens == 10 && s.tgt_tokens == 11 &&
           s.valid_step == 7 && s.has_best && s.best == 0.1 && s.best_step == 3 && s.stale == 2,
       "its numbers");
    ok(s.has_valid && s.valid[0] == 6 && s.valid[31] == 0, "the hash of its validation data");
    ok(s.cursor.part == 1 && s.cursor.ordinal == 2 && s.cursor.epoch == 3 && s.cursor.record == 4 &&
           s.cursor.has_corpus && s.cursor.corpus[0] == 5,
       "its cursor");
    struct tf_arena a = {0};
    struct tf_value x = tf_value_map(), y = tf_value_map();
    tf_value_put(&a, &x, "lr", tf_value_real(2));
    tf_value_put(&a, &y, "lr", tf_value_int(2));
    size_t at = 0, at_none = 0;
    ok(!tf_differs(text, sizeof text, &at, &x, "a", &y, "b") &&
           !tf_differs(text, sizeof text, &at_none, NULL, "a", NULL, "b"),
       "2 and 2.0 are equal");
    tf_value_put(&a, &x, "lr", tf_value_real(-0.0));
    tf_value_put(&a, &y, "lr", tf_value_real(0));
    at = 0;
    ok(!tf_differs(text, sizeof text, &at, &x, "a", &y, "b"), "-0 and 0 are equal");
    tf_value_put(&a, &x, "lr", tf_value_real(2));
    tf_value_put(&a, &y, "lr", tf_value_int(2));
    tf_value_put(&a, &y, "new", tf_value_bool(true));
    at = 0;
    ok(tf_differs(text, sizeof text, &at, &x, "a", &y, "b") &&
           strcmp(text, "new: nothing in a, true in b") == 0,
       "a key that is only in one: %s", text);
    tf_value_put(&a, &x, "lr", tf_value_real(0.5));
    at = 0;
    ok(tf_differs(text, sizeof text, &at, &x, "a", &y, "b") &&
           strcmp(text, "lr: 0.5 in a, 2 in b") == 0,
       "another value: %s", text);
    ok(tf_differs(text, sizeof text, &at, &x, "a", &y, "b") &&
           strcmp(text, "new: nothing in a, true in b") == 0 &&
           !tf_differs(text, sizeof text, &at, &x, "a", &y, "b"),
       "then the next, each once");
    tf_arena_release(&a);
    tf_model_release(&m);
    unlink(path);
    free(path);
}

static void test_grid(void)
{
    struct tf_checkpoint_list l;
    struct tf_model_file m;
    struct tf_run_state s;
    struct tf_rundir d;
    char *path, *full;
    must(tf_rundir_open(&d, dir, &err), &err);
    is_int(tf_rundir_newest(&d, &m, &s, &path, &err), 0, "no checkpoint yet");
    char *name = tf_rundir_regular_name(123456789);
    is_str(name, "ckpt-123456789.tfm", "nine digits");
    free(name);
    const uint64_t steps[] = {5, 10, 15, 20, 123456789};
    for (size_t i = 0; i < 5; i++) {
        name = tf_rundir_regular_name(steps[i]);
        checkpoint(name, steps[i]);
        free(name);
    }
    static const char *const own[] = {"lock", "log.jsonl", "best.tfm", "resume.tfm",
                                      "ckpt-00000099.tfm"};
    for (size_t i = 0; i < 5; i++) {
        full = file(own[i]);
        ok(tf_rundir_owns(dir, full, &err) == 1, "%s is the run's own name", own[i]);
        free(full);
    }
    put("mine", "");
    full = file("mine");
    path = file("ckpt-00000005.tfm");
    ok(tf_rundir_owns(dir, full, &err) == 0 && tf_rundir_owns(dir, "/tmp/best.tfm", &err) == 0 &&
           tf_rundir_owns(dir, "best.tfm", &err) == 0,
       "others are not");
    ok(unlink(full) == 0 && link(path, full) == 0 && tf_rundir_owns(dir, full, &err) == 1,
       "another name of a checkpoint is");
    unlink(full);
    free(full);
    free(path);
    put("ckpt-1.tfm", "");
    /* Numbers that are not written as ours are: with more zeros, of more than 64 bits. */
    put("ckpt-000000010.tfm", "");
    put("ckpt-00000000000000000010.tfm", "");
    put("ckpt-99999999999999999999.tfm", "");
    put("ckpt-18446744073709551626.tfm", ""); /* 2^64 + 10 */
    put("ckpt-0000001x.tfm", "");
    put("ckpt-00000007.tfm.bak", "");
    ok(tf_rundir_list(&l, dir, &err) == 0 && l.n == 5 && l.v[0].step == 5 &&
           l.v[4].step == 123456789,
       "lists the grid, in order of steps");
    tf_checkpoint_list_release(&l);
    checkpoint("resume.tfm", 17);
    full = file("ckpt-00000015.tfm");
    ok(tf_rundir_make_best(&d, full, &err) == 0 && tf_rundir_make_best(&d, full, &err) == 0,
       "links the best, twice");
    free(full);
    is_int(tf_rundir_newest(&d, &m, &s, &path, &err), 1, "finds the newest");
    ok(strstr(path, "ckpt-123456789.tfm") != NULL, "%s", path);
    tf_model_release(&m);
    free(path);
    put("ckpt-123456789.tfm", "torn");
    ok(tf_rundir_retain(&d, 2, 17, 20, &err) == 0, "retains 2 up to step 20");
    ok(!there("ckpt-00000005.tfm") && !there("ckpt-00000010.tfm") && there("ckpt-00000015.tfm") &&
           there("ckpt-00000020.tfm") && there("ckpt-123456789.tfm"),
       "the oldest went; one beyond the step neither counts nor goes");
    ok(!there("resume.tfm"), "an older resume.tfm went");
    is_int(tf_rundir_newest(&d, &m, &s, &path, &err), 1, "passes over a torn one");
    ok(strstr(path, "ckpt-00000020.tfm") != NULL, "%s", path);
    tf_model_release(&m);
    free(path);
    checkpoint("ckpt-00000017.tfm", 17);
    ok(tf_rundir_retain(&d, 0, 0, 20, &err) == 0 && there("ckpt-00000017.tfm"),
       "one stays if no end is known");
    ok(tf_rundir_retain(&d, 0, 17, 17, &err) == 0 && there("ckpt-00000015.tfm") &&
           there("ckpt-00000017.tfm"),
       "that of an earlier end stays while it is the last");
    ok(tf_rundir_retain(&d, 2, 17, 20, &err) == 0 && there("ckpt-00000015.tfm") &&
           !there("ckpt-00000017.tfm") && there("ckpt-00000020.tfm"),
       "and goes with the next, not counted");
    checkpoint("resume.tfm", 17);
    ok(tf_rundir_retain(&d, 1, 0, 16, &err) == 0 && there("resume.tfm") &&
           there("ckpt-00000015.tfm"),
       "a newer resume.tfm and the only one stay");
    put("ckpt-00000020.tfm", "torn");
    is_int(tf_rundir_newest(&d, &m, &s, &path, &err), 1, "passes over two");
    ok(strstr(path, "resume.tfm") != NULL, "%s", path);
    tf_model_release(&m);
    free(path);
    put("resume.tfm", "torn");
    ok(tf_rundir_retain(&d, 0, 0, 30, &err) == 0 && there("resume.tfm"),
       "a resume.tfm that does not tell its step stays");
    put("ckpt-00000015.tfm", "torn"); /* the data of best.tfm as well: truncated in place */
    err = (struct tf_err){0};
    ok(tf_rundir_newest(&d, &m, &s, &path, &err) == -1 &&
           strstr(err.msg, "none of its 5 checkpoints can be read") != NULL,
       "%s", err.msg);
    tf_rundir_close(&d);
}

/* Open the directory, find the newest, which fails, and expect the message. */
static void newest_fails(const char *run, const char *want, const char *name)
{
    struct tf_rundir d;
    struct tf_model_file m;
    struct tf_run_state s;
    char *path;
    err = (struct tf_err){0};
    must(tf_rundir_open(&d, run, &err), &err);
    ok(tf_rundir_newest(&d, &m, &s, &path, &err) == -1 && strstr(err.msg, want) != NULL, "%s: %s",
       name, err.msg);
    tf_rundir_close(&d);
}

/* What keeps the newest from being read, and is no damage: an older one does not take its place. */
static void test_unreadable(void)
{
    const char *run = temp_path("unreadable");
    static const char *const names[] = {"unreadable/ckpt-00000010.tfm", "unreadable/resume.tfm",
                                        "unreadable/best.tfm"};
    mkdir(run, 0777);
    checkpoint("unreadable/ckpt-00000005.tfm", 5);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *path = temp_path(names[i]), *name = strchr(names[i], '/');
        if (symlink("../missing-disk/file", path) != 0)
            bail_out("symlink");
        newest_fails(run, "No such file or directory; to resume from an older checkpoint", name);
        ok(strstr(err.msg, name) != NULL, "it is named");
        unlink(path);
        if (symlink(name + 1, path) != 0)
            bail_out("symlink");
        newest_fails(run, "Too many levels of symbolic links", name);
        unlink(path);
    }
    /* A directory is no checkpoint, whole or not. */
    struct tf_rundir d;
    struct tf_model_file m;
    struct tf_run_state s;
    char *path;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        mkdir(temp_path(names[i]), 0777);
    must(tf_rundir_open(&d, run, &err), &err);
    if (is_int(tf_rundir_newest(&d, &m, &s, &path, &err), 1, "passes over directories")) {
        ok(s.step == 5, "to step 5");
        tf_model_release(&m);
        free(path);
    }
    tf_rundir_close(&d);
}

/* A checkpoint under the name of another step would be taken for newer than it is. */
static void test_copies(void)
{
    const char *run = temp_path("copies");
    mkdir(run, 0777);
    checkpoint("copies/ckpt-00000060.tfm", 60);
    checkpoint("copies/ckpt-00000099.tfm", 20);
    newest_fails(run,
                 "copies/ckpt-00000099.tfm: the name is that of step 99, but it contains step 20",
                 "a copy of step 20 as the newest");
    unlink(temp_path("copies/ckpt-00000099.tfm"));
    checkpoint("copies/ckpt-18446744073709551615.tfm", 20);
    newest_fails(run, "the name is that of step 18446744073709551615, but", "the largest number");
}

/* Without hard links best.tfm is a copy; here because the link's temporary name is taken. */
static void test_copy(void)
{
    struct tf_rundir d;
    struct stat a, b;
    static char data[100000];
    char temp[60];
    memset(data, 'x', sizeof data);
    err = (struct tf_err){0};
    must(tf_rundir_open(&d, temp_path("copied"), &err), &err);
    snprintf(temp, sizeof temp, "copied/.tf-best.tfm.tmp.%ld", (long)getpid());
    ok(mkdir(temp_path(temp), 0777) == 0, "no link can be made");
    char *path = tf_rundir_file(d.path, "ckpt-00000003.tfm"),
         *best = tf_rundir_file(d.path, TF_RUN_BEST);
    write_file(path, data, sizeof data);
    ok(tf_rundir_make_best(&d, path, &err) == 0 && same_files(path, best), "a copy: %s", err.msg);
    ok(stat(path, &a) == 0 && stat(best, &b) == 0 && a.st_ino != b.st_ino, "not a link");
    ok(unlink(path) == 0 && tf_rundir_make_best(&d, path, &err) == -1 && err.sys == ENOENT &&
           strstr(err.msg, path) != NULL,
       "of a file that is gone: %s", err.msg);
    write_file(path, data, sizeof data);
    ok(unlink(best) == 0 && mkdir(best, 0777) == 0 && tf_rundir_make_best(&d, path, &err) == -1 &&
           strstr(err.msg, "best.tfm: is a directory") != NULL,
       "onto a directory: %s", err.msg);
    ok(rmdir(best) == 0 && rmdir(temp_path(temp)) == 0 && count_entries(d.path) == 2,
       "only the lock and the checkpoint are left");
    free(path);
    free(best);
    tf_rundir_close(&d);
}

static void test_journal(void)
{
    struct tf_journal j;
    struct tf_rundir d;
    char *path = file("log.jsonl"), *text;
    size_t n;
    put("log.jsonl",
        "{\"event\":\"start\",\"step\":0}\n{\"event\":\"step\",\"step\":5}\n{\"event\":\"valid\","
        "\"step\":5}\n{\"event\":\"save\",\"step\":10,\"x\":{\"step\":1}}\n"
        "{\"event\":\"valid\",\"step\":10}\n{\"event\":\"step\",\"step\":11}\nno "
        "json\n{\"event\":\"step\",\"st");
    err = (struct tf_err){0};
    must(tf_rundir_open(&d, dir, &err), &err);
    const struct tf_run_state from = {.step = 10, .valid_step = 5};
    ok(tf_journal_open(&j, &d, &from, NULL, &err) == 0, "opens a log");
    tf_journal_line(&j, "step", 11);
    ok(tf_journal_put(&j, &err) == 0, "and continues");
    tf_journal_close(&j);
    ok(tf_read_file(&text, &n, path, 10000, &err) == 0, "reads");
    is_str(text,
           "{\"event\":\"start\",\"step\":0}\n{\"event\":\"step\",\"step\":5}\n{\"event\":"
           "\"valid\",\"step\":5}\n{\"event\":\"save\",\"step\":10,\"x\":{\"step\":1}}\n"
           "{\"event\":\"step\",\"step\":11}\n",
           "lines after the step, later validations and torn ones are gone");
    free(text);
    ok(tf_journal_open(&j, &d, NULL, NULL, &err) == 0, "opens it for a new run");
    tf_journal_close(&j);
    ok(tf_read_file(&text, &n, path, 10000, &err) == 0 && n == 0, "which removes all lines");
    free(text);
    free(path);
    tf_rundir_close(&d);
    char *gone = file("gone"), *lock = tf_rundir_file(gone, "lock");
    must(tf_rundir_open(&d, gone, &err), &err);
    ok(unlink(lock) == 0 && rmdir(gone) == 0 && tf_journal_open(&j, &d, NULL, NULL, &err) == -1 &&
           err.status == TF_AGAIN,
       "a log that cannot be opened, since another run may have the directory: %s", err.msg);
    tf_journal_close(&j);
    tf_rundir_close(&d);
    free(lock);
    free(gone);
}

int main(void)
{
    dir = temp_path("");
    test_lock();
    test_foreign();
    test_lock_file();
    test_state();
    test_grid();
    test_unreadable();
    test_copies();
    test_copy();
    test_journal();
    return done();
}
