/* Error values: text, status, context, escaping; texts that are too long. */
#include "../harness/tap.h"
#include "base/err.h"

#include <errno.h>
#include <string.h>

static void test_escape(void)
{
    char buf[64];
    is_str(tf_escape(buf, sizeof buf, "plain \xc3\xa4", 8), "plain \xc3\xa4",
           "text is not changed");
    is_str(tf_escape(buf, sizeof buf, "a\n\x1b[\0b", 6), "a\\x0a\\x1b[\\x00b",
           "control bytes are escaped, NUL too");
    is_str(tf_escape(buf, sizeof buf, "\xff\xc3", 2), "\\xff\\xc3",
           "bytes that are not UTF-8 are escaped");
    is_str(tf_escape(buf, sizeof buf, "\xc2\x9b", 2), "\\xc2\\x9b", "C1 controls are escaped");
    is_str(tf_escape(buf, sizeof buf, "\xc2\xa0\x7f", 3), "\xc2\xa0\\x7f",
           "U+00A0 is not escaped, DEL is");
    is_str(tf_escape(buf, sizeof buf, "a\xe2\x80\xae" "b", 5), "a\\xe2\\x80\\xaeb",
           "characters that reorder text are escaped");
    static const char *const shown[] = {"\xd8\x9b", "\xe2\x80\x8d", "\xe2\x80\x90", "\xe2\x80\xa7",
                                        "\xe2\x80\xaf", "\xe2\x81\xa5", "\xe2\x81\xaa"},
                      *const hidden[] = {"\xd8\x9c", "\xe2\x80\x8e", "\xe2\x80\x8f", "\xe2\x80\xa8",
                                         "\xe2\x80\xaa", "\xe2\x81\xa6", "\xe2\x81\xa9"};
    for (int i = 0; i < 7; i++) {
        is_str(tf_escape(buf, sizeof buf, shown[i], strlen(shown[i])), shown[i], "shown %d", i);
        ok(tf_escape(buf, sizeof buf, hidden[i], strlen(hidden[i]))[0] == '\\', "escaped %d", i);
    }
    is_str(tf_escape(buf, 4, "abcdef", 6), "abc", "cut to size");
    is_str(tf_escape(buf, 4, "ab\xc3\xa4", 4), "ab", "never cut within a character");
    is_str(tf_escape(buf, 5, "ab\n", 3), "ab", "never cut within an escape");
    is_str(tf_escape(buf, 1, "a", 1), "", "a size of 1");
    buf[0] = 'x';
    tf_escape(buf, 0, "a", 1);
    is_int(buf[0], 'x', "size 0 writes nothing");
}

int main(void)
{
    struct tf_err err = {0};
    is_int(tf_fail(&err, "%s: bad %d", "f", 7), -1, "tf_fail returns -1");
    is_str(err.msg, "f: bad 7", "message");
    is_int(err.status, TF_FAILED, "status 1");
    is_int(tf_fail_status(&err, TF_DIVERGED, "x\ny"), -1, "tf_fail_status returns -1");
    is_str(err.msg, "x\\x0ay", "a message has no newline");
    is_int(err.status, TF_DIVERGED, "its status");
    is_int(tf_context(&err, "in %s", "place"), -1, "tf_context returns -1");
    is_str(err.msg, "in place: x\\x0ay", "context before the message");
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
           "the reason is kept");
    tf_context(&err, "%s", path);
    ok(strlen(err.msg) < sizeof err.msg, "long context on a long message");
    struct tf_err small = {0};
    tf_fail(&small, "last");
    tf_context(&small, "%.700s", path);
    is_str(small.msg + 700, ": last", "as much of the old message as fits");
    test_escape();
    return done();
}
