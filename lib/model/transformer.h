/* transformer.h - the model on a backend: forward and backward over packed batches, encoding, and
 * one decoding step. */
#ifndef TF_MODEL_TRANSFORMER_H
#define TF_MODEL_TRANSFORMER_H

#include "model/params.h"
#include "ops/backend.h"

/* n host floats to and from elements of a backend, which may be doubles. Going up, src stays until
 * the next sync. */
void tf_floats_up(const struct tf_backend *be, struct tf_ctx *ctx, tf_mem *dst, enum tf_elem e,
                  const float *src, size_t n);
int tf_floats_down(const struct tf_backend *be, struct tf_ctx *ctx, float *dst, enum tf_elem e,
                   const tf_mem *src, size_t n, struct tf_err *err) TF_MUST_CHECK;

/* Weights of a model in backend memory, shared by all lanes. Owns them. */
struct tf_weights {
    const struct tf_backend *be;
    struct tf_ctx *ctx;       /* a lane for its transfers; borrowed */
    struct tf_config config;
    struct tf_params params;  /* the table */
    tf_mem *flat;             /* PARAM [params.size] */
    tf_mem *sinusoids;        /* PARAM [pos_rows, D], NULL with learned positions */
    size_t pos_rows;
    struct tf_packed **packed; /* one a matrix of the table, after tf_weights_pack; NULL before */
};

/* Copy `flat` (params.size host floats) to the backend. */
int tf_weights_init(struct tf_weights *w, const struct tf_backend *be, struct tf_ctx *ctx,
                    const struct tf_config *c, const float *flat, struct tf_err *err) TF_MUST_CHECK;
/* Lay matrices out for decoding; needed before tf_encode and tf_decode_step. */
int tf_weights_pack(struct tf_weights *w, struct tf_err *err) TF_MUST_CHECK;
void tf_weights_release(struct tf_weights *w);
/* Make sure that positions 0 .. n-1 exist (sinusoids grow; learned ones can't: "sentence of 600
 * tokens, the model has learned positions for 512"). Not while lanes run. */
int tf_weights_positions(struct tf_weights *w, size_t n, struct tf_err *err) TF_MUST_CHECK;

/* Pairs, packed, with EOS and the decoder's shifted input in place: what the model really sees. */
struct tf_pairs {
    size_t n;                      /* sentences */
    uint32_t *src, *src_off;       /* ids + EOS; n + 1 offsets */
    uint32_t *tgt_in, *tgt_out, *tgt_off; /* start + ids; ids + EOS */
    size_t longest;                /* rows of the longest side of any sentence */
    size_t cap_n, cap_src, cap_tgt;
};
/* Fill from ids (no EOS) with offsets; memory is reused. Ids >= V are refused. */
int tf_pairs_set(struct tf_pairs *p, const struct tf_config *c, size_t n, const uint32_t *src,
                 const uint32_t *src_off, const uint32_t *tgt, const uint32_t *tgt_off,
                 struct tf_err *err) TF_MUST_CHECK;
/* Refuse sentences for which the model has too few learned positions. */
int tf_pairs_fit(const struct tf_pairs *p, const struct tf_config *c,
                 struct tf_err *err) TF_MUST_CHECK;
void tf_pairs_release(struct tf_pairs *p);
/* Cut sentences 0..n into `parts` ranges of about equal cost: cut[0] = 0 <= ... <= cut[parts] = n.
 * Depends on the offsets alone. */
void tf_pairs_cut(size_t *cut, size_t parts, const struct tf_pairs *p);

/* A workspace: activations of one lane. */
struct tf_work;
struct tf_work *tf_work_new(const struct tf_weights *w, struct tf_ctx *ctx);
void tf_work_free(struct tf_work *k);
/* the most backend memory that was held for activations */
size_t tf_work_bytes(const struct tf_work *k);

/* What a pass gives: sums over the target rows (EOS included). */
struct tf_sums {
    /* smoothed loss, -log p(target) (nats, unsmoothed), argmax hits, rows */
    double loss, nll, correct, tokens;
};
struct tf_sums tf_sums_of(const double acc[4]); /* of tf_xent */
void tf_sums_add(struct tf_sums *sums, const struct tf_sums *more);

/* Forward and backward over sentences [from, to) of p, queued: grads PARAM [params.size] is
 * overwritten with the sum of gradients (not divided by tokens); acc F64 [4] is added to (tf_xent).
 * p may change as soon as this returns. Dropout as of `rng`. */
int tf_queue_backward(struct tf_work *k, tf_mem *grads, tf_mem *acc, const struct tf_pairs *p,
                      size_t from, size_t to, const struct tf_rng_state *rng,
                      struct tf_err *err) TF_MUST_CHECK;
/* Forward without dropout: adds to *sums; logp (host floats, one a target row of the range, or
 * NULL) gets log p(target). */
int tf_forward(struct tf_work *k, struct tf_sums *sums, float *logp, const struct tf_pairs *p,
               size_t from, size_t to, struct tf_err *err) TF_MUST_CHECK;

/* ---- attention weights ---- */

enum tf_attention_kind {
    TF_ATTENTION_ENCODER,
    TF_ATTENTION_DECODER,
    TF_ATTENTION_CROSS,
    TF_ATTENTION_KINDS
};

/* Which layers are watched. */
struct tf_watch {
    /* [encoder_layers or decoder_layers]; NULL: none of that kind */
    const bool *layers[TF_ATTENTION_KINDS];
};
/* Forward without dropout over sentences [from, to): the weights (paper, 3.2.1: softmax(q k' /
 * sqrt(dk))) of what is watched. weights[kind], host floats, gets for each watched layer, in order,
 * a [T, S] block for each sentence and head; those of a kind that is not watched are left alone.
 * Without a watched kind that needs the decoder, only the encoder runs. */
int tf_attention_weights(struct tf_work *k, float *const weights[TF_ATTENTION_KINDS],
                         const struct tf_watch *watch, const struct tf_pairs *p, size_t from,
                         size_t to, struct tf_err *err) TF_MUST_CHECK;
/* Layers that have that kind, and those of them that are watched. */
int tf_attention_layers(const struct tf_config *c, enum tf_attention_kind kind);
size_t tf_watched_layers(const struct tf_watch *w, const struct tf_config *c,
                         enum tf_attention_kind kind);
/* Cells of one layer and head: the sum of T * S over those sentences. */
size_t tf_attention_cells(enum tf_attention_kind kind, const struct tf_pairs *p, size_t from,
                          size_t to);

/* ---- decoding ---- */

/* Encoder output of a group of sentences: cross keys and values of all decoder layers, by packed
 * source row. */
struct tf_memory {
    /* ACT [rows, L * (H*dk + H*dv)]: layer l at column l*(H*dk + H*dv), keys first */
    tf_mem *kv;
    size_t ld;
    size_t rows, cap;
    size_t n;              /* sentences */
    uint32_t *off;         /* host: n + 1 */
};
/* Encode n sentences (ids without EOS, packed by off; EOS is added here). ROW-WISE: a sentence's
 * rows do not depend on the others. Memory of m is reused. */
int tf_encode(struct tf_work *k, struct tf_memory *m, size_t n, const uint32_t *src,
              const uint32_t *off, struct tf_err *err) TF_MUST_CHECK;
void tf_memory_release(const struct tf_weights *w, struct tf_ctx *ctx, struct tf_memory *m);

/* Self-attention cache: key and value rows by slot. A slot is one (hypothesis, position); slots are
 * never moved: the table of a row lists the slots of its past. */
struct tf_cache {
    tf_mem *kv;            /* ACT [layers][slots, H*dk + H*dv] */
    size_t slots;
};
/* grows when called again; contents are kept only when it does not grow */
int tf_cache_init(struct tf_cache *c, const struct tf_weights *w, struct tf_ctx *ctx, size_t slots,
                  struct tf_err *err) TF_MUST_CHECK;
void tf_cache_release(struct tf_cache *c, const struct tf_weights *w, struct tf_ctx *ctx);

/* One decoding step over `rows` live hypotheses: the logits z ACT [rows, V]. All arrays U32 in
 * backend memory:
 * ids: last token of each (TF_NO_ID or bos first, see tf_start_id); at: its position; slot: where
 * its key and value go;
 * table [rows, table_ld]: slots of the positions before it and its own, n_past = at + 1 of them
 * (with an attention window it looks at the last window + 1); first, n_src: first source row and
 * number of rows of its sentence in m. */
struct tf_decode_step {
    size_t rows;
    const tf_mem *ids, *at, *slot, *table, *n_past, *first, *n_src;
    size_t table_ld;
    tf_mem *z;
};
int tf_decode_step(struct tf_work *k, const struct tf_memory *m, struct tf_cache *c,
                   const struct tf_decode_step *s, struct tf_err *err) TF_MUST_CHECK;
uint32_t tf_start_id(const struct tf_config *c);

#endif
