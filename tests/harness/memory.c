/* memory.c - inputs and outputs in memory: see memory.h. */
#include "memory.h"
#include "base/memory.h"

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

struct tf_out memory_out(size_t cap)
{
    return (struct tf_out){.fd = -1, .name = tf_xstrdup("mem"), .buf = tf_xmalloc(cap), .cap = cap};
}

void memory_out_done(struct tf_out *out)
{
    free(out->name);
    free(out->buf);
}
