/* sample_pieces_private.h - a vocabulary prepared for sampling: pieces by text. Shared by the files
 * of sample_private.h. */
#ifndef TF_TEXT_SAMPLE_PIECES_PRIVATE_H
#define TF_TEXT_SAMPLE_PIECES_PRIVATE_H

#include "base/rng.h"
#include "base/table_hash.h"
#include "base/utf8.h"
#include "text/sp_private.h"

/* The pieces as a trie, whose nodes are in a hash table by parent and character: one step costs the
 * same however long the text before it is. A node is named by its slot plus TF_SAMPLE_NODES; 0 is
 * none. */
enum { TF_SAMPLE_ROOT = 1, TF_SAMPLE_NODES = 2 };
struct tf_sample_node {
    uint32_t parent; /* 0: a free slot */
    uint32_t c;      /* the bytes of the character */
    int64_t id;      /* -1: only a part of pieces */
};
struct tf_sample_trie {
    struct tf_sample_node *nodes;
    size_t mask;
    struct tf_table_key key;
};

struct tf_sampler {
    const struct tf_sp *sp;
    struct tf_sample_trie prefixes; /* from the first character on */
    struct tf_sample_trie suffixes; /* from the last one back, for unigram models */
    float *score;                   /* by id */
    double unknown_score;
    uint32_t unk;
    uint32_t nested; /* most pieces that begin with each other */
    bool has_bytes, has_user; /* has byte pieces for all bytes; has user-defined symbols */
    bool renumbered;          /* tf_sp_renumbered */
    uint32_t byte_id[256];
};

/* For at most so many nodes. */
void tf_sample_trie_new(struct tf_sample_trie *t, size_t most);
/* Add a piece, which is not empty; backward: from its last character to the first. */
void tf_sample_add(struct tf_sample_trie *t, uint32_t id, const char *p, size_t n, bool backward);
/* The child of a node by the character of len bytes at p; 0: none. */
uint32_t tf_sample_next(const struct tf_sample_trie *t, uint32_t node, const char *p, size_t len);
/* The id of the piece that ends in a node; -1: none does, or node is 0. */
static inline int64_t tf_sample_id(const struct tf_sample_trie *t, uint32_t node)
{
    return node > TF_SAMPLE_ROOT ? t->nodes[node - TF_SAMPLE_NODES].id : -1;
}

static inline uint32_t tf_sample_code(const char *p, size_t len)
{
    uint32_t c = 0;
    for (size_t i = 0; i < len; i++)
        c = c << 8 | (unsigned char)p[i];
    return c;
}

/* The length of the character at p. A byte that begins none, which can only follow byte pieces,
 * counts as one. */
static inline size_t tf_sample_char(const char *p, size_t n)
{
    size_t len = tf_utf8_at(p, n);
    return len > 0 ? len : 1;
}

/* The length of the character that ends before p[n]. */
static inline size_t tf_sample_char_before(const char *p, size_t n)
{
    size_t len = 1;
    while (len < 4 && len < n && ((unsigned char)p[n - len] & 0xc0) == 0x80)
        len++;
    return tf_utf8_at(p + n - len, len) == len ? len : 1;
}

/* Append a piece to ids. id -1: unknown text p, which becomes its bytes if the vocabulary has byte
 * pieces, else joins the unknown piece before it. *after_unknown: whether the last piece was
 * unknown. */
void tf_sample_put(const struct tf_sampler *s, struct tf_ids *ids, int64_t id, const char *p,
                   size_t n, bool *after_unknown);

#endif
