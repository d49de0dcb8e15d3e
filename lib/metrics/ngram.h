/* ngram.h - counts of n-grams of one segment: what the references have of each, and how much of it
 * a hypothesis matches. */
#ifndef TF_METRICS_NGRAM_H
#define TF_METRICS_NGRAM_H

#include "text/lines.h"
#include <stdint.h>

enum {
    TF_NGRAM_MAX = 4,          /* the highest order */
    TF_NGRAM_TOKENS = 1 << 24, /* in the references of one segment */
};

/* A trie of the references' n-grams up to order 4, kept in hash tables. The key of an n-gram is the
 * node of all but its last token, and that token's number, so that equal keys are equal n-grams;
 * text is compared once, where a token gets its number. Zero-initialise; reuse from segment to
 * segment. */
struct tf_ngram_node {
    uint32_t token;      /* number of the last token */
    uint32_t max;        /* the most that any reference has of the n-gram */
    uint32_t ref, count; /* the latest reference that has it (from 1), and how many */
    uint32_t hyp;        /* taken by the hypothesis */
};
struct tf_ngram_slot {
    uint64_t key;  /* node << 32 | token */
    uint32_t node; /* 0: free */
};
struct tf_ngrams {
    struct tf_ngram_node *nodes;  /* from 1 */
    struct tf_text *words;        /* text of each token */
    uint64_t *hashes;             /* of it */
    struct tf_ngram_slot *slots;  /* n-grams of 2 tokens and more */
    uint32_t *word_slots;         /* nodes of single tokens; 0: free */
    size_t n, cap, mask;          /* nodes with nodes[0]; slots - 1 */
    size_t nwords, word_cap, word_mask;
    uint32_t refs;
};
void tf_ngrams_release(struct tf_ngrams *g);

/* Forget everything, and make room for references of `tokens` tokens in all (at most
 * TF_NGRAM_TOKENS). Text of added tokens must outlive its use here. */
void tf_ngrams_start(struct tf_ngrams *g, size_t tokens);
/* Add one reference. */
void tf_ngrams_add(struct tf_ngrams *g, const struct tf_text *v, size_t n);
/* matches[k - 1] += sum over distinct k-grams of v of min(count in v, greatest count in a
 * reference), k = 1..4. Once after each start. */
void tf_ngrams_match(struct tf_ngrams *g, const struct tf_text *v, size_t n,
                     uint64_t matches[TF_NGRAM_MAX]);

#endif
