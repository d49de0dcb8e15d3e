/* chrf.h - chrF (Popovic, "chrF: character n-gram F-score for automatic MT evaluation", WMT 2015)
 * and chrF++ (Popovic, WMT 2017) as sacreBLEU 2.6 computes them. */
#ifndef TF_METRICS_CHRF_H
#define TF_METRICS_CHRF_H

#include "metrics/arith.h"
#include "metrics/intern.h"
#include "metrics/tokenize.h"

enum { TF_CHRF_MAX = 64 }; /* the highest order of either kind */

struct tf_chrf_opts {
    int chars, words; /* greatest orders; 6 and 0, or 2 for chrF++ */
    int beta;         /* weight of recall */
    bool lowercase, whitespace; /* whitespace: white space counts as characters */
    bool eps;                   /* mean of the orders' own F, empty ones included */
};

/* Matches of n-grams of two sequences of symbols, order by order: an n-gram is the pair of the
 * (n-1)-gram it begins with and its last symbol, and each order gives its n-grams numbers of their
 * own. */
struct tf_chrf_grams {
    struct tf_chrf_slot *slot;
    size_t mask, cap;
    uint32_t *left; /* of each n-gram: what the hypothesis may still match */
    uint32_t *hyp, *ref; /* number of the n-gram that begins at each place */
    size_t room;
};

/* Statistics of one segment after another. Zero-initialise and set opts. A segment has 3 counts an
 * order, characters first: n-grams of the hypothesis (0 where the reference has none of the order),
 * of the reference, matches. */
struct tf_chrf {
    struct tf_chrf_opts opts;
    struct tf_chrf_side {
        struct tf_buf lower;
        uint32_t *chars, *words;
        struct tf_text *text;
        size_t nchars, nwords, char_cap, word_cap;
    } hyp, ref;
    struct tf_intern intern;
    struct tf_chrf_grams grams;
    uint32_t *stats, *matches; /* of one reference */
};
void tf_chrf_release(struct tf_chrf *c);
/* counts (3 * (chars + words)) of the hypothesis against that of its references with the greatest
 * F, the first of several. */
void tf_chrf_segment(struct tf_chrf *c, uint32_t *counts, struct tf_text hyp,
                     const struct tf_text *refs, size_t nrefs);

/* F of sums of counts, 0..100: with P and R the means of the orders' precisions and recalls, (1 +
 * beta^2) P R / (beta^2 P + R). `single` is set when numpy would give a float32. */
double tf_chrf_score(const double *counts, const struct tf_chrf_opts *o, enum tf_arith a,
                     bool *single);

#endif
