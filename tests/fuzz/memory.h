/* memory.h - inputs without a descriptor and outputs that stay in their buffer, for fuzz targets.
 * An output that overflows fails, as a full disk would. */
#ifndef TF_FUZZ_MEMORY_H
#define TF_FUZZ_MEMORY_H

#include "base/file.h"
#include <stdlib.h>
#include <string.h>

static inline struct tf_in memory_in(const void *p, size_t n)
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

static inline void memory_in_done(struct tf_in *in)
{
    free(in->name);
    free(in->buf);
}

static inline struct tf_out memory_out(size_t cap)
{
    return (struct tf_out){.fd = -1, .name = tf_xstrdup("mem"), .buf = tf_xmalloc(cap), .cap = cap};
}

static inline void memory_out_done(struct tf_out *out)
{
    free(out->name);
    free(out->buf);
}

#endif
