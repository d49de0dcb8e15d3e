/* ngrams_private.h - clipped n-gram matches of one segment: how many n-grams of a hypothesis are
 * found in its references. */
#ifndef TF_METRICS_NGRAMS_PRIVATE_H
#define TF_METRICS_NGRAMS_PRIVATE_H

#include "base/table_hash.h"
#include "text/lines.h"
#include <stdint.h>

enum {
    TF_NGRAM_MAX = 4,          /* the highest order */
    TF_NGRAM_TOKENS = 1 << 24, /* the most tokens in the references of one segment */
};

/* A trie of the references' n-grams up to order 4 in hash tables. The key of an n-gram is the node
 * of its first n-1 tokens and the number of its last token, so that equal keys are equal n-grams;
 * text is compared only to number the tokens. Zero-initialise; reuse from segment to segment. */
struct tf_ngram_node {
    uint32_t token;      /* number of the last token */
    uint32_t max;        /* its highest count in a reference */
    uint32_t ref, count; /* the last reference that has it (from 1), its count there */
    uint32_t hyp;        /* its count in the hypothesis so far */
};
struct tf_ngram_slot {
    uint64_t key;  /* node << 32 | token */
    uint32_t node; /* 0: free */
};
struct tf_ngrams {
    struct tf_ngram_node *nodes; /* from 1 */
    struct tf_text *words;       /* by token number */
    uint64_t *hashes;            /* of the words */
    struct tf_ngram_slot *slots; /* n-grams of 2 tokens and more */
    uint32_t *word_slots;        /* nodes of single tokens; 0: free */
    size_t n, cap, mask;         /* nodes, including nodes[0]; slots - 1 */
    size_t nwords, word_cap, word_mask;
    uint32_t refs;
    struct tf_table_key key;
};
void tf_ngrams_release(struct tf_ngrams *g);

/* Remove everything and make room for references of `tokens` tokens in all (at most
 * TF_NGRAM_TOKENS). The text of added tokens must stay valid until the next start. */
void tf_ngrams_start(struct tf_ngrams *g, size_t tokens);
/* Add one reference. */
void tf_ngrams_add(struct tf_ngrams *g, const struct tf_text *v, size_t n);
/* matches[k - 1] += sum over distinct k-grams of v of min(count in v, highest count in a
 * reference), k = 1..4. Call once after each start. */
void tf_ngrams_match(struct tf_ngrams *g, const struct tf_text *v, size_t n,
                     uint64_t matches[TF_NGRAM_MAX]);

#endif
