/* paired.h - pairs of sentences out of one stream or two, window by window: sources and targets, or
 * a list of targets each, or the prefixes of what is to come. */
#ifndef TF_INFER_PAIRED_H
#define TF_INFER_PAIRED_H

#include "infer/models.h"
#include "infer/scorer.h"

/* A pair, or what stands for one that can't be used. Those of a list follow each other in one
 * window and are good, or bad, together. */
struct tf_pair_entry {
    uint64_t idx;
    uint32_t rank; /* in a list of targets, from 0 on; a pair of its own has 0 */
    struct tf_scored s;
    int code; /* of the bad record; 0: a good pair */
    const char *text;
};

/* What to do with them. Streams go by parts; each may return -1. */
struct tf_paired_job {
    void *arg;
    /* of the inputs; they fit the models. from[1] is NULL where there is one */
    int (*begin)(void *arg, const struct tf_header *const from[2], struct tf_err *err);
    /* in the order of the input; memory is gone afterwards */
    int (*window)(void *arg, struct tf_pair_entry *v, size_t n, struct tf_err *err);
    int (*flush)(void *arg, struct tf_err *err); /* the input is idle */
    int (*end)(void *arg, struct tf_err *err);
};

struct tf_paired;
/* Open the inputs: one of a kind of `alone` (pairs, batch, and tokens, which are sources without
 * targets), or tokens and one of a kind of `second` (tokens, and nbest, lists of targets). Models
 * and kinds (NULL at the end) are borrowed. */
struct tf_paired *tf_paired_new(struct tf_model_set *models, const char *const *inputs, size_t n,
                                const char *const *alone, const char *const *second,
                                struct tf_err *err);
void tf_paired_free(struct tf_paired *p);
/* A pair becomes bad that has a side of more than max ids, or with ids that are not the
 * vocabulary's or stand for the end or padding. A window is of at most `window` pairs, or one list,
 * and ends when the sum of cost(pair) has reached `most` (cost NULL: the ids, 2^20). */
struct tf_paired_limits {
    struct {
        const char *name; /* "source" */
        int64_t max;
        const char *rule; /* that max is from: "--max-length allows" */
    } side[2];
    size_t window;
    size_t (*cost)(const void *arg, uint32_t n_src, uint32_t n_tgt);
    size_t most;
    bool force_vocab;
};
int tf_paired_run(struct tf_paired *p, const struct tf_paired_job *job,
                  const struct tf_paired_limits *limits, struct tf_err *err) TF_MUST_CHECK;
const char *tf_paired_name(const struct tf_paired *p); /* of the first input, for messages */
bool tf_paired_alone(const struct tf_paired *p);       /* there are sources without targets */
bool tf_paired_lists(const struct tf_paired *p);       /* there are lists of targets */

#endif
