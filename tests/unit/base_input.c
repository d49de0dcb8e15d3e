/* Input by bytes and by lines. Runs in an empty directory of its own. */
#include "../harness/child.h"
#include "../harness/tap.h"
#include "../harness/temp.h"
#include "base/buf.h"
#include "base/input.h"
#include "base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static struct tf_err err;

/* The lines of an input, each followed by "|", with NUL as 0; a line that is too long starts with
 * "<LENGTH>". */
static char *lines_of(const char *path, size_t max)
{
    static struct tf_buf b;
    struct tf_in in;
    tf_buf_clear(&b);
    tf_buf_str(&b, "");
    if (tf_in_open(&in, path, &err) != 0)
        return "cannot open";
    const char *line;
    size_t n;
    int rc;
    while ((rc = tf_in_line(&in, &line, &n, max, &err)) > 0) {
        if (rc == 2)
            tf_buf_printf(&b, "<%zu>", n);
        for (size_t i = 0; i < n && (rc == 1 || i < 64); i++)
            tf_buf_byte(&b, line[i] != 0 ? (unsigned char)line[i] : '0');
        tf_buf_byte(&b, '|');
    }
    if (rc < 0)
        tf_buf_str(&b, "error");
    tf_in_close(&in);
    return b.p;
}

static void test_lines(void)
{
    static const struct {
        const char *text;
        size_t n;
        const char *want;
    } cases[] = {
        {"", 0, ""},
        {"\n", 1, "|"},
        {"a", 1, "a|"},
        {"a\n", 2, "a|"},
        {"a\nb", 3, "a|b|"},
        {"\n\n", 2, "||"},
        {"a\r\nb\0c\n\x0b\x0c\n", 10, "a\r|b0c|\x0b\x0c|"},
        {"\xe2\x80\xa8\xc2\x85\n", 6, "\xe2\x80\xa8\xc2\x85|"},
        {"123456789\n12345678901\nx\n", 24, "123456789|<11>12345678901|x|"},
        {"12345678901", 11, "<11>12345678901|"},
        {"1234567890", 10, "1234567890|"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_file("f", cases[i].text, cases[i].n);
        is_str(lines_of("f", 10), cases[i].want, "lines, case %zu", i);
        is_str(lines_of(piped(cases[i].text, cases[i].n, 1), 10), cases[i].want,
               "lines, case %zu, byte by byte", i);
    }

    /* Lines around the size of the buffer, then one far too long, then one more. */
    struct tf_buf text = {0};
    static const size_t lengths[] = {65535, 65536, 65537, 300000, 100000, 131072, 5};
    for (size_t i = 0; i < 7; i++) {
        for (size_t k = 0; k < lengths[i]; k++)
            tf_buf_byte(&text, (unsigned char)('a' + (k + i) % 26));
        tf_buf_byte(&text, '\n');
    }
    static const size_t steps[] = {1 << 20, 4096, 777};
    for (size_t s = 0; s < 3; s++) {
        struct tf_in in;
        const char *line;
        size_t n;
        bool good = tf_in_open(&in, piped(text.p, text.len, steps[s]), &err) == 0;
        uint64_t at = 0;
        for (size_t i = 0; i < 7 && good; i++) {
            int rc = tf_in_line(&in, &line, &n, 131072, &err);
            good = rc == (lengths[i] > 131072 ? 2 : 1) && n == lengths[i];
            for (size_t k = 0; good && k < (rc == 2 ? 64 : n); k++)
                good = line[k] == (char)('a' + (k + i) % 26);
            at += lengths[i] + 1;
            good = good && in.offset + in.pos == at;
            if (!good)
                printf("# line %zu: rc %d, length %zu, offset %llu\n", i, rc, n,
                       (unsigned long long)(in.offset + in.pos));
        }
        ok(good && tf_in_line(&in, &line, &n, 131072, &err) == 0,
           "long lines and offsets, pieces of %zu", steps[s]);
        tf_in_close(&in);
    }

    /* A complete line must be returned without waiting for more input. */
    int fd[2];
    if (pipe(fd) != 0)
        abort();
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        alarm(60);
        if (write(fd[1], text.p + 65536 * 3 + 3, 300001) == 300001)
            pause();
        _exit(1);
    }
    char path[32];
    snprintf(path, sizeof path, "/dev/fd/%d", fd[0]);
    struct tf_in in;
    const char *line;
    size_t n;
    alarm(60);
    ok(tf_in_open(&in, path, &err) == 0 && tf_in_line(&in, &line, &n, 1 << 20, &err) == 1 &&
           n == 300000,
       "a long line from an idle pipe");
    alarm(0);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    tf_in_close(&in);
    close(fd[0]);
    close(fd[1]);
    tf_buf_release(&text);
}

static void test_read(void)
{
    size_t n = 500000;
    char *text = malloc(n), *got = malloc(n);
    for (size_t i = 0; i < n; i++)
        text[i] = (char)(i * 7919 >> 3);
    write_file("f", text, n);
    for (int pipe = 0; pipe < 2; pipe++) {
        struct tf_in in;
        bool good = tf_in_open(&in, pipe ? piped(text, n, 5000) : "f", &err) == 0;
        is_int(in.size, pipe ? -1 : 500000, "size of a %s", pipe ? "pipe" : "file");
        size_t at = 0;
        for (size_t step = 1; at < n && good; step = step * 5 % 200003 + 1) {
            ssize_t want = (ssize_t)(step < n - at ? step : n - at);
            if (step % 3 == 0) {
                good = tf_in_fill(&in, (size_t)want, &err) >= want &&
                       memcmp(in.buf + in.pos, text + at, (size_t)want) == 0;
                in.pos += (size_t)want;
            } else {
                good = tf_in_read(&in, got, step, &err) == want &&
                       memcmp(got, text + at, (size_t)want) == 0;
            }
            at += (size_t)want;
            good = good && in.offset + in.pos == at;
        }
        ok(good, "reads and fills of any size, %s", pipe ? "pipe" : "file");
        ok(tf_in_read(&in, got, 1, &err) == 0 && tf_in_fill(&in, 1, &err) == 0 && in.eof,
           "the end of the input");
        ok(tf_in_ready(&in), "the end never blocks");
        tf_in_close(&in);
    }
    free(text);
    free(got);

    int fd[2];
    char path[32];
    struct tf_in in;
    if (pipe(fd) != 0)
        abort();
    snprintf(path, sizeof path, "/dev/fd/%d", fd[0]);
    ok(tf_in_open(&in, path, &err) == 0 && !tf_in_ready(&in), "an idle pipe is not ready");
    ok(write(fd[1], "ab", 2) == 2 && tf_in_ready(&in), "a pipe with data is ready");
    char c;
    ok(!tf_in_line_ready(&in, 9), "a line without LF is not ready");
    ok(tf_in_line_ready(&in, 1), "a line above its limit is ready");
    ok(tf_in_read(&in, &c, 1, &err) == 1 && tf_in_ready(&in), "a buffer with data is ready");
    ok(tf_in_read(&in, &c, 1, &err) == 1 && !tf_in_ready(&in), "an empty buffer is not ready");
    close(fd[1]);
    ok(tf_in_ready(&in) && tf_in_line_ready(&in, 9), "a closed pipe is ready");
    tf_in_close(&in);
    close(fd[0]);

    ok(tf_in_open(&in, "missing", &err) == -1 && err.sys == ENOENT, "a missing file");
    is_str(err.msg, "missing: No such file or directory", "its message");
    is_int(tf_in_open(&in, "", &err), -1, "an empty name");
    is_str(err.msg, "'': No such file or directory", "its message");
    is_int((long long)tf_count_std((const char *const[]){"-", "a", NULL, "-", "--"}, 5), 2,
           "number of standard streams among paths");
    ok(tf_in_open(&in, ".", &err) == -1, "a directory");
    is_str(err.msg, ".: is a directory", "its message");
    tf_in_close(&in);
    char *data;
    size_t len;
    write_file("f", "0123456789", 10);
    ok(tf_read_file(&data, &len, "f", 10, &err) == 0 && len == 10 &&
           memcmp(data, "0123456789", 11) == 0,
       "read_file at its limit");
    free(data);
    char *big = calloc(1 << 20, 1);
    write_file("big", big, 1 << 20);
    ok(tf_read_file(&data, &len, "big", 1 << 30, &err) == 0 && len == 1 << 20 &&
           malloc_usable_size(data) < 3 << 19,
       "memory for a file is about its size");
    free(data);
    free(big);
    ok(tf_read_file(&data, &len, "f", 9, &err) == -1, "read_file above its limit");
    is_str(err.msg, "f: larger than 9 bytes", "its message");
    ok(tf_read_file(&data, &len, piped("0123456789", 10, 3), 9, &err) == -1,
       "read_file of a pipe above its limit");
}

/* ---- files that change ---- */

enum { LONG = 200000 /* bytes: several reads */ };

enum change {
    NONE,
    RENAMED, /* linked and protected, too */
    TOUCHED,
    OVERWRITTEN,
    APPENDED,
    APPENDED_AND_OVERWRITTEN,
    CUT,
    CHANGES
};
static const char *const change_names[CHANGES] = {"none",     "renamed",
                                                  "touched",  "overwritten",
                                                  "appended", "appended and overwritten",
                                                  "cut"};

static void set_time(const char *path, time_t sec)
{
    const struct timespec times[2] = {{.tv_sec = sec}, {.tv_sec = sec}};
    must(utimensat(AT_FDCWD, path, times, 0), &err);
}

static void put_at(const char *path, off_t at, const char *data)
{
    int fd = open(path, O_WRONLY);
    size_t n = strlen(data);
    must(fd >= 0 && pwrite(fd, data, n, at) == (ssize_t)n ? 0 : -1, &err);
    close(fd);
}

static void make_change(enum change how)
{
    if (how == RENAMED)
        must(link("f", "g") == 0 && rename("f", "h") == 0 && chmod("h", 0400) == 0 ? 0 : -1, &err);
    if (how == APPENDED || how == APPENDED_AND_OVERWRITTEN)
        put_at("f", LONG, "more");
    if (how == OVERWRITTEN || how == APPENDED_AND_OVERWRITTEN)
        put_at("f", 10, "other");
    if (how == CUT)
        must(truncate("f", LONG - 1), &err);
    if (how >= TOUCHED)
        set_time("f", 2000000000); /* whatever the clock of the file system shows */
}

/* Read a file from byte `from` on, which changes after its first bytes were read. std: as standard
 * input. Returns the size, or -1. */
static int64_t read_changing(enum change how, bool grows, bool std, int from)
{
    static char data[LONG];
    char byte;
    struct tf_in in;
    int saved = dup(0);
    for (int i = 0; i < LONG; i++)
        data[i] = (char)('a' + i % 23);
    unlink("f");
    unlink("g");
    unlink("h");
    write_file("f", data, LONG);
    set_time("f", 4000000000); /* in the future */
    if (std) {
        int fd = open("f", O_RDONLY);
        must(dup2(fd, 0) < 0 || lseek(0, from, SEEK_SET) < 0 ? -1 : 0, &err);
        close(fd);
    }
    must(tf_in_open(&in, std ? "-" : "f", &err), &err);
    if (grows)
        tf_in_may_grow(&in);
    int64_t n = tf_in_read(&in, &byte, 1, &err);
    make_change(how);
    char *rest = NULL;
    size_t rest_n = 0;
    if (n < 0 || tf_in_all(&in, &rest, &rest_n, 1 << 20, &err) < 0) {
        n = -1;
        ok(tf_in_fill(&in, (size_t)LONG, &err) < 0, "%s: the error remains", change_names[how]);
    } else {
        n += (int64_t)rest_n;
    }
    free(rest);
    tf_in_close(&in);
    dup2(saved, 0);
    close(saved);
    return n;
}

static void test_changes(void)
{
    for (enum change how = NONE; how < CHANGES; how++)
        for (int grows = 0; grows < 2; grows++)
            for (int std = 0; std < 2; std++) {
                int from = std ? 5 : 0;
                bool good = how < TOUCHED || (grows && (how == TOUCHED || how == APPENDED));
                int64_t want = !good ? -1 : LONG - from + (how == APPENDED ? 4 : 0);
                is_int(read_changing(how, grows, std, from), want, "%s%s%s", change_names[how],
                       grows ? ", may grow" : "", std ? ", stdin at an offset" : "");
                if (want < 0)
                    is_str(err.msg + (std ? 5 : 1), ": changed while it was read", "its message");
            }
    /* Files without a size that is known before. */
    static const char *const kernel[] = {"/proc/self/status", "/proc/cpuinfo",
                                         "/sys/devices/system/cpu/online"};
    for (size_t i = 0; i < sizeof kernel / sizeof *kernel; i++) {
        char *data;
        size_t n;
        if (access(kernel[i], R_OK) != 0) {
            skip("this kernel has no such file");
            continue;
        }
        if (ok(tf_read_file(&data, &n, kernel[i], 1 << 24, &err) == 0 && n > 0, "%s", kernel[i]))
            free(data);
    }
}

int main(void)
{
    if (chdir(temp_path("")) != 0)
        bail_out("chdir");
    test_lines();
    test_read();
    test_changes();
    return done();
}
