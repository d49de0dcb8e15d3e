/* intern.h - numbers for pieces of text, so that equal text is an equal number; and the table of
 * pairs behind counts of n-grams. */
#ifndef TF_METRICS_INTERN_H
#define TF_METRICS_INTERN_H

#include "metrics/lines.h"

/* Text to numbers from 0. Zero-initialise; start anew for each segment. Text must outlive its
 * use. */
struct tf_intern {
    struct tf_text *text; /* of each number */
    uint64_t *hash;
    uint32_t *slot; /* number + 1; 0: free */
    size_t n, cap, mask;
};
/* Forget everything and make room for n pieces. */
void tf_intern_start(struct tf_intern *t, size_t n);
uint32_t tf_intern(struct tf_intern *t, struct tf_text s);
void tf_intern_release(struct tf_intern *t);

/* Matches of n-grams of two sequences of symbols, order by order: an n-gram is the pair of the
 * (n-1)-gram it begins with and its last symbol, and each order gives its n-grams numbers of their
 * own. Zero-initialise. */
struct tf_grams {
    struct tf_gram_slot *slot;
    size_t mask, cap;
    uint32_t *left; /* of each n-gram: what the hypothesis may still match */
    uint32_t *hyp, *ref; /* number of the n-gram that begins at each place */
    size_t room;
};
/* matches[k - 1] += sum over k-grams of min(count in hyp, count in ref), k = 1 .. orders. */
void tf_grams_match(struct tf_grams *g, const uint32_t *hyp, size_t nh, const uint32_t *ref,
                    size_t nr, int orders, uint32_t *matches);
void tf_grams_release(struct tf_grams *g);

#endif
