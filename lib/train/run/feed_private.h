/* feed_private.h - the batches of a stream, read and checked by a thread some batches ahead, so
 * that lanes never wait for a pipe that keeps up. */
#ifndef TF_TRAIN_RUN_FEED_PRIVATE_H
#define TF_TRAIN_RUN_FEED_PRIVATE_H

#include "model/transformer.h"
#include "train/store/state.h"

enum tf_feed_kind { TF_FEED_BATCH, TF_FEED_END, TF_FEED_ERROR };

struct tf_feed_item {
    enum tf_feed_kind kind;
    struct tf_pairs pairs; /* BATCH */
    struct tf_batch_cursor next; /* BATCH: the position after it */
    struct tf_err err;     /* ERROR */
};

struct tf_feed;

/* Open a batch stream ("-": stdin), and wait for its header. */
int tf_feed_open(struct tf_feed **feed, const char *path, struct tf_err *err) TF_MUST_CHECK;
/* Of the first part; valid until tf_feed_start. */
const struct tf_header *tf_feed_header(const struct tf_feed *f);
/* Guide with the links of each batch, which it must have. Before tf_feed_start. */
void tf_feed_guide(struct tf_feed *f, const struct tf_guide *guide);
/* Start reading. Batches before `from` are skipped; NULL: the stream is used from its first batch.
 * Unless any_corpus, a corpus other than from's is an error. The configuration is borrowed. */
void tf_feed_start(struct tf_feed *f, const struct tf_config *c, const struct tf_batch_cursor *from,
                   bool any_corpus);
/* The next item, valid until tf_feed_pop. NULL when none arrived within 50 ms, so that the caller
 * can check flags of signal handlers and call again. After END or ERROR the same item is returned
 * again. */
const struct tf_feed_item *tf_feed_next(struct tf_feed *f);
/* a corpus other than from's was accepted; known after the first item */
bool tf_feed_other_corpus(struct tf_feed *f);
bool tf_feed_ready(struct tf_feed *f); /* tf_feed_next would not wait */
void tf_feed_pop(struct tf_feed *f);
void tf_feed_close(struct tf_feed *f); /* ends the thread, also while it waits for input */

#endif
