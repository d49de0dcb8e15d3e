/* transformer.h - passes of the model over packed pairs: forward, and forward with backward. */
#ifndef TF_MODEL_TRANSFORMER_H
#define TF_MODEL_TRANSFORMER_H

#include "model/pairs.h"
#include "model/work.h"

/* The results of a pass: sums over the target rows (EOS included). */
struct tf_sums {
    /* smoothed loss, -log p(target) (nats, unsmoothed), argmax hits, rows */
    double loss, nll, correct, tokens;
};
struct tf_sums tf_sums_of(const double acc[4]); /* of tf_xent */
void tf_sums_add(struct tf_sums *sums, const struct tf_sums *more);

/* Forward and backward over sentences [from, to) of p, queued: grads PARAM [params.size] is
 * overwritten with the sum of gradients (not divided by tokens); acc F64 [4] is added to (tf_xent).
 * With p->guide the loss has its part, times its weight; only on host memory. p->weights multiply
 * what each sentence adds to loss and gradients, but not the other sums.
 * p may change as soon as this returns. Dropout as of `rng`. */
int tf_queue_backward(struct tf_work *k, tf_mem *grads, tf_mem *acc, const struct tf_pairs *p,
                      size_t from, size_t to, const struct tf_rng_state *rng,
                      struct tf_err *err) TF_MUST_CHECK;
/* Forward without dropout and weights: adds to *sums; logp (host floats, one a target row of the
 * range, or NULL) gets log p(target). */
int tf_forward(struct tf_work *k, struct tf_sums *sums, float *logp, const struct tf_pairs *p,
               size_t from, size_t to, struct tf_err *err) TF_MUST_CHECK;
/* ---- attention weights ---- */

/* The layers whose weights are returned. */
struct tf_watch {
    /* [encoder_layers or decoder_layers] of each kind; NULL: none */
    const bool *layers[TF_ATTENTION_KINDS];
};
/* The layers of that stack, and those of them that are watched. */
int tf_attention_layers(const struct tf_config *c, enum tf_attention_kind kind);
size_t tf_watched_layers(const struct tf_watch *w, const struct tf_config *c,
                         enum tf_attention_kind kind);
/* Cells of one layer and head: the sum of T * S over those sentences. */
size_t tf_attention_cells(enum tf_attention_kind kind, const struct tf_pairs *p, size_t from,
                          size_t to);
/* Forward without dropout over sentences [from, to): the weights (paper, 3.2.1: softmax(q k' /
 * sqrt(dk))) of the watched layers. weights[kind], host floats, gets for each watched layer, in
 * order, a [T, S] block for each sentence and head; it stays unchanged for a kind that is not
 * watched. The decoder runs only when a watched kind requires it. */
int tf_attention_weights(struct tf_work *k, float *const weights[TF_ATTENTION_KINDS],
                         const struct tf_watch *watch, const struct tf_pairs *p, size_t from,
                         size_t to, struct tf_err *err) TF_MUST_CHECK;

#endif
