/* incremental.h - the model for decoding: a group of sources is encoded once, then the decoder
 * takes one target position at a time over cached keys and values. */
#ifndef TF_MODEL_INCREMENTAL_H
#define TF_MODEL_INCREMENTAL_H

#include "model/transformer.h"

/* Encoder output of a group of sentences: cross keys and values of all decoder layers, by packed
 * source row. */
struct tf_memory {
    /* ACT [rows, L * (H*dk + H*dv)]: layer l at column l*(H*dk + H*dv), keys first */
    tf_mem *kv;
    size_t ld;
    size_t rows, cap;
    size_t n;      /* sentences */
    uint32_t *off; /* host: n + 1 */
};
/* Encode n sentences (ids without EOS, packed by off; EOS is added here). ROW-WISE: a sentence's
 * rows do not depend on the others. Memory of m is reused. */
int tf_encode(struct tf_work *k, struct tf_memory *m, size_t n, const uint32_t *src,
              const uint32_t *off, struct tf_err *err) TF_MUST_CHECK;
/* Encode n more sentences, each to the rows of the one at place[i] in m, which has no fewer. fresh:
 * scratch, to be released like m. */
int tf_encode_into(struct tf_work *k, struct tf_memory *m, struct tf_memory *fresh,
                   const size_t *place, size_t n, const uint32_t *src, const uint32_t *off,
                   struct tf_err *err) TF_MUST_CHECK;
void tf_memory_release(struct tf_memory *m, const struct tf_backend *be, struct tf_ctx *ctx);

/* What the decoder's steps keep of its past, such as the keys and values of self-attention. A slot
 * is one (hypothesis, position); slots are never moved: the table of a row lists the slots of its
 * past. */
struct tf_cache {
    /* ACT [params.dec.most.cache * slots]: for each step in turn [slots, its columns] */
    tf_mem *kv;
    size_t slots;
};
/* Make room for `slots`. Growing loses the contents. */
int tf_cache_init(struct tf_cache *c, const struct tf_weights *w, struct tf_ctx *ctx, size_t slots,
                  struct tf_err *err) TF_MUST_CHECK;
void tf_cache_release(struct tf_cache *c, const struct tf_backend *be, struct tf_ctx *ctx);

/* Some outputs of the model: the columns ids [n] of its last product, the only ones that a step
 * computes. On host backends; weights that were loaded for selecting (weights.h) need them at
 * every step. Zero-initialise. */
struct tf_outputs {
    struct tf_packed *w; /* room for cap */
    tf_mem *b;           /* PARAM [cap], or NULL */
    size_t n, cap;
};
int tf_outputs_select(struct tf_outputs *o, const struct tf_weights *w, struct tf_ctx *ctx,
                      const uint32_t *ids, size_t n, struct tf_err *err) TF_MUST_CHECK;
void tf_outputs_release(struct tf_outputs *o, const struct tf_backend *be, struct tf_ctx *ctx);

/* One decoding step over `rows` live hypotheses: the logits z STAT [rows, V], or [rows, n] of
 * `outputs`, or [rows, ld] of `lists`, on devices, if these are not NULL. All arrays U32 in backend
 * memory:
 * ids: last token of each (TF_NO_ID or bos first, see tf_start_id); at: its position; slot: where
 * its key and value go;
 * table [rows, table_ld]: slots of the positions before it and its own, n_past = at + 1 of them
 * (with an attention window only the last window + 1 are read); first, n_src: first source row and
 * number of rows of its sentence in m. */
struct tf_decode_step {
    size_t rows;
    const tf_mem *ids, *at, *slot, *table, *n_past, *first, *n_src;
    size_t table_ld;
    const struct tf_outputs *outputs;
    const struct tf_lists *lists;
    tf_mem *z;
};
int tf_decode_step(struct tf_work *k, const struct tf_memory *m, struct tf_cache *c,
                   const struct tf_decode_step *s, struct tf_err *err) TF_MUST_CHECK;

#endif
