/* memory.c - malloc and its relatives, checked. */
#include "base/memory.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    LARGE = 4 << 20,
    PAGE = 64 << 10, /* the largest of any machine */
    NAMED = 1 << 20, /* bytes from which a message has the amount */
};

void tf_out_of_memory(double bytes, const char *remedy)
{
    struct tf_err err;
    const int known = bytes >= NAMED;
    static atomic_flag ending = ATOMIC_FLAG_INIT;
    /* exit() must not be called by two threads: the others wait. */
    while (atomic_flag_test_and_set(&ending))
        pause();
    (void)tf_no_memory(&err, bytes);
    fprintf(stderr, "%s: %s%s%s\n", tf_progname, known ? err.msg : "out of memory",
            remedy != NULL ? "; " : "", remedy != NULL ? remedy : "");
    exit(TF_FAILED);
}

static void *must(void *p, double bytes)
{
    if (p == NULL)
        tf_out_of_memory(bytes, NULL);
    return p;
}

void *tf_xmalloc(size_t size)
{
    return must(malloc(size != 0 ? size : 1), (double)size);
}

void *tf_xcalloc(size_t n, size_t size)
{
    return must(n != 0 && size != 0 ? calloc(n, size) : calloc(1, 1),
                (double)n * (double)size);
}

void *tf_xarray(void *old, size_t n, size_t size)
{
    size_t total;
    if (__builtin_mul_overflow(n, size, &total))
        tf_out_of_memory((double)n * (double)size, NULL);
    return must(realloc(old, total != 0 ? total : 1), (double)total);
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

int tf_no_memory(struct tf_err *err, double bytes)
{
    tf_fail(err, "no memory for %.3g MB", bytes / 1e6);
    err->sys = ENOMEM;
    return -1;
}

void tf_memory_remedy(struct tf_err *err, const char *remedy)
{
    struct tf_err old = *err;
    if (old.sys != ENOMEM)
        return;
    tf_fail_status(err, old.status, "%s; %s", old.msg, remedy);
    err->sys = old.sys;
}

void *tf_try_alloc(size_t size, struct tf_err *err)
{
    void *p = NULL;
    if (size <= PTRDIFF_MAX - 64)
        p = aligned_alloc(64, size != 0 ? (size + 63) / 64 * 64 : 64);
    if (p == NULL) {
        tf_no_memory(err, (double)size);
    } else {
        tf_huge_pages(p, size);
    }
    return p;
}

void tf_huge_pages(void *p, size_t n)
{
    if (n >= LARGE) /* whole pages of it */
        madvise((void *)(((uintptr_t)p + PAGE - 1) / PAGE * PAGE), n - PAGE, MADV_HUGEPAGE);
}
