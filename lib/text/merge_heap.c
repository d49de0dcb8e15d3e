/* merge_heap.c - see merge_heap_private.h. */
#include "text/merge_heap_private.h"
#include "base/memory.h"

#include <stdbool.h>

static bool before(const struct tf_merge *a, const struct tf_merge *b)
{
    return a->score > b->score || (!(a->score < b->score) && a->left < b->left);
}

void tf_merge_push(struct tf_merge_heap *h, struct tf_merge m)
{
    if (h->n == h->cap) {
        h->cap = h->cap ? h->cap * 2 : 256;
        h->v = tf_xarray(h->v, h->cap, sizeof *h->v);
    }
    size_t i = h->n++;
    for (; i > 0 && before(&m, &h->v[(i - 1) / 2]); i = (i - 1) / 2)
        h->v[i] = h->v[(i - 1) / 2];
    h->v[i] = m;
}

struct tf_merge tf_merge_pop(struct tf_merge_heap *h)
{
    struct tf_merge *v = h->v, top = v[0], last = v[--h->n];
    size_t i = 0;
    for (size_t k; (k = 2 * i + 1) < h->n; i = k) {
        if (k + 1 < h->n && before(&v[k + 1], &v[k]))
            k++;
        if (!before(&v[k], &last))
            break;
        v[i] = v[k];
    }
    v[i] = last;
    return top;
}
