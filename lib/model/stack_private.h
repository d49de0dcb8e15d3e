/* stack_private.h - embedding, encoder and decoder as stacks of sublayers and norms (scheme:
 * acts_private.h). For the files of the model only. */
#ifndef TF_MODEL_STACK_PRIVATE_H
#define TF_MODEL_STACK_PRIVATE_H

#include "model/acts_private.h"

/* From the ids and rows in k to the encoder's output [source rows, D], which belongs to k. */
const tf_mem *tf_encoder_fwd(struct tf_work *k);
/* Cross keys and values of all decoder layers, from the encoder's output into kv. */
void tf_cross_kv_fwd(struct tf_work *k, tf_mem *kv, const tf_mem *memory);
/* With them in k->kv: the decoder's output [target rows, D]. */
const tf_mem *tf_decoder_fwd(struct tf_work *k);

/* The backward passes, in this order. dout: the gradient of the output, overwritten. */
void tf_decoder_bwd(struct tf_work *k, tf_mem *dout);
/* From k->dkv: overwrites dmemory, the gradient of the encoder's output. */
void tf_cross_kv_bwd(struct tf_work *k, tf_mem *dmemory, const tf_mem *memory);
void tf_encoder_bwd(struct tf_work *k, tf_mem *dout);

#endif
