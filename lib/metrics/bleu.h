/* bleu.h - BLEU (Papineni et al., "BLEU: a method for automatic evaluation of machine
 * translation", ACL 2002), with the tokenizers and smoothing methods of sacreBLEU 2.6.
 *
 *     BLEU = BP exp(mean over n of log p_n),    p_n = 100 match_n / total_n,    n = 1..4
 *     BP   = exp(1 - ref / hyp) where hyp < ref, else 1
 *
 * total_n counts the n-grams of the hypotheses; match_n those found in a reference, each distinct
 * n-gram at most as often as the reference with the most of it has it. hyp is the length of the
 * hypotheses in tokens; ref sums the length of the closest reference of each segment, the shorter
 * of two equally close. */
#ifndef TF_METRICS_BLEU_H
#define TF_METRICS_BLEU_H

#include "metrics/grams_private.h"
#include "metrics/intern_private.h"
#include "metrics/tokenizers_private.h"

enum {
    TF_NGRAM_MAX = 4,          /* the highest order */
    TF_NGRAM_TOKENS = 1 << 24, /* the most tokens in the references of one segment */
};

/* Smoothing of orders without a match (Chen and Cherry, "A systematic comparison of smoothing
 * techniques for sentence-level BLEU", WMT 2014):
 * exp: the j-th order without a match has p_n = 100 / (2^j total_n);
 * floor: p_n = 100 value / total_n;
 * add-k: value is added to match_n and total_n for n > 1;
 * none: the score is 0. */
enum tf_bleu_smooth { TF_SMOOTH_EXP, TF_SMOOTH_FLOOR, TF_SMOOTH_ADD_K, TF_SMOOTH_NONE };
extern const char *const tf_bleu_smooth_names[]; /* NULL-terminated */

struct tf_bleu_opts {
    enum tf_tokenizer tokenizer;
    uint8_t model[32]; /* SHA-256 of the SentencePiece model of a tokenizer that has one */
    int smooth;        /* enum tf_bleu_smooth */
    double value;      /* of floor and add-k */
    bool lowercase;
    bool effective_order; /* average only the orders that the hypothesis has, for sentences */
    bool float32;         /* precisions are those of sums of numpy's float32, for resampling */
};
double tf_bleu_default_value(int smooth); /* floor: 0.1, add-k: 1, others: 0 */

/* Counts of one segment or their sums. */
struct tf_bleu_stats {
    uint64_t hyp, ref; /* lengths in tokens */
    uint64_t match[TF_NGRAM_MAX], total[TF_NGRAM_MAX];
};
void tf_bleu_add(struct tf_bleu_stats *sum, const struct tf_bleu_stats *s);

/* The statistics as a flat array of numbers: hyp, ref, 4 matches, 4 totals. */
enum { TF_BLEU_WIDTH = 2 + 2 * TF_NGRAM_MAX };

struct tf_bleu_score {
    double score;                   /* 0 to 100 */
    double precision[TF_NGRAM_MAX]; /* in percent */
    double bp, ratio;               /* ratio: hyp / ref */
    uint64_t hyp, ref;
};
/* The score of sums of counts. Without any match it is 0, whatever the smoothing. Orders from the
 * first without a total have precision 0; with effective_order they are left out of the mean. */
struct tf_bleu_score tf_bleu_score(const double sums[TF_BLEU_WIDTH], const struct tf_bleu_opts *o);

/* The parts of the formula, shared with multi-bleu and with sacreBLEU's resampling. */
double tf_bleu_brevity_penalty(double hyp, double ref); /* 0 for an empty hypothesis */
/* exp(mean of the logarithms of p[0 .. orders)). log 0 counts as -9999999999, as in sacreBLEU and
 * multi-bleu, so that the mean is 0 and finite. */
double tf_bleu_mean(const double *p, int orders);

/* Counts segments one after the other. Zero-initialise and set opts. */
struct tf_bleu {
    struct tf_bleu_opts opts;
    struct tf_tokens hyp, *refs;
    struct tf_symbols *symbols; /* of the references */
    size_t nrefs;
    struct tf_intern intern;
    struct tf_grams grams;
};
void tf_bleu_release(struct tf_bleu *b);
/* The statistics of one hypothesis against its references (nrefs >= 1), each a line without its
 * LF (checked UTF-8). -1 when they have more than TF_NGRAM_TOKENS tokens. */
int tf_bleu_segment(struct tf_bleu *b, struct tf_bleu_stats *out, struct tf_text hyp,
                    const struct tf_text *refs, size_t nrefs, struct tf_err *err) TF_MUST_CHECK;
/* The same for tokens already in b->hyp and b->refs[0 .. nrefs), which tf_bleu_room allocates. */
void tf_bleu_room(struct tf_bleu *b, size_t nrefs);
int tf_bleu_count(struct tf_bleu *b, struct tf_bleu_stats *out, size_t nrefs,
                  struct tf_err *err) TF_MUST_CHECK;
/* Replace t's tokens by those of the line, in lower case if o->lowercase. */
void tf_bleu_tokens(struct tf_tokens *t, struct tf_text line, const struct tf_bleu_opts *o);

#endif
