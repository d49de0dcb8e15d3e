/* scorer.h - log-probabilities of given targets, or attention weights, over lanes: a forward pass
 * per group of pairs. */
#ifndef TF_INFER_SCORER_H
#define TF_INFER_SCORER_H

#include "infer/models.h"

/* A pair to score; ids without EOS, borrowed. */
struct tf_scored {
    const uint32_t *src, *tgt;
    uint32_t n_src, n_tgt;
    float *terms; /* out: n_tgt + 1 log-probabilities, EOS last; the caller's memory */
    /* out, when attention is watched: [watched layers, heads, rows, columns], to free(); NULL where
     * none of the kind is */
    float *weights[TF_ATTENTION_KINDS];
};

struct tf_scorer;
/* watch: NULL to score; else (with one model) the pass gives weights and no terms. Borrowed. */
struct tf_scorer *tf_scorer_new(struct tf_model_set *m, int threads, size_t batch,
                                const struct tf_watch *watch, struct tf_err *err);
void tf_scorer_free(struct tf_scorer *s);
/* Score n pairs; with several models log of their mean probability. *correct (one model only) grows
 * by the tokens that are the most probable at their place. */
int tf_scorer_run(struct tf_scorer *s, struct tf_scored **v, size_t n, uint64_t *correct,
                  struct tf_err *err) TF_MUST_CHECK;

#endif
