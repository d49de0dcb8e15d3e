/* work_private.h - the buffers of a pass: their room and their inputs. */
#ifndef TF_MODEL_WORK_PRIVATE_H
#define TF_MODEL_WORK_PRIVATE_H

#include "model/acts_private.h"
#include "model/pairs.h"

/* Room for a pass over n sentences with so many rows; tgt_rows 0: for the encoder alone. Growing
 * loses the contents. Buffers with gradients that are large enough stay for a pass without
 * training, so that validation costs no allocation and a device keeps its graphs. */
int tf_work_reserve(struct tf_work *k, size_t n, size_t src_rows, size_t tgt_rows, bool training,
                    struct tf_err *err) TF_MUST_CHECK;
/* Give one side, in which there is room, the n sentences ids[off[i] .. off[i + 1]): rows, ids and
 * positions. The ids must stay unchanged until the next sync. */
int tf_work_load_side(struct tf_work *k, struct tf_stack_acts *side, const uint32_t *ids,
                      const uint32_t *off, size_t n, struct tf_err *err) TF_MUST_CHECK;
/* Make room for sentences [from, to), and load both sides. */
int tf_work_load(struct tf_work *k, const struct tf_pairs *p, size_t from, size_t to, bool training,
                 struct tf_err *err) TF_MUST_CHECK;

#endif
