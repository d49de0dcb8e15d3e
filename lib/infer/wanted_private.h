/* wanted_private.h - phrases that an output must contain: a step of beam search with dynamic beam
 * allocation. Sources: M. Post and D. Vilar, "Fast Lexically Constrained Decoding with Dynamic Beam
 * Allocation for Neural Machine Translation", NAACL 2018; J. E. Hu et al., "Improved Lexically
 * Constrained Decoding for Translation and Monolingual Rewriting", NAACL 2019. CPU only.
 *
 * A term is a list of phrases of ids, of which an output needs one. y = y_1 ... y_t contains a
 * phrase that ends a word only where no id follows that continues the word, and one that begins a
 * word only where the id before it does not continue in it.
 *   need(y) = the sum of the shortest phrases of the terms that y does not contain, less the most
 *             that one of their phrases saves: a phrase of n ids whose first d >= 1 end y, where it
 *             may begin, saves shortest - (n - d), if that is more than 0
 *   bank(y) = C - need(y), where C = need of the empty output
 * Where an id that continues a word would take a phrase from y that ends it, need(y) is the lesser
 * of two: y keeps it, and no phrase counts whose next id continues a word; or y does not contain
 * it, and only such phrases count.
 * rest(y), the ids that suffice to complete y, is need(y), and one more if a word must end first:
 * need(y) > 0, y ends within a word, and no phrase that y ends in a part of, or that may begin
 * there, is the first of need(y) ids. (The papers count the ids of phrases met; with one phrase to
 * a term, bank is that number.) The search is that of TF_SEARCH_PAPER (ops/search_state.h) but for
 * the choice of candidates, where the prefix and the limit force none, and C > 0:
 * - y v is a candidate only if t + 1 + rest(y v) <= limit, and an end only if need(y) = 0.
 * - Selected are the best 2K (K = 1: one) of all, of each hypothesis the best, and all v with
 *   need(y v) < need(y).
 * - Those that end are finished as ever. Of the others K stay live: each bank has K / (C + 1),
 *   rounded down, the last also the rest; what a bank has no candidates for goes to the next lower
 *   one; what is left after bank 0 to the highest banks that have more candidates. Each bank takes
 *   its best. One that cannot be among the N results (point 5 there) takes its place and is
 *   dropped, so that with another N outputs may differ.
 * With `sums` the score is logp, whatever alpha and normalize are: tokens that the model would not
 * say cost so much that a mean prefers a long output, whose other tokens dilute them. */
#ifndef TF_INFER_WANTED_PRIVATE_H
#define TF_INFER_WANTED_PRIVATE_H

#include "ops/search_state.h"

struct tf_wanted_phrase {
    const uint32_t *ids;
    size_t n;  /* >= 1 */
    bool edge; /* it ends a word, or in a vocabulary with `after` begins one */
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

/* Which ids continue the word before them, or with `after` which ones the word continues after:
 * [n]. No phrase begins, or with `after` ends, with one. */
struct tf_continues {
    const bool *v;
    size_t n;
    bool after;
};

/* rest of the t ids y. */
size_t tf_wanted_rest(const struct tf_wanted *w, struct tf_continues c, const uint32_t *y,
                      size_t t);

/* Of a search: the beam of sentences without terms, at least N and at most K, and the scores of
 * others. */
struct tf_wanted_rule {
    size_t plain;
    bool sums;
};

/* In place of search_step, with log-probabilities lp [rows, V]; wanted: of each sentence. Its limit
 * must be at least its prefix and the rest of that. */
void tf_wanted_step(const struct tf_wanted *const *wanted, struct tf_continues c,
                    struct tf_wanted_rule rule, struct tf_search *q, tf_mem *lp);

#endif
