/* ngrams.c - see ngrams_private.h. Open addressing; the tables are sized for the segment, at most
 * half full. */
#include "metrics/ngrams_private.h"
#include "base/memory.h"
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

void tf_ngrams_release(struct tf_ngrams *g)
{
    free(g->nodes);
    free(g->words);
    free(g->hashes);
    free(g->slots);
    free(g->word_slots);
    *g = (struct tf_ngrams){0};
}

void tf_ngrams_start(struct tf_ngrams *g, size_t tokens)
{
    TF_ASSERT(tokens <= TF_NGRAM_TOKENS);
    size_t nodes = TF_NGRAM_MAX * tokens + 1;
    if (nodes > g->cap) {
        g->word_cap = tokens < 256 ? 256 : tokens;
        g->cap = TF_NGRAM_MAX * g->word_cap + 1;
        g->nodes = tf_xarray(g->nodes, g->cap, sizeof *g->nodes);
        g->words = tf_xarray(g->words, g->word_cap, sizeof *g->words);
        g->hashes = tf_xarray(g->hashes, g->word_cap, sizeof *g->hashes);
        g->slots = tf_xarray(g->slots, tf_table_slots(g->cap), sizeof *g->slots);
        g->word_slots =
            tf_xarray(g->word_slots, tf_table_slots(g->word_cap), sizeof *g->word_slots);
    }
    size_t slots = tf_table_slots(nodes), word_slots = tf_table_slots(tokens);
    memset(g->slots, 0, slots * sizeof *g->slots);
    memset(g->word_slots, 0, word_slots * sizeof *g->word_slots);
    g->mask = slots - 1;
    g->word_mask = word_slots - 1;
    g->n = 1;
    g->nwords = 0;
    g->refs = 0;
    g->key = tf_table_key();
}

static uint32_t new_node(struct tf_ngrams *g, uint32_t token)
{
    g->nodes[g->n] = (struct tf_ngram_node){.token = token};
    return (uint32_t)g->n++;
}

/* The node of a single token, or 0 when no reference has it and add is false. */
static uint32_t first(struct tf_ngrams *g, struct tf_text s, bool add)
{
    uint64_t h = tf_table_hash_text(g->key, s.p, s.n);
    size_t i = h & g->word_mask;
    for (; g->word_slots[i]; i = (i + 1) & g->word_mask) {
        uint32_t w = g->nodes[g->word_slots[i]].token;
        if (g->hashes[w] == h && g->words[w].n == s.n && memcmp(g->words[w].p, s.p, s.n) == 0)
            return g->word_slots[i];
    }
    if (!add)
        return 0;
    g->words[g->nwords] = s;
    g->hashes[g->nwords] = h;
    return g->word_slots[i] = new_node(g, (uint32_t)g->nwords++);
}

/* The child of a node for a token, or 0 when there is none and add is false. */
static uint32_t child(struct tf_ngrams *g, uint32_t parent, uint32_t token, bool add)
{
    uint64_t key = (uint64_t)parent << 32 | token;
    size_t i = (size_t)tf_table_hash(g->key, key) & g->mask;
    for (; g->slots[i].node; i = (i + 1) & g->mask)
        if (g->slots[i].key == key)
            return g->slots[i].node;
    if (!add)
        return 0;
    g->slots[i].key = key;
    return g->slots[i].node = new_node(g, token);
}

static void count(struct tf_ngrams *g, uint32_t at, uint32_t ref)
{
    struct tf_ngram_node *x = &g->nodes[at];
    x->count = x->ref == ref ? x->count + 1 : 1;
    x->ref = ref;
    if (x->count > x->max)
        x->max = x->count;
}

/* Each token ends one n-gram of each order, whose prefix is a node that ended at the previous
 * token. */
void tf_ngrams_add(struct tf_ngrams *g, const struct tf_text *v, size_t n)
{
    uint32_t ends[TF_NGRAM_MAX] = {0}; /* ends[k]: the node of the k tokens up to here, k >= 1 */
    uint32_t ref = ++g->refs;
    for (size_t i = 0; i < n; i++) {
        uint32_t one = first(g, v[i], true), token = g->nodes[one].token;
        for (size_t k = i + 1 < TF_NGRAM_MAX ? i + 1 : TF_NGRAM_MAX; k > 1; k--) {
            uint32_t at = child(g, ends[k - 1], token, true);
            count(g, at, ref);
            if (k < TF_NGRAM_MAX)
                ends[k] = at;
        }
        count(g, one, ref);
        ends[1] = one;
    }
}

static void match(struct tf_ngrams *g, uint32_t at, uint64_t *matches)
{
    if (++g->nodes[at].hyp <= g->nodes[at].max)
        ++*matches;
}

void tf_ngrams_match(struct tf_ngrams *g, const struct tf_text *v, size_t n,
                     uint64_t matches[TF_NGRAM_MAX])
{
    uint32_t ends[TF_NGRAM_MAX] = {0};
    /* the longest n-gram of a reference that ends at the previous token; ends[1 .. known] are set
     */
    size_t known = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t one = first(g, v[i], false);
        if (!one) {
            known = 0;
            continue;
        }
        size_t found = 1;
        for (size_t k = known + 1 < TF_NGRAM_MAX ? known + 1 : TF_NGRAM_MAX; k > 1; k--) {
            uint32_t at = child(g, ends[k - 1], g->nodes[one].token, false);
            if (!at)
                continue;
            match(g, at, &matches[k - 1]);
            if (k > found)
                found = k;
            if (k < TF_NGRAM_MAX)
                ends[k] = at;
        }
        match(g, one, &matches[0]);
        ends[1] = one;
        known = found;
    }
}
