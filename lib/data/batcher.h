/* batcher.h - the job of tf-batch: a corpus of pairs to a stream of batches. Files are read epoch
 * after epoch and planned (batch_plan_private.h) as one window; those of a list group by group; a
 * pipe is read once, window by window. The stream follows from the records and the options alone,
 * and can be started at any batch. */
#ifndef TF_DATA_BATCHER_H
#define TF_DATA_BATCHER_H

#include "base/output.h"
#include "base/log.h"
#include "data/batch_plan_private.h"
#include "data/list.h"

struct tf_batcher {
    struct tf_batch_opts opts;
    size_t window;        /* pairs in a window of a pipe */
    struct tf_list *list; /* of the corpus, or NULL */
    /* Which batches to write. */
    uint64_t epochs;  /* 0: endless */
    uint64_t first_epoch; /* the number of the first of them */
    uint64_t batches; /* end before the batch with this ordinal; 0: no such end */
    const char *from; /* the start cursor as it was given, or NULL */
    uint64_t from_epoch, from_group, from_record, from_ordinal;
    struct tf_progress *progress; /* or NULL */

    /* Filled in: what was written. */
    uint64_t n_batches, n_pairs;
    uint64_t n_tokens; /* of the fuller side of each batch, EOS included */
    uint64_t n_epochs; /* begun */
};

/* Start at a cursor of an earlier run (kept, for messages): "EPOCH:RECORD". With a list it is
 * "EPOCH:GROUP:RECORD:ORDINAL": the groups before it are not read, so it counts their batches. */
int tf_batcher_from(struct tf_batcher *b, const char *cursor, struct tf_err *err) TF_MUST_CHECK;
/* Read the corpus and write the whole stream; after a failure midway it ends with an error record.
 * output: a path for tf_out_open. table: the tool's options, for provenance and to see whether
 * --epochs was given; without it a pipe, which can be read only once, is read for one epoch. Fails
 * when no batch begins at the cursor, and before it writes if an endless stream would go to a file.
 */
int tf_batcher_write(struct tf_batcher *b, struct tf_corpus *c, const struct tf_opt *table,
                     const char *output, struct tf_err *err) TF_MUST_CHECK;
/* Print a line on stderr: pairs, batches and epochs, and the number of dropped pairs by reason. */
void tf_batcher_summary(const struct tf_batcher *b, const struct tf_corpus *c);

#endif
