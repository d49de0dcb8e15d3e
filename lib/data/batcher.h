/* batcher.h - pairs to batches. Within an epoch (of files) or a window (of a pipe): shuffle, group
 * by length, cut to the token budget, shuffle the batches. The sequence of batches follows from the
 * records, the seed and the options alone, and can be entered at any batch. */
#ifndef TF_DATA_BATCHER_H
#define TF_DATA_BATCHER_H

#include "base/log.h"
#include "data/corpus.h"

struct tf_batching {
    /* What shapes the batches. */
    uint64_t tokens;        /* most of the sum of length + 1 over a batch, on either side */
    uint64_t max_sentences; /* 0: any */
    /* budget counts the longest length of a bucket for every pair, and no batch spans buckets (as
     * Tensor2Tensor does) */
    bool padded;
    bool shuffle;           /* else input order */
    uint64_t seed;
    size_t window;          /* pairs, where the input is no file */
    /* Which of them to put out. */
    uint64_t epochs;        /* 0: without end */
    uint64_t batches;       /* end before the batch of this ordinal; 0: no such end */
    uint64_t from_epoch, from_record;
    struct tf_progress *progress;
    /* Out. */
    uint64_t n_batches, n_pairs, n_tokens; /* put out; tokens: of the fuller side, with EOS */
    uint64_t n_epochs;      /* begun */
};

/* Cuts of one window. Zero-initialised is empty. */
struct tf_batch_plan {
    uint32_t *order; /* n pairs: positions in the window */
    uint32_t *cut;   /* n_batches + 1: batch k holds order[cut[k] .. cut[k + 1]) */
    uint32_t *turn;  /* n_batches: the k-th batch to be put out is turn[k] */
    size_t n_batches, cap, cut_cap;
};
/* Plan n pairs as window `window` of `epoch`. */
void tf_batch_plan_make(struct tf_batch_plan *p, const struct tf_batching *b,
                        const struct tf_pair *pairs, size_t n, uint64_t epoch, uint64_t window);
void tf_batch_plan_release(struct tf_batch_plan *p);

/* Upper end of the length bucket that holds `length`: 8, 12, 16, 24, 32, 48, ... */
uint64_t tf_bucket_end(uint64_t length);

/* Begin at the cursor "EPOCH:RECORD" of an earlier run. */
int tf_batching_from(struct tf_batching *b, const char *text, struct tf_err *err) TF_MUST_CHECK;
/* The whole job: read the corpus, write header and batches (and, when input fails midway, an error
 * record). table: the tool's options, for the stream's provenance. A cursor at which no batch
 * begins is an error. */
int tf_batching_run(struct tf_batching *b, struct tf_corpus *c, const struct tf_opt *table,
                    struct tf_out *out, struct tf_err *err) TF_MUST_CHECK;
/* A line on stderr: how many pairs, batches and epochs, and what was dropped. */
void tf_batching_summary(const struct tf_batching *b, const struct tf_corpus *c);

#endif
