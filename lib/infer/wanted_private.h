/* wanted_private.h - phrases that an output must contain: a step of beam search with dynamic beam
 * allocation. Sources: M. Post and D. Vilar, "Fast Lexically Constrained Decoding with Dynamic Beam
 * Allocation for Neural Machine Translation", NAACL 2018; J. E. Hu et al., "Improved Lexically
 * Constrained Decoding for Translation and Monolingual Rewriting", NAACL 2019. CPU only.
 *
 * A term is a list of phrases of ids, of which an output needs one. y = y_1 ... y_t contains a
 * phrase that ends a word only where no id follows that continues the word.
 *   need(y) = the sum of the shortest phrases of the terms that y does not contain, less the most
 *             that one of their phrases saves: a phrase of n ids whose first d >= 1 end y saves
 *             shortest - (n - d), if that is more than 0
 *   bank(y) = C - need(y), where C = need of the empty output
 * Where an id that continues a word would take a phrase from y that ends it, need(y) is the lesser
 * of two: y keeps it, and no phrase counts whose next id continues a word; or y does not contain
 * it, and only such phrases count.
 * Ids of need(y) suffice to complete y. (The papers count the ids of phrases met; with one phrase
 * to a term, bank is that number.) The search is that of TF_SEARCH_PAPER (ops/search_state.h) but
 * for the choice of candidates, where the prefix and the limit force none, and C > 0:
 * - y v is a candidate only if t + 1 + need(y v) <= limit, and an end only if need(y) = 0.
 * - Selected are the best 2K (K = 1: one) of all, of each hypothesis the best, and all v with
 *   need(y v) < need(y).
 * - Those that end are finished as ever. Of the others K stay live: each bank has K / (C + 1),
 *   rounded down, the last also the rest; what a bank has no candidates for goes to the next lower
 *   one; what is left after bank 0 to the highest banks that have more candidates. Each bank takes
 *   its best.
 * With `sums` the score is logp, whatever alpha and normalize are: tokens that the model would not
 * say cost so much that a mean prefers a long output, whose other tokens dilute them. */
#ifndef TF_INFER_WANTED_PRIVATE_H
#define TF_INFER_WANTED_PRIVATE_H

#include "ops/search_state.h"

struct tf_wanted_phrase {
    const uint32_t *ids;
    size_t n;       /* >= 1 */
    bool ends_word; /* with its last id, unless one follows that continues it */
};

struct tf_wanted_term {
    const struct tf_wanted_phrase *v; /* n >= 1 */
    size_t n, shortest;               /* ids of the shortest */
};

/* The terms of a sentence. Zero: none. */
struct tf_wanted {
    const struct tf_wanted_term *v;
    size_t n;
};

/* Which ids continue a word: [n]. */
struct tf_continues {
    const bool *v;
    size_t n;
};

/* need of the t ids y. */
size_t tf_wanted_need(const struct tf_wanted *w, struct tf_continues c, const uint32_t *y,
                      size_t t);

/* Of a search: the beam of sentences without terms, at least N and at most K, and the scores of
 * others. */
struct tf_wanted_rule {
    size_t plain;
    bool sums;
};

/* In place of search_step, with log-probabilities lp [rows, V]; wanted: of each sentence. Its limit
 * must be at least its prefix and need of the empty output. */
void tf_wanted_step(const struct tf_wanted *const *wanted, struct tf_continues c,
                    struct tf_wanted_rule rule, struct tf_search *q, tf_mem *lp);

#endif
