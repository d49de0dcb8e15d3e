/* merge_heap_private.h - the possible merges of neighbours in a text, for BPE, in their order. */
#ifndef TF_TEXT_MERGE_HEAP_PRIVATE_H
#define TF_TEXT_MERGE_HEAP_PRIVATE_H

#include "base/memory.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct tf_merge {
    uint64_t order; /* the rank of the merge, then the index of the left symbol */
    uint32_t n;     /* bytes of both symbols when the merge was found */
    uint32_t node;  /* of the text of both in a trie of pieces */
};

/* Zero-initialised is empty. To be freed: v. */
struct tf_merge_heap {
    struct tf_merge *v;
    size_t n, cap;
};

/* The order by which merges of the highest score come first, of equal ones the first in the text.
 */
static inline uint64_t tf_merge_order(float score, uint32_t left)
{
    uint32_t u;
    score += 0.0f; /* -0 is 0 */
    memcpy(&u, &score, sizeof u);
    return (uint64_t)(u >> 31 ? u : ~u & 0x7fffffff) << 32 | left;
}

static inline void tf_merge_push(struct tf_merge_heap *h, struct tf_merge m)
{
    TF_GROW(h->v, h->n, h->cap);
    size_t i = h->n++;
    for (; i > 0 && m.order < h->v[(i - 1) / 2].order; i = (i - 1) / 2)
        h->v[i] = h->v[(i - 1) / 2];
    h->v[i] = m;
}

/* Take the first one; the heap is not empty. */
static inline struct tf_merge tf_merge_pop(struct tf_merge_heap *h)
{
    struct tf_merge *v = h->v, top = v[0], last = v[--h->n];
    size_t i = 0;
    for (size_t k; (k = 2 * i + 1) < h->n; i = k) {
        k += k + 1 < h->n && v[k + 1].order < v[k].order;
        if (v[k].order >= last.order)
            break;
        v[i] = v[k];
    }
    v[i] = last;
    return top;
}

#endif
