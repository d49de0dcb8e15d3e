/* input.c - fill an input's buffer up to a length that comes from the input. */
#include "base/memory.h"
#include "stream/reader_private.h"

#include <string.h>

void tf_in_reserve(struct tf_in *in, size_t need)
{
    enum { LEAST = 64 << 10 };
    if (need <= in->cap)
        return;
    size_t cap = need > 2 * in->cap ? need : 2 * in->cap;
    cap = cap > LEAST ? cap : LEAST;
    if (in->len > in->pos)
        memmove(in->buf, in->buf + in->pos, in->len - in->pos);
    in->offset += in->pos;
    in->len -= in->pos;
    in->pos = 0;
    in->buf = tf_xarray(in->buf, cap, 1);
    in->cap = cap;
}

uint64_t tf_in_left(const struct tf_in *in)
{
    uint64_t at = in->offset + in->pos;
    if (in->size < 0)
        return UINT64_MAX;
    /* A file that has grown since it was opened can be read further than its size. */
    return at < (uint64_t)in->size ? (uint64_t)in->size - at : in->len - in->pos;
}

ssize_t tf_in_have(struct tf_in *in, size_t need, struct tf_err *err)
{
    if (in->eof)
        return (ssize_t)(in->len - in->pos);
    bool held = in->size >= 0 && need <= tf_in_left(in);
    for (;;) {
        size_t have = in->len - in->pos, most = have < TF_MAX_CHECK ? TF_MAX_CHECK : 2 * have,
               step = held || need < most ? need : most;
        tf_in_reserve(in, step);
        ssize_t got = tf_in_fill(in, step, err);
        if (got < (ssize_t)step || step == need)
            return got;
    }
}
