/* rerank.h - choose among the outputs of n-best lists, which are lines of text: those that
 * tf-tokenize -d --nbest writes (idx, rank, score and text between tabs, then maybe scores of other
 * models), or those of --json, an object for each list. */
#ifndef TF_METRICS_RERANK_H
#define TF_METRICS_RERANK_H

#include "base/output.h"
#include "metrics/metric.h"
#include "text/lines.h"

enum {
    TF_RERANK_WEIGHTS = 64,
    TF_RERANK_MOST = 1 << 16, /* hypotheses of a list */
};

struct tf_rerank {
    /* total = sum over k of weight[k] score k + length * words of the text. Score 0 is that of the
     * list, the others follow the text. */
    double weight[TF_RERANK_WEIGHTS];
    size_t n_weights; /* >= 1 */
    double length;
    /* With mbr the one of the greatest expected utility is chosen, else that of the greatest total.
     * Hypotheses weigh the same, or with scale > 0 as exp(scale total). */
    bool mbr;
    enum tf_metric_kind kind; /* BLEU or chrF */
    struct tf_metric_opts metric;
    double scale;
    bool all; /* write whole lists in their new order, with totals or utilities as scores */
    int bad;  /* enum tf_on_bad */
};

extern const char *const tf_rerank_utilities[]; /* "chrf", "chrf++", "bleu", NULL */
/* Choose by one of them; tokenizer: of BLEU, an index into tf_tokenizer_names below "spm". */
int tf_rerank_mbr(struct tf_rerank *r, const char *name, int tokenizer,
                  struct tf_err *err) TF_MUST_CHECK;
/* Parse "0.5,0.3". */
int tf_rerank_weights(struct tf_rerank *r, const char *text, struct tf_err *err) TF_MUST_CHECK;
/* Write for each list a line with the text of the hypothesis that is chosen, the first of equal
 * ones. One without a hypothesis is an empty line, and bad as in tf_bad_status. */
int tf_rerank_run(const struct tf_rerank *r, struct tf_lines *in, struct tf_out *out,
                  struct tf_err *err) TF_MUST_CHECK;

#endif
