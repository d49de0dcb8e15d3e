/* bleu.h - BLEU (Papineni et al., "BLEU: a method for automatic evaluation of machine translation",
 * ACL 2002) as sacreBLEU 2.6 computes it. */
#ifndef TF_METRICS_BLEU_H
#define TF_METRICS_BLEU_H

#include "metrics/arith.h"
#include "metrics/ngram.h"
#include "metrics/tokenize.h"

/* Smoothing of orders without a match (Chen and Cherry, "A systematic comparison of smoothing
 * techniques for sentence-level BLEU", WMT 2014). */
enum tf_bleu_smooth { TF_SMOOTH_EXP, TF_SMOOTH_FLOOR, TF_SMOOTH_ADD_K, TF_SMOOTH_NONE };
extern const char *const tf_bleu_smooth_names[]; /* NULL at the end */

struct tf_bleu_opts {
    enum tf_tokenizer tokenizer;
    /* SHA-256 of the SentencePiece model, with the tokenizers that have one */
    uint8_t model[32];
    enum tf_bleu_smooth smooth;
    double value;         /* of floor and add-k */
    bool lowercase;
    bool effective_order; /* average only the orders the hypothesis has; for sentences */
};
/* log x, or of 0 what sacreBLEU and multi-bleu take: far below any, so that the score is 0 and
 * stays a number */
double tf_bleu_log(double x);
double tf_bleu_default_value(enum tf_bleu_smooth smooth); /* floor 0.1, add-k 1, others 0 */

/* Sums over segments: all that the score needs. */
struct tf_bleu_stats {
    /* tokens; of the references, the length closest to the hypothesis, the shorter of two */
    uint64_t hyp, ref;
    uint64_t match[TF_NGRAM_MAX], total[TF_NGRAM_MAX];
};
void tf_bleu_add(struct tf_bleu_stats *sum, const struct tf_bleu_stats *s);

struct tf_bleu_score {
    double score; /* 0..100 */
    double precision[TF_NGRAM_MAX];
    double bp, ratio;
    uint64_t hyp, ref;
};

/* BLEU = BP exp(mean over orders of log p_n), p_n = 100 match_n / total_n, BP = exp(1 - ref / hyp)
 * where hyp < ref, else 1. No match of any order is 0. For n = 1, 2, ...: add-k adds the value to
 * match and total where n > 1; an order without total ends the loop; one without match counts as 1
 * / 2^j for the j-th such order (exp), as the value (floor), or makes the score 0. */
struct tf_bleu_score tf_bleu_score(const struct tf_bleu_stats *s, const struct tf_bleu_opts *o);
/* The same of sums hyp, ref, 4 matches, 4 totals, in numbers of that kind. */
struct tf_bleu_score tf_bleu_score_of(const double sums[2 + 2 * TF_NGRAM_MAX],
                                      const struct tf_bleu_opts *o, enum tf_arith a);

/* Statistics of one segment after another. Zero-initialise and set opts. */
struct tf_bleu {
    struct tf_bleu_opts opts;
    struct tf_tokens hyp, *refs;
    size_t nrefs;
    struct tf_ngrams ngrams;
};
void tf_bleu_release(struct tf_bleu *b);
/* The statistics of one hypothesis against its references (nrefs >= 1), each a line as
 * tf_lines_read gives it. -1 when they have more tokens than can be counted. */
int tf_bleu_segment(struct tf_bleu *b, struct tf_bleu_stats *out, struct tf_text hyp,
                    const struct tf_text *refs, size_t nrefs, struct tf_err *err) TF_MUST_CHECK;
/* The same of tokens that stand in b->hyp and b->refs already; tf_bleu_room makes room for them. */
void tf_bleu_room(struct tf_bleu *b, size_t nrefs);
int tf_bleu_count(struct tf_bleu *b, struct tf_bleu_stats *out, size_t nrefs,
                  struct tf_err *err) TF_MUST_CHECK;
/* The tokens of one line, in lower case where o says so. */
void tf_bleu_tokens(struct tf_tokens *t, struct tf_text line, const struct tf_bleu_opts *o);

#endif
