/* err.c - error values, bugs, and allocation that cannot fail. */
#include "base/err.h"
#include "base/utf8.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *tf_progname = "tf";
const char *const tf_on_bad_words[] = {"mark", "fail", "ok", NULL};

char *tf_escape(char *dst, size_t size, const char *s, size_t n)
{
    size_t o = 0;
    for (size_t i = 0; i < n;) {
        size_t len = tf_utf8_at(s + i, n - i);
        unsigned char c = (unsigned char)s[i];
        if (len > 0 && !tf_utf8_control(s + i)) {
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

static void set(struct tf_err *err, int status, int sys, const char *fmt, va_list ap)
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
    set(err, TF_FAILED, 0, fmt, ap);
    va_end(ap);
    return -1;
}

int tf_fail_status(struct tf_err *err, int status, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    set(err, status, 0, fmt, ap);
    va_end(ap);
    return -1;
}

int tf_fail_errno(struct tf_err *err, const char *fmt, ...)
{
    int sys = errno;
    va_list ap;
    va_start(ap, fmt);
    set(err, TF_FAILED, sys, fmt, ap);
    va_end(ap);
    return -1;
}

int tf_context(struct tf_err *err, const char *fmt, ...)
{
    struct tf_err old = *err;
    va_list ap;
    va_start(ap, fmt);
    set(err, old.status != 0 ? old.status : TF_FAILED, 0, fmt, ap);
    va_end(ap);
    err->sys = old.sys;
    size_t n = strlen(err->msg);
    if (n + 3 < sizeof err->msg) {
        memcpy(err->msg + n, ": ", 3);
        tf_escape(err->msg + n + 2, sizeof err->msg - n - 2, old.msg, strlen(old.msg));
    }
    return -1;
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

void tf_out_of_memory(void)
{
    static atomic_flag ending = ATOMIC_FLAG_INIT;
    /* another thread is at it, and exit() is for one */
    while (atomic_flag_test_and_set(&ending))
        pause();
    fprintf(stderr, "%s: out of memory\n", tf_progname);
    exit(TF_FAILED);
}

static void *must(void *p)
{
    if (p == NULL)
        tf_out_of_memory();
    return p;
}

void *tf_xmalloc(size_t size)
{
    return must(malloc(size != 0 ? size : 1));
}

void *tf_xcalloc(size_t n, size_t size)
{
    return must(n != 0 && size != 0 ? calloc(n, size) : calloc(1, 1));
}

void *tf_xarray(void *old, size_t n, size_t size)
{
    size_t total;
    if (__builtin_mul_overflow(n, size, &total))
        tf_out_of_memory();
    return must(realloc(old, total != 0 ? total : 1));
}

char *tf_xstrdup(const char *s)
{
    return tf_xstrndup(s, strlen(s));
}

char *tf_xstrndup(const char *s, size_t n)
{
    n = strnlen(s, n);
    char *p = tf_xmalloc(n + 1);
    memcpy(p, s, n);
    p[n] = 0;
    return p;
}

void *tf_try_alloc(size_t size, struct tf_err *err)
{
    void *p = NULL;
    if (size <= PTRDIFF_MAX - 64)
        p = aligned_alloc(64, size != 0 ? (size + 63) / 64 * 64 : 64);
    if (p == NULL)
        tf_fail(err, "no memory for %zu bytes", size);
    return p;
}
