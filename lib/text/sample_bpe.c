/* sample_bpe.c - samples of a BPE model: merges in the order of their scores, each skipped with
 * probability alpha. */
#include "base/memory.h"
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

struct merge {
    float score;
    uint32_t left, right, n; /* n: bytes of the two when the merge was found */
    uint32_t node;
};

struct heap {
    struct merge *v;
    size_t n, cap;
};

static bool before(const struct merge *a, const struct merge *b)
{
    return a->score > b->score || (!(a->score < b->score) && a->left < b->left);
}

static void heap_push(struct heap *h, struct merge m)
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

static struct merge heap_pop(struct heap *h)
{
    struct merge top = h->v[0], last = h->v[--h->n];
    size_t i = 0;
    for (;;) {
        size_t k = 2 * i + 1;
        if (k >= h->n)
            break;
        if (k + 1 < h->n && before(&h->v[k + 1], &h->v[k]))
            k++;
        if (!before(&h->v[k], &last))
            break;
        h->v[i] = h->v[k];
        i = k;
    }
    h->v[i] = last;
    return top;
}

/* Add the merge of two neighbours to the heap if the result is a piece. */
static void offer(const struct tf_sampler *s, struct heap *h, const char *text,
                  const struct symbol *sym, uint32_t left, uint32_t right)
{
    if (sym[left].user || sym[right].user)
        return;
    uint32_t n = sym[left].n + sym[right].n;
    uint32_t node = walk(s, sym[left].node, text + sym[right].at, sym[right].n);
    int64_t id = tf_sample_id(&s->prefixes, node);
    if (id >= 0)
        heap_push(h,
                  (struct merge){
                      .score = s->score[id], .left = left, .right = right, .n = n, .node = node});
}

/* The length of the longest user-defined symbol at the start of the text, or 0. */
static size_t user_at(const struct tf_sampler *s, const char *text, size_t n)
{
    size_t longest = 0;
    uint32_t node = TF_SAMPLE_ROOT;
    for (size_t end = 0; s->has_user && end < n;) {
        size_t len = tf_sample_char(text + end, n - end);
        node = tf_sample_next(&s->prefixes, node, text + end, len);
        if (node == 0)
            break;
        end += len;
        int64_t id = tf_sample_id(&s->prefixes, node);
        if (id >= 0 && tf_sp_kind(s->sp, (uint32_t)id) == TF_SP_USER)
            longest = end;
    }
    return longest;
}

void tf_sample_bpe(const struct tf_sampler *s, const char *text, size_t n, double alpha,
                   struct tf_rng *rng, struct tf_ids *ids)
{
    struct symbol *sym = tf_xarray(NULL, n + 1, sizeof *sym);
    uint32_t count = 0;
    for (size_t at = 0; at < n; count++) {
        size_t user = user_at(s, text + at, n - at);
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
    struct heap h = {0};
    for (uint32_t i = 0; i + 1 < count; i++)
        offer(s, &h, text, sym, i, i + 1);
    while (h.n > 0) {
        struct merge m = heap_pop(&h);
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
