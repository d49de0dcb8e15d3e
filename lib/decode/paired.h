/* paired.h - pairs of sentences out of one stream or two, window by window, for tools that look at both sides. */
#ifndef TF_DECODE_PAIRED_H
#define TF_DECODE_PAIRED_H

#include "decode/models.h"
#include "decode/scorer.h"

/* A pair, or what stands for one that can't be used. */
struct tf_pair_entry {
    uint64_t idx;
    struct tf_scored s;
    int code; /* of the bad record; 0: a good pair */
    const char *text;
};

/* What to do with them. Streams go by parts; each may return -1. */
struct tf_paired_job {
    void *arg;
    int (*begin)(void *arg, const struct tf_header *from, struct tf_err *err); /* of the first input; it fits the models */
    int (*window)(void *arg, struct tf_pair_entry *v, size_t n, struct tf_err *err); /* in the order of the input; memory is gone afterwards */
    int (*flush)(void *arg, struct tf_err *err); /* the input is idle */
    int (*end)(void *arg, struct tf_err *err);
};

struct tf_paired;
/* Open the inputs: two of tokens, or one of pairs or batches, or, with `alone`, of tokens too, which are sources without a target. The models are borrowed. */
struct tf_paired *tf_paired_new(struct tf_model_set *models, const char *const *inputs, size_t n, bool alone, struct tf_err *err);
void tf_paired_free(struct tf_paired *p);
/* A pair with a side longer than max_length ids becomes bad. A window is of at most `window` pairs, and ends when the sum of cost(pair) has reached `most` (cost NULL: the ids, 2^20). */
struct tf_paired_limits {
    int64_t max_length;
    size_t window;
    size_t (*cost)(const void *arg, uint32_t n_src, uint32_t n_tgt);
    size_t most;
    bool force_vocab;
};
int tf_paired_run(struct tf_paired *p, const struct tf_paired_job *job, const struct tf_paired_limits *limits, struct tf_err *err) TF_MUST_CHECK;
const char *tf_paired_name(const struct tf_paired *p); /* of the first input, for messages */
bool tf_paired_alone(const struct tf_paired *p);       /* it holds sources without targets */

#endif
