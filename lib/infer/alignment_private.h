/* alignment_private.h - alignments: how much each token of a target attends to each of its source,
 * by the cross-attention of one head, or the mean of a layer's heads. */
#ifndef TF_INFER_ALIGNMENT_PRIVATE_H
#define TF_INFER_ALIGNMENT_PRIVATE_H

#include "infer/lane_forward_private.h"

/* Zero-initialised is closed. */
struct tf_alignment {
    size_t heads, head; /* of the model; the one, or `heads`: the mean */
    size_t source_end;  /* 1 if sources end with eos */
    bool *layers;       /* the one layer, for watch */
    struct tf_watch watch;
};

/* Choose by "LAYER[,HEAD]", counted from 1, or with NULL what the (first) model states: the key
 * "alignment-head" of its search. A usage error if there is no such layer or head, or nothing is
 * stated. */
int tf_alignment_open(struct tf_alignment *a, const char *head, const struct tf_ensemble *m,
                      struct tf_err *err) TF_MUST_CHECK;
void tf_alignment_close(struct tf_alignment *a);

/* The weights of a pair: a row for each token of the target and its end, a column for each of the
 * source and, if the model adds one, its end. An empty source has none. */
size_t tf_alignment_cells(const struct tf_alignment *a, size_t n_source, size_t n_target);

/* Run a group of pairs (tf_lane_forward_attention): weights[TF_ATTENTION_CROSS] of each becomes
 * [rows, columns], for the caller to free(). */
int tf_alignment_group(const struct tf_alignment *a, struct tf_lane_forward *f,
                       const struct tf_lane_item *group, size_t n, struct tf_err *err)
    TF_MUST_CHECK;
bool tf_alignment_is_finite(const float *weights, size_t n);

#endif
