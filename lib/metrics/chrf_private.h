/* chrf_private.h - chrF (Popovic, "chrF: character n-gram F-score for automatic MT evaluation", WMT
 * 2015) and chrF++, which adds word n-grams (Popovic, "chrF++: words helping character n-grams",
 * WMT 2017), as sacreBLEU 2.6 computes them.
 *
 * With P and R the means over all orders of the n-gram precisions and recalls (orders that the
 * hypotheses or the references do not have are left out of both means), from 0 to 100:
 *
 *     chrF = 100 (1 + beta^2) P R / (beta^2 P + R)
 */
#ifndef TF_METRICS_CHRF_PRIVATE_H
#define TF_METRICS_CHRF_PRIVATE_H

#include "metrics/grams_private.h"
#include "metrics/intern_private.h"
#include "metrics/tokenizers_private.h"

enum {
    TF_CHRF_MAX = 64,   /* the highest order of either kind */
    TF_CHRF_COUNTS = 3, /* per order: n-grams of the hypothesis, of the reference, matches */
    TF_CHRF_WIDTH = TF_CHRF_COUNTS * 2 * TF_CHRF_MAX, /* the most counts of a segment */
};

struct tf_chrf_opts {
    int64_t chars, words; /* highest orders of characters (6) and words (0; 2 for chrF++) */
    int64_t beta;         /* weight of recall */
    bool lowercase;
    bool whitespace; /* white space counts as characters */
    bool eps;        /* mean of the F-scores of the orders, including orders without n-grams */
    bool float32;    /* each number is numpy's float32, for resampling */
};

/* The symbols of a line. Zero-initialise; reuse from line to line. */
struct tf_chrf_side {
    uint32_t *chars;
    size_t nchars, char_cap;
    struct tf_tokens words; /* which the caller numbers */
};
void tf_chrf_side_release(struct tf_chrf_side *s);
/* Cut a line into characters and words, which point into it or into s->words.lower. */
void tf_chrf_cut(struct tf_chrf_side *s, struct tf_text line, const struct tf_chrf_opts *o);
/* The counts of one kind of symbols, of which the hypothesis has nh and the reference nr. */
void tf_chrf_counts(uint32_t *counts, const uint32_t *matches, size_t nh, size_t nr,
                    size_t orders);

/* Counts segments one after the other. Zero-initialise and set opts. A segment has TF_CHRF_COUNTS
 * counts for each order, characters first. Where the reference has no n-gram of an order, the
 * hypothesis counts 0, too. */
struct tf_chrf {
    struct tf_chrf_opts opts;
    struct tf_chrf_side hyp, ref;
    struct tf_intern intern;
    struct tf_grams grams;
    uint32_t *stats, *matches; /* for one reference */
};
void tf_chrf_release(struct tf_chrf *c);
/* Set counts to those of the hypothesis against the reference with the highest F-score, the first
 * of equal ones. */
void tf_chrf_segment(struct tf_chrf *c, uint32_t *counts, struct tf_text hyp,
                     const struct tf_text *refs, size_t nrefs);

/* The score of sums of counts, 0 to 100. */
double tf_chrf_score(const double *counts, const struct tf_chrf_opts *o);

#endif
