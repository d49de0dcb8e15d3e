/* merge_heap_private.h - the possible merges of neighbours in a text, for BPE: those of the highest
 * score first, of equal ones the first in the text. */
#ifndef TF_TEXT_MERGE_HEAP_PRIVATE_H
#define TF_TEXT_MERGE_HEAP_PRIVATE_H

#include <stddef.h>
#include <stdint.h>

struct tf_merge {
    float score;
    uint32_t left, right, n; /* two symbols; the bytes of both when the merge was found */
    uint32_t node;           /* of the text of both in a trie of pieces */
};

/* Zero-initialised is empty. To be freed: v. */
struct tf_merge_heap {
    struct tf_merge *v;
    size_t n, cap;
};

void tf_merge_push(struct tf_merge_heap *h, struct tf_merge m);
/* Take the first one; the heap is not empty. */
struct tf_merge tf_merge_pop(struct tf_merge_heap *h);

#endif
