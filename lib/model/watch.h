/* watch.h - which attention weights a pass returns (tf_attention_weights), and how many there are.
 */
#ifndef TF_MODEL_WATCH_H
#define TF_MODEL_WATCH_H

#include "model/pairs.h"
#include "model/params.h"

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

#endif
