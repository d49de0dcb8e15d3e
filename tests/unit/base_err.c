/* Error values: text, status, context, escaping, and the cut of what is too long. */
#include "../harness/child.h"
#include "../harness/tap.h"
#include "base/err.h"
#include "base/utf8.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static void test_utf8(void)
{
    static const struct {
        const char *s;
        size_t n, want;
    } cases[] = {
        {"a", 1, 1},
        {"\0", 1, 1},
        {"\xc3\xa4", 2, 2},
        {"\xc3\xa4", 1, 0},
        {"\xe2\x82\xac", 3, 3},
        {"\xe2\x82\xac", 2, 0},
        {"\xf0\x9f\x98\x80", 4, 4},
        {"\xf4\x8f\xbf\xbf", 4, 4},
        {"\xf4\x90\x80\x80", 4, 0},
        {"\xc0\x80", 2, 0},
        {"\xc1\xbf", 2, 0},
        {"\xe0\x9f\xbf", 3, 0},
        {"\xe0\xa0\x80", 3, 3},
        {"\xed\x9f\xbf", 3, 3},
        {"\xed\xa0\x80", 3, 0},
        {"\xf0\x8f\xbf\xbf", 4, 0},
        {"\xf0\x90\x80\x80", 4, 4},
        {"\x80", 1, 0},
        {"\xff", 1, 0},
        {"\xf5\x80\x80\x80", 4, 0},
        {"\xe2\x28\xa1", 3, 0},
        {"\xe2\x82\x28", 3, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        is_int(tf_utf8_at(cases[i].s, cases[i].n), cases[i].want, "utf-8 case %zu", i);
}

static void test_escape(void)
{
    char buf[64];
    is_str(tf_escape(buf, sizeof buf, "plain \xc3\xa4", 8), "plain \xc3\xa4", "text passes");
    is_str(tf_escape(buf, sizeof buf, "a\n\x1b[\0b", 6), "a\\x0a\\x1b[\\x00b",
           "control bytes are escaped, NUL too");
    is_str(tf_escape(buf, sizeof buf, "\xff\xc3", 2), "\\xff\\xc3",
           "bytes that are not UTF-8 are escaped");
    is_str(tf_escape(buf, sizeof buf, "\xc2\x9b", 2), "\\xc2\\x9b", "C1 controls are escaped");
    is_str(tf_escape(buf, sizeof buf, "\xc2\xa0\x7f", 3), "\xc2\xa0\\x7f",
           "U+00A0 is text, DEL is not");
    is_str(tf_escape(buf, 4, "abcdef", 6), "abc", "cut to size");
    is_str(tf_escape(buf, 4, "ab\xc3\xa4", 4), "ab", "never cut within a character");
    is_str(tf_escape(buf, 5, "ab\n", 3), "ab", "never cut within an escape");
    is_str(tf_escape(buf, 1, "a", 1), "", "room for nothing");
    buf[0] = 'x';
    tf_escape(buf, 0, "a", 1);
    is_int(buf[0], 'x', "size 0 writes nothing");
}

/* Threads that run out of memory at once: one line, one exit. */
static void *starve(void *barrier)
{
    pthread_barrier_wait(barrier);
    return tf_xarray(NULL, SIZE_MAX, 2);
}

static void starve_four(void *unused)
{
    pthread_t t[4];
    pthread_barrier_t barrier;
    (void)unused;
    pthread_barrier_init(&barrier, NULL, 4);
    for (int i = 0; i < 4; i++)
        pthread_create(&t[i], NULL, starve, &barrier);
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], NULL);
}

static void test_starving_threads(void)
{
    int bad = 0;
    for (int round = 0; round < 50; round++) {
        static struct child c;
        run_child(&c, starve_four, NULL, NULL);
        const char *line = strstr(c.err, ": out of memory\n");
        bad += c.status != TF_FAILED || line == NULL || strcmp(line, ": out of memory\n") != 0;
    }
    is_int(bad, 0, "threads that run out of memory together end with one line");
}

int main(void)
{
    struct tf_err err = {0};
    is_int(tf_fail(&err, "%s: bad %d", "f", 7), -1, "tf_fail returns -1");
    is_str(err.msg, "f: bad 7", "message");
    is_int(err.status, TF_FAILED, "status 1");
    is_int(tf_fail_status(&err, TF_DIVERGED, "x\ny"), -1, "tf_fail_status returns -1");
    is_str(err.msg, "x\\x0ay", "a message has no newline");
    is_int(err.status, TF_DIVERGED, "status as given");
    is_int(tf_context(&err, "in %s", "place"), -1, "tf_context returns -1");
    is_str(err.msg, "in place: x\\x0ay", "context in front");
    is_int(err.status, TF_DIVERGED, "context keeps the status");
    errno = ENOSPC;
    tf_fail_errno(&err, "%s: write", "out");
    is_str(err.msg, "out: write: No space left on device", "errno's text comes last");
    is_int(err.sys, ENOSPC, "errno kept");
    tf_context(&err, "c");
    is_int(err.sys, ENOSPC, "context keeps errno");

    char path[2000];
    memset(path, 'p', sizeof path);
    path[sizeof path - 1] = 0;
    errno = EACCES;
    tf_fail_errno(&err, "%s", path);
    size_t n = strlen(err.msg);
    ok(n < sizeof err.msg, "a long message is cut");
    is_str(err.msg + n - strlen(": Permission denied"), ": Permission denied",
           "but not its reason");
    tf_context(&err, "%s", path);
    ok(strlen(err.msg) < sizeof err.msg, "long context on a long message");
    struct tf_err small = {0};
    tf_fail(&small, "last");
    tf_context(&small, "%.700s", path);
    is_str(small.msg + 700, ": last", "context leaves what fits");

    void *p = tf_try_alloc(100, &err);
    ok(p != NULL && (uintptr_t)p % 64 == 0, "tf_try_alloc aligns to 64");
    free(p);
    err = (struct tf_err){0};
    ok(tf_try_alloc(SIZE_MAX - 10, &err) == NULL && err.status == TF_FAILED,
       "tf_try_alloc reports what can't be");
    char *s = tf_xstrndup("abc", 2);
    is_str(s, "ab", "tf_xstrndup");
    free(s);
    s = tf_xstrndup("a", 100);
    is_str(s, "a", "tf_xstrndup stops at the end");
    free(s);
    test_escape();
    test_utf8();
    test_starving_threads();
    return done();
}
