/* stack_private.h - embedding, encoder and decoder. */
#ifndef TF_MODEL_STACK_PRIVATE_H
#define TF_MODEL_STACK_PRIVATE_H

#include "model/acts_private.h"

/* From the ids and rows in k->enc to the encoder's output [source rows, D], which belongs to k. */
const tf_mem *tf_encoder_fwd(struct tf_work *k);
/* Cross keys and values of all decoder layers, from the encoder's output into kv. */
void tf_cross_kv_fwd(struct tf_work *k, tf_mem *kv, const tf_mem *memory);
/* With them in k->kv: the decoder's output [target rows, D]. */
const tf_mem *tf_decoder_fwd(struct tf_work *k);

/* For the newest position of so many hypotheses, from its embedding in k->step.x. */
const tf_mem *tf_decoder_step(struct tf_work *k, const struct tf_decoding *d, size_t rows);

/* The backward passes, in this order, from the gradient of the decoder's output in k->dec.dy, which
 * is overwritten. */
void tf_decoder_bwd(struct tf_work *k);
void tf_cross_kv_bwd(struct tf_work *k, const tf_mem *memory); /* of k->kv */
void tf_encoder_bwd(struct tf_work *k);

#endif
