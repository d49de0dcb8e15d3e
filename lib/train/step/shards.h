/* shards.h - a micro-batch over lanes: ranges of sentences, whose gradients are summed over a tree.
 *
 * tf_pairs_cut cuts the batch into so many ranges. Lanes take them in order; gradients are added
 * as ((0+1)+(2+3))+((4+5)+(6+7)) by whichever lane finishes the second of two siblings, always
 * left += right. So the bytes do not depend on the number of lanes. */
#ifndef TF_TRAIN_STEP_SHARDS_H
#define TF_TRAIN_STEP_SHARDS_H

#include "base/thread.h"
#include "model/transformer.h"

enum { TF_MAX_SHARDS = 64 };

/* The number of shards on the CPU unless the user says one: 8, doubled until a batch of so many
 * tokens a side has at most 1,024 in each. Activations take memory in proportion to a shard's
 * tokens, and products are as fast with so few rows. tokens: 0 when unknown. */
int tf_shards_usual(int64_t tokens);

/* Gradient buffers, PARAM [params.size]. */
struct tf_grad_pool {
    tf_mem **all; /* n */
    size_t n;
    tf_mem **unused; /* a stack of those that hold nothing */
    size_t n_unused;
};
/* How many buffers lanes need, so that one is free whenever all of them wait. */
size_t tf_shards_buffers(int lanes, int shards);

/* What passes work on. All borrowed. */
struct tf_shards {
    struct tf_weights *w;
    size_t shards;         /* a power of two, at most TF_MAX_SHARDS */
    struct tf_ctx **ctx;   /* one per lane of the pool */
    struct tf_work **work; /* likewise */
    struct tf_pool *pool;
    struct tf_grad_pool *grads;
    tf_mem *sums; /* F64 [4 * shards] */
};

/* Some shards of a micro-batch, first .. last - 1: all of them, or a subtree. */
struct tf_shard_range {
    size_t first, last;
};

/* Forward and backward. *g becomes the sum in one of the gradient buffers, which is in use until
 * the caller puts it back; NULL when these shards have no sentence. The sums of shard i are added
 * to sums + 4 * i (tf_xent). */
int tf_shards_backward(const struct tf_shards *s, tf_mem **g, const struct tf_pairs *p,
                       struct tf_shard_range range, const struct tf_rng_state *rng,
                       struct tf_err *err) TF_MUST_CHECK;
/* Forward without dropout: the sums of shard i are added to sums[i]. */
int tf_shards_forward(const struct tf_shards *s, struct tf_sums *sums, const struct tf_pairs *p,
                      struct tf_shard_range range, struct tf_err *err) TF_MUST_CHECK;

#endif
