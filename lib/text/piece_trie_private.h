/* piece_trie_private.h - texts of pieces as a double array: a step by one byte is one load. The
 * children of a node are at its base ^ byte, where `check` has their parent. Source: Aoe, "An
 * efficient digital search algorithm by using a double-array structure", 1989. */
#ifndef TF_TEXT_PIECE_TRIE_PRIVATE_H
#define TF_TEXT_PIECE_TRIE_PRIVATE_H

#include "text/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TF_NO_PIECE UINT32_MAX

struct tf_piece_node {
    uint32_t base, check; /* check: the parent + 1; 0: a free place */
    uint32_t id;          /* of the piece that ends here, or TF_NO_PIECE */
    float score;
};

/* Zero-initialised has no pieces, and must not be searched. */
struct tf_piece_trie {
    struct tf_piece_node *v;
    size_t n;
};

struct tf_trie_piece {
    struct tf_text text; /* at least one byte; of no use once the trie is built */
    uint32_t id;
    float score;
};

/* Build a trie of n pieces; sorts them. Of equal ones it has one. False: the pieces, made for that,
 * would take many times their size. */
bool tf_piece_trie_build(struct tf_piece_trie *t, struct tf_trie_piece *pieces, size_t n);
void tf_piece_trie_release(struct tf_piece_trie *t);

/* The child of a node by byte c; the root is 0, and so is no child. */
static inline uint32_t tf_piece_next(const struct tf_piece_trie *t, uint32_t node, unsigned char c)
{
    const uint32_t next = t->v[node].base ^ c;
    return t->v[next].check == node + 1 ? next : 0;
}

/* The bytes of the longest piece that the text begins with, and its id; 0: none. */
size_t tf_piece_longest(const struct tf_piece_trie *t, const char *p, size_t n, uint32_t *id);

#endif
