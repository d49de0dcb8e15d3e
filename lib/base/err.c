/* err.c - error values and bugs. */
#include "base/err.h"
#include "base/utf8.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *tf_progname = "tf";

char *tf_escape(char *dst, size_t size, const char *s, size_t n)
{
    size_t o = 0;
    for (size_t i = 0; i < n;) {
        size_t len = tf_utf8_at(s + i, n - i);
        unsigned char c = (unsigned char)s[i];
        if (len > 0 && !tf_utf8_unsafe(s + i)) {
            if (o + len >= size)
                break;
            memcpy(dst + o, s + i, len);
            o += len;
            i += len;
        } else {
            static const char digits[] = "0123456789abcdef";
            if (o + 4 >= size)
                break;
            const char hex[4] = {'\\', 'x', digits[c >> 4], digits[c & 15]};
            memcpy(dst + o, hex, 4);
            o += 4;
            i++;
        }
    }
    if (size > 0)
        dst[o] = 0;
    return dst;
}

static void set_message(struct tf_err *err, int status, int sys, const char *fmt, va_list ap)
{
    char text[sizeof err->msg];
    int n = vsnprintf(text, sizeof text, fmt, ap);
    if (n < 0)
        n = 0;
    if ((size_t)n >= sizeof text)
        n = (int)sizeof text - 1;
    char tail[128] = "";
    if (sys != 0)
        snprintf(tail, sizeof tail, ": %s", strerror(sys));
    /* The reason at the end matters more than the last bytes of a long path. */
    tf_escape(err->msg, sizeof err->msg - strlen(tail), text, (size_t)n);
    memcpy(err->msg + strlen(err->msg), tail, strlen(tail) + 1);
    err->status = status;
    err->sys = sys;
}

int tf_fail(struct tf_err *err, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    set_message(err, TF_FAILED, 0, fmt, ap);
    va_end(ap);
    return -1;
}

int tf_fail_status(struct tf_err *err, int status, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    set_message(err, status, 0, fmt, ap);
    va_end(ap);
    return -1;
}

int tf_fail_errno(struct tf_err *err, const char *fmt, ...)
{
    int sys = errno;
    va_list ap;
    va_start(ap, fmt);
    set_message(err, TF_FAILED, sys, fmt, ap);
    va_end(ap);
    return -1;
}

int tf_context(struct tf_err *err, const char *fmt, ...)
{
    struct tf_err old = *err;
    va_list ap;
    va_start(ap, fmt);
    set_message(err, old.status != 0 ? old.status : TF_FAILED, 0, fmt, ap);
    va_end(ap);
    err->sys = old.sys;
    size_t n = strlen(err->msg);
    if (n + 3 < sizeof err->msg) {
        memcpy(err->msg + n, ": ", 3);
        tf_escape(err->msg + n + 2, sizeof err->msg - n - 2, old.msg, strlen(old.msg));
    }
    return -1;
}

void tf_fail_later(struct tf_err *err, const struct tf_err *later)
{
    if (err->sys == 0 && later->status != TF_READER_LEFT)
        *err = *later;
}

void tf_bug(const char *file, int line, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    fprintf(stderr, "%s: bug at %s:%d: ", tf_progname, file, line);
    vfprintf(stderr, fmt, ap);
    fputc('\n', stderr);
    va_end(ap);
    abort();
}
