/* piece_trie.c - see piece_trie_private.h. Places come in blocks of 256, so that base ^ byte stays
 * in a block. The free ones are a ring: base is the next, id the one before. */
#include "text/piece_trie_private.h"
#include "base/memory.h"

#include <stdlib.h>

/* Places to try for the children of a node. The search for the next one begins where this one
 * ended, so that building takes linear time whatever the pieces are. */
enum { BLOCK = 256, TRIES = 64 };

/* Pieces that begin with the same `depth` bytes, which lead to a node. */
struct range {
    uint32_t node, from, to, depth;
};

struct builder {
    struct tf_piece_node *v;
    size_t n, cap, free; /* free: how many places */
    uint32_t next;       /* a free place, if there is one */
    const struct tf_trie_piece *pieces;
    struct range *stack;
    size_t depth, stack_cap;
};

static void add_block(struct builder *b)
{
    const uint32_t first = (uint32_t)b->n, last = first + BLOCK - 1;
    b->n += BLOCK;
    if (b->n > b->cap) {
        b->cap = b->n + b->n / 2;
        b->v = tf_xarray(b->v, b->cap, sizeof *b->v);
    }
    for (uint32_t i = first; i <= last; i++)
        b->v[i] = (struct tf_piece_node){.base = i + 1, .id = i - 1};
    const uint32_t after = b->free > 0 ? b->next : first;
    const uint32_t before = b->free > 0 ? b->v[after].id : last;
    b->v[last].base = after;
    b->v[after].id = last;
    b->v[before].base = first;
    b->v[first].id = before;
    b->next = first;
    b->free += BLOCK;
}

static void take_place(struct builder *b, uint32_t place, uint32_t check)
{
    struct tf_piece_node *node = &b->v[place];
    b->v[node->id].base = node->base;
    b->v[node->base].id = node->id;
    if (b->next == place)
        b->next = node->base;
    b->free--;
    *node = (struct tf_piece_node){.check = check, .id = TF_NO_PIECE};
}

/* A base at which the places of these n bytes are free. */
static uint32_t find_base(struct builder *b, const uint8_t *bytes, size_t n)
{
    for (size_t tries = 0; tries < TRIES && tries < b->free; tries++) {
        const uint32_t base = b->next ^ bytes[0];
        size_t i = 1;
        while (i < n && b->v[base ^ bytes[i]].check == 0)
            i++;
        if (i == n)
            return base;
        b->next = b->v[b->next].base;
    }
    add_block(b);
    return (uint32_t)b->n - BLOCK;
}

static void push_range(struct builder *b, struct range r)
{
    TF_GROW(b->stack, b->depth, b->stack_cap);
    b->stack[b->depth++] = r;
}

static uint8_t byte_of(const struct builder *b, uint32_t piece, uint32_t depth)
{
    return (uint8_t)b->pieces[piece].text.p[depth];
}

/* Place the children of a node. */
static void expand(struct builder *b, struct range r)
{
    uint8_t bytes[256];
    size_t n = 0;
    while (r.from < r.to && b->pieces[r.from].text.n == r.depth) {
        b->v[r.node].id = b->pieces[r.from].id;
        b->v[r.node].score = b->pieces[r.from].score;
        r.from++;
    }
    for (uint32_t i = r.from; i < r.to; i++)
        if (n == 0 || bytes[n - 1] != byte_of(b, i, r.depth))
            bytes[n++] = byte_of(b, i, r.depth);
    if (n == 0)
        return;
    const uint32_t base = find_base(b, bytes, n);
    b->v[r.node].base = base;
    for (size_t k = 0; k < n; k++) {
        struct range child = {base ^ bytes[k], r.from, r.from, r.depth + 1};
        while (child.to < r.to && byte_of(b, child.to, r.depth) == bytes[k])
            child.to++;
        r.from = child.to;
        take_place(b, child.node, r.node + 1);
        push_range(b, child);
    }
}

bool tf_piece_trie_build(struct tf_piece_trie *t, struct tf_trie_piece *pieces, size_t n)
{
    struct builder b = {.pieces = pieces};
    size_t most = 1 << 16; /* places */
    *t = (struct tf_piece_trie){0};
    if (n > 1)
        qsort(pieces, n, sizeof *pieces, tf_text_compare);
    for (size_t i = 0; i < n; i++)
        most += 4 * pieces[i].text.n;
    add_block(&b);
    take_place(&b, 0, UINT32_MAX); /* the root is no child */
    if (n > 0)
        push_range(&b, (struct range){0, 0, (uint32_t)n, 0});
    while (b.depth > 0 && b.n <= most)
        expand(&b, b.stack[--b.depth]);
    for (size_t i = 0; i < b.n; i++)
        if (b.v[i].check == 0)
            b.v[i] = (struct tf_piece_node){.id = TF_NO_PIECE};
    free(b.stack);
    t->v = b.v;
    t->n = b.n;
    if (b.n <= most)
        return true;
    tf_piece_trie_release(t);
    return false;
}

void tf_piece_trie_release(struct tf_piece_trie *t)
{
    free(t->v);
    *t = (struct tf_piece_trie){0};
}

size_t tf_piece_longest(const struct tf_piece_trie *t, const char *p, size_t n, uint32_t *id)
{
    size_t longest = 0;
    uint32_t node = 0;
    for (size_t i = 0; i < n && (node = tf_piece_next(t, node, (unsigned char)p[i])) != 0; i++)
        if (t->v[node].id != TF_NO_PIECE) {
            longest = i + 1;
            *id = t->v[node].id;
        }
    return longest;
}
