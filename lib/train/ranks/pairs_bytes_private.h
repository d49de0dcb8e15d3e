/* pairs_bytes_private.h - a batch as bytes, for another process of this build. */
#ifndef TF_TRAIN_RANKS_PAIRS_BYTES_PRIVATE_H
#define TF_TRAIN_RANKS_PAIRS_BYTES_PRIVATE_H

#include "base/buf.h"
#include "model/pairs.h"

/* Append p. */
void tf_pairs_put(struct tf_buf *b, const struct tf_pairs *p);
/* Fill p from such bytes, which must be whole. */
void tf_pairs_get(struct tf_pairs *p, const void *bytes);

#endif
