/* memory.c - inputs and outputs in memory: see memory.h. */
#include "memory.h"
#include "base/memory.h"

#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct tf_in memory_in(const void *p, size_t n)
{
    struct tf_in in = {.fd = -1,
                       .name = tf_xstrdup("mem"),
                       .buf = tf_xmalloc(n + 1),
                       .len = n,
                       .cap = n + 1,
                       .size = -1,
                       .eof = true};
    if (n > 0)
        memcpy(in.buf, p, n);
    return in;
}

struct tf_in memory_file(const void *p, size_t n)
{
    struct tf_in in = memory_in(p, n);
    in.size = (int64_t)n;
    return in;
}

void memory_in_done(struct tf_in *in)
{
    free(in->name);
    free(in->buf);
}

/* Outputs that are done: AddressSanitizer maps a new one, and the kernel clears it. */
static struct tf_out kept[8];

struct tf_out memory_out(size_t cap)
{
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        if (kept[i].buf != NULL && kept[i].cap == cap) {
            struct tf_out out = kept[i];
            kept[i].buf = NULL;
            return out;
        }
    return (struct tf_out){.fd = -1, .name = tf_xstrdup("mem"), .buf = tf_xmalloc(cap), .cap = cap};
}

void memory_out_done(struct tf_out *out)
{
    const struct tf_out empty = {.fd = -1, .name = out->name, .buf = out->buf, .cap = out->cap};
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        if (kept[i].buf == NULL && out->buf != NULL) {
            kept[i] = empty;
            return;
        }
    free(out->name);
    free(out->buf);
}

static struct {
    int fd; /* 0: not made yet */
    char path[32];
} files[4];

const char *memory_path(int i, const void *p, size_t n)
{
    if (files[i].fd == 0) {
        files[i].fd = memfd_create("test", MFD_CLOEXEC);
        snprintf(files[i].path, sizeof files[i].path, "/proc/self/fd/%d", files[i].fd);
    }
    if (files[i].fd < 0 || ftruncate(files[i].fd, 0) != 0 ||
        pwrite(files[i].fd, p, n, 0) != (ssize_t)n || lseek(files[i].fd, 0, SEEK_SET) != 0)
        TF_BUG("no file in memory");
    return files[i].path;
}

char *memory_path_bytes(int i, size_t *n)
{
    struct stat st;
    if (fstat(files[i].fd, &st) != 0)
        TF_BUG("no file in memory");
    *n = (size_t)st.st_size;
    char *p = tf_xmalloc(*n + 1);
    if (pread(files[i].fd, p, *n, 0) != (ssize_t)*n)
        TF_BUG("no file in memory");
    return p;
}
