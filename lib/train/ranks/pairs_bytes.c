/* pairs_bytes.c - see pairs_bytes_private.h. */
#include "train/ranks/pairs_bytes_private.h"
#include "base/memory.h"

#include <string.h>

/* What precedes the arrays: without padding, since it is sent as it is. */
struct head {
    uint64_t n, src, tgt, links, longest, weighted;
    struct tf_guide guide;
};

typedef void array_fn(void *arg, void *array, size_t bytes);

/* Call f for each array of p. */
static void each_array(const struct tf_pairs *p, const struct head *h, array_fn *f, void *arg)
{
    const size_t id = sizeof(uint32_t);
    f(arg, p->src_off, (h->n + 1) * id);
    f(arg, p->tgt_off, (h->n + 1) * id);
    f(arg, p->src, h->src * id);
    f(arg, p->tgt_in, h->tgt * id);
    f(arg, p->tgt_out, h->tgt * id);
    if (h->guide.weight > 0) {
        f(arg, p->link_off, (h->tgt + 1) * id);
        f(arg, p->link_at, h->links * id);
    }
    if (h->weighted)
        f(arg, p->weights, h->tgt * sizeof *p->weights);
}

static void put_array(void *buf, void *array, size_t bytes)
{
    tf_buf_add(buf, array, bytes);
}

static void get_array(void *at, void *array, size_t bytes)
{
    const char **from = at;
    memcpy(array, *from, bytes);
    *from += bytes;
}

void tf_pairs_put(struct tf_buf *b, const struct tf_pairs *p)
{
    const size_t tgt = p->tgt_off[p->n];
    const struct head h = {.n = p->n,
                           .src = p->src_off[p->n],
                           .tgt = tgt,
                           .links = p->guide.weight > 0 ? p->link_off[tgt] : 0,
                           .longest = p->longest,
                           .weighted = p->weighted,
                           .guide = p->guide};
    tf_buf_add(b, &h, sizeof h);
    each_array(p, &h, put_array, b);
}

void tf_pairs_get(struct tf_pairs *p, const void *bytes)
{
    struct head h;
    memcpy(&h, bytes, sizeof h);
    p->n = h.n;
    p->longest = h.longest;
    p->weighted = h.weighted;
    p->guide = h.guide;
    tf_pairs_reserve(p, h.n, h.src, h.tgt);
    if (h.guide.weight > 0) {
        p->link_off = tf_xarray(p->link_off, h.tgt + 1, sizeof *p->link_off);
        p->link_at = tf_xarray(p->link_at, h.links + 1, sizeof *p->link_at);
    }
    if (h.weighted)
        p->weights = tf_xarray(p->weights, h.tgt, sizeof *p->weights);
    const char *at = (const char *)bytes + sizeof h;
    each_array(p, &h, get_array, &at);
}
