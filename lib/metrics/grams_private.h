/* grams_private.h - the n-grams of sequences of symbols. An n-gram is the number of its first n - 1
 * symbols and its last symbol, so that equal pairs are equal n-grams. */
#ifndef TF_METRICS_GRAMS_PRIVATE_H
#define TF_METRICS_GRAMS_PRIVATE_H

#include "base/table_hash.h"

/* Numbers of n-grams, in open addressing. Zero-initialise. */
struct tf_gram_slot {
    uint64_t key;  /* tf_gram_key */
    uint32_t gram; /* its number, from 1 on; 0: free */
};
struct tf_gram_table {
    struct tf_gram_slot *slot;
    size_t mask, cap;
    struct tf_table_key key;
};
/* Remove everything and make room for n n-grams. */
void tf_gram_table_start(struct tf_gram_table *t, size_t n);

static inline uint64_t tf_gram_key(uint32_t begin, uint32_t symbol)
{
    return (uint64_t)begin << 32 | symbol;
}

/* The slot of an n-gram; a free one if it is new. */
static inline struct tf_gram_slot *tf_gram_find(const struct tf_gram_table *t, uint64_t key)
{
    size_t i = (size_t)tf_table_hash(t->key, key) & t->mask;
    while (t->slot[i].gram && t->slot[i].key != key)
        i = (i + 1) & t->mask;
    return &t->slot[i];
}

struct tf_symbols {
    const uint32_t *v;
    size_t n;
};

/* Matches of n-grams, order by order; each order has numbers of its own. Zero-initialise; reuse
 * from segment to segment. */
struct tf_grams {
    struct tf_gram_table table;
    uint32_t *left;         /* per n-gram: occurrences in the references not matched yet */
    uint32_t *count, *last; /* of several references: how often the last one that has it has it */
    uint32_t *hyp, *ref;    /* the n-gram that begins at each place */
    size_t room;
};
void tf_grams_release(struct tf_grams *g);
/* matches[k - 1] += sum over k-grams of min(count in hyp, highest count in a reference), k = 1 ..
 * orders. */
void tf_grams_match(struct tf_grams *g, struct tf_symbols hyp, const struct tf_symbols *refs,
                    size_t nrefs, size_t orders, uint32_t *matches);

#endif
