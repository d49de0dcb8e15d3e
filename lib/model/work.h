/* work.h - the working memory of a pass: activations and their gradients, for one lane. */
#ifndef TF_MODEL_WORK_H
#define TF_MODEL_WORK_H

#include "model/weights.h"

struct tf_work; /* acts_private.h */
/* For passes with these weights (borrowed) on a lane of their backend. Memory is allocated by the
 * passes. */
struct tf_work *tf_work_new(const struct tf_weights *w, struct tf_ctx *ctx);
void tf_work_free(struct tf_work *k); /* NULL is allowed */
/* peak of the backend memory, in bytes, but for the sources that pairs share */
size_t tf_work_bytes(const struct tf_work *k);
/* The same for a training pass over so many source and target tokens, before there is a model. */
size_t tf_work_training_bytes(const struct tf_backend *be, const struct tf_config *c,
                              size_t src_rows, size_t tgt_rows);
/* Of tf_work_bytes, what tf_encode (incremental.h) takes for a source token. */
size_t tf_encoder_token_bytes(const struct tf_weights *w);

#endif
