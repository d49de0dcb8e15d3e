/* sample_bpe.c - samples of a BPE model: merges in the order of their scores, each skipped with
 * probability alpha. */
#include "base/memory.h"
#include "text/merge_heap_private.h"
#include "text/sample_pieces_private.h"
#include "text/sample_private.h"
#include <stdlib.h>

/* The node of a text, continued by n bytes; 0: no piece begins so. */
static uint32_t walk(const struct tf_sampler *s, uint32_t node, const char *p, size_t n)
{
    for (size_t done = 0; node != 0 && done < n;) {
        size_t len = tf_sample_char(p + done, n - done);
        node = tf_sample_next(&s->prefixes, node, p + done, len);
        done += len;
    }
    return node;
}

struct symbol {
    uint32_t at, n;      /* offset and bytes; n = 0: merged into the one before */
    uint32_t prev, next; /* + 1 */
    uint32_t node;
    bool user; /* user-defined: never merged */
};

/* Add the merge of two neighbours to the heap if the result is a piece. */
static void offer(const struct tf_sampler *s, struct tf_merge_heap *h, const char *text,
                  const struct symbol *sym, uint32_t left, uint32_t right)
{
    if (sym[left].user || sym[right].user)
        return;
    uint32_t n = sym[left].n + sym[right].n;
    uint32_t node = walk(s, sym[left].node, text + sym[right].at, sym[right].n);
    int64_t id = tf_sample_id(&s->prefixes, node);
    if (id >= 0)
        tf_merge_push(h, (struct tf_merge){.score = s->score[id],
                                           .left = left,
                                           .right = right,
                                           .n = n,
                                           .node = node});
}

void tf_sample_bpe(const struct tf_sampler *s, const char *text, size_t n, double alpha,
                   struct tf_rng *rng, struct tf_ids *ids)
{
    struct symbol *sym = tf_xarray(NULL, n + 1, sizeof *sym);
    uint32_t count = 0;
    for (size_t at = 0; at < n; count++) {
        size_t user = tf_sample_user(s, text + at, n - at, &(uint32_t){0});
        size_t len = user > 0 ? user : tf_sample_char(text + at, n - at);
        sym[count] = (struct symbol){.at = (uint32_t)at,
                                     .n = (uint32_t)len,
                                     .prev = count,
                                     .next = count + 2,
                                     .user = user > 0};
        sym[count].node = walk(s, TF_SAMPLE_ROOT, text + at, len);
        at += len;
    }
    if (count > 0)
        sym[count - 1].next = 0;
    struct tf_merge_heap h = {0};
    for (uint32_t i = 0; i + 1 < count; i++)
        offer(s, &h, text, sym, i, i + 1);
    while (h.n > 0) {
        struct tf_merge m = tf_merge_pop(&h);
        struct symbol *left = &sym[m.left], *right = &sym[m.right];
        if (left->n == 0 || right->n == 0 || left->n + right->n != m.n)
            continue;
        if (alpha > 0 && tf_rng_real(rng) < alpha)
            continue;
        left->n = m.n;
        left->node = m.node;
        left->next = right->next;
        right->n = 0;
        if (left->next > 0)
            sym[left->next - 1].prev = m.left + 1;
        if (left->prev > 0)
            offer(s, &h, text, sym, left->prev - 1, m.left);
        if (left->next > 0)
            offer(s, &h, text, sym, m.left, left->next - 1);
    }
    bool after_unknown = false;
    for (uint32_t i = 0; i < count; i++)
        if (sym[i].n > 0)
            tf_sample_put(s, ids, tf_sample_id(&s->prefixes, sym[i].node), text + sym[i].at,
                          sym[i].n, &after_unknown);
    free(h.v);
    free(sym);
}
