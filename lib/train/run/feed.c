/* feed.c - a ring of batches between the thread that reads and the thread that trains. */
#include "train/run/feed_private.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/thread.h"

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SLOTS = 4, WAIT_MS = 50 /* of tf_feed_next */ };
/* Checkpoints record the position after a batch as a signed number. */
#define MOST_COUNT ((uint64_t)INT64_MAX - 1)

struct tf_feed {
    struct tf_in in;
    struct tf_reader *reader;
    struct tf_one_vocab vocab; /* of all parts so far */
    const struct tf_config *config;
    struct tf_guide guide;
    struct tf_sentence_rule rule[2]; /* of the current part */
    bool bos;                        /* a sentence with one was reported */
    struct tf_batch_cursor from;
    bool resume, any_corpus;
    bool reached;              /* the batch at `from` was seen */
    uint64_t part;             /* the current one */
    struct tf_batch_turn turn; /* of its batches */

    pthread_t thread;
    bool started;
    pthread_mutex_t lock;
    pthread_cond_t filled, emptied;
    struct tf_feed_item slot[SLOTS];
    size_t head, n;          /* under lock: the oldest item, the number of items */
    bool quit, other_corpus; /* under lock */
};

int tf_feed_open(struct tf_feed **feed, const char *path, struct tf_err *err)
{
    static const char *const kinds[] = {"batch", NULL};
    struct tf_feed *f = tf_xcalloc(1, sizeof *f);
    if (tf_in_open(&f->in, path, err) != 0) {
        free(f);
        return -1;
    }
    if (tf_reader_new(&f->reader, &f->in, kinds, 0, err) != 0) {
        tf_in_close(&f->in);
        free(f);
        return -1;
    }
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&f->filled, &attr);
    pthread_cond_init(&f->emptied, &attr);
    pthread_condattr_destroy(&attr);
    pthread_mutex_init(&f->lock, NULL);
    *feed = f;
    return 0;
}

const struct tf_header *tf_feed_header(const struct tf_feed *f)
{
    return tf_reader_header(f->reader);
}

/* ---- the reading side ---- */

static struct tf_feed_item *room(struct tf_feed *f)
{
    pthread_mutex_lock(&f->lock);
    while (f->n == SLOTS && !f->quit)
        pthread_cond_wait(&f->emptied, &f->lock);
    struct tf_feed_item *item = f->quit ? NULL : &f->slot[(f->head + f->n) % SLOTS];
    pthread_mutex_unlock(&f->lock);
    return item;
}

/* rc: what filling it returned. */
static void push_item(struct tf_feed *f, struct tf_feed_item *item, int rc)
{
    item->kind = rc > 0 ? TF_FEED_BATCH : rc == 0 ? TF_FEED_END : TF_FEED_ERROR;
    pthread_mutex_lock(&f->lock);
    f->n++;
    pthread_cond_signal(&f->filled);
    pthread_mutex_unlock(&f->lock);
}

/* Neither the stream nor the part may end before the point of resumption. */
static int check_end(const struct tf_feed *f, bool more, struct tf_err *err)
{
    bool there =
        f->part > f->from.part || (f->part == f->from.part && f->turn.next >= f->from.ordinal);
    if (f->resume && !f->reached && !there)
        return tf_fail(err,
                       "%s: %s part %llu, batch %llu, before the checkpoint's position, part %llu, "
                       "batch %llu%s",
                       f->in.name, more ? "another part follows at" : "ends at",
                       (unsigned long long)f->part, (unsigned long long)f->turn.next,
                       (unsigned long long)f->from.part, (unsigned long long)f->from.ordinal,
                       f->other_corpus ? " (to start over, use --init in a new directory)" : "");
    return 0;
}

static void set_rules(struct tf_feed *f)
{
    for (int side = 0; side < 2; side++)
        f->rule[side] = tf_config_sentences(f->config, side, tf_reader_header(f->reader));
}

static int new_part(struct tf_feed *f, struct tf_err *err)
{
    char name[32];
    if (f->part == f->from.part && check_end(f, true, err) != 0)
        return -1;
    f->part++;
    f->turn = (struct tf_batch_turn){0};
    snprintf(name, sizeof name, "part %llu", (unsigned long long)f->part);
    if (tf_one_vocab_add(&f->vocab, tf_reader_header(f->reader), name, err) != 0 ||
        tf_config_takes(f->config, tf_reader_header(f->reader), err) != 0)
        return tf_context(err, "%s", f->in.name);
    set_rules(f);
    return 0;
}

static void accept_corpus(struct tf_feed *f)
{
    pthread_mutex_lock(&f->lock);
    f->other_corpus = true;
    pthread_mutex_unlock(&f->lock);
}

static int check_counts(const struct tf_feed *f, const struct tf_batch *b, struct tf_err *err)
{
    const struct {
        const char *name;
        uint64_t n;
    } all[] = {{"ordinal", b->ordinal},
               {"epoch", b->epoch},
               {"group", b->group},
               {"record", b->record}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].n > MOST_COUNT)
            return tf_fail(err, "%s: batch %llu: %s %llu, maximum %llu", f->in.name,
                           (unsigned long long)b->ordinal, all[i].name,
                           (unsigned long long)all[i].n, (unsigned long long)MOST_COUNT);
    return 0;
}

/* Is this the batch that must come next, and is it after the point of resumption? 1: use it, 0:
 * skip it. */
static int batch_is_due(struct tf_feed *f, const struct tf_batch *b, struct tf_err *err)
{
    if (check_counts(f, b, err) != 0)
        return -1;
    if (tf_batch_take_turn(&f->turn, b, err) != 0)
        return tf_context(err, "%s", f->in.name);
    if (!f->resume || f->reached)
        return 1;
    if (f->part == f->from.part && f->from.has_corpus && b->has_corpus &&
        memcmp(f->from.corpus, b->corpus, sizeof b->corpus) != 0) {
        char x[65], y[65];
        if (f->any_corpus)
            accept_corpus(f);
        else
            return tf_fail(err,
                           "%s: corpus %s differs from the checkpoint's, %s (--force accepts it)",
                           f->in.name, tf_hex(x, b->corpus, 32), tf_hex(y, f->from.corpus, 32));
    }
    if (f->part < f->from.part || (f->part == f->from.part && b->ordinal < f->from.ordinal))
        return 0;
    if (f->part > f->from.part ? b->ordinal != 0 : b->ordinal > f->from.ordinal)
        return tf_fail(err,
                       "%s: the stream continues at part %llu, batch %llu, the checkpoint at "
                       "part %llu, batch %llu",
                       f->in.name, (unsigned long long)f->part, (unsigned long long)b->ordinal,
                       (unsigned long long)f->from.part, (unsigned long long)f->from.ordinal);
    f->reached = true;
    return 1;
}

static int check_ids(struct tf_feed *f, const struct tf_batch *b, struct tf_err *err)
{
    char text[TF_SENTENCE_TEXT];
    const enum tf_sentence_fault is = tf_batch_check_ids(b, f->rule, text);
    if (is > TF_SENTENCE_BEGINS)
        return tf_fail(err, "%s", text);
    if (is == TF_SENTENCE_BEGINS && !f->bos) {
        f->bos = true;
        tf_warn("%s: batch %llu: %s; " TF_SENTENCE_BOS, f->in.name, (unsigned long long)b->ordinal,
                text);
    }
    return 0;
}

static int take_links(struct tf_feed *f, struct tf_feed_item *item, const struct tf_batch *b,
                      struct tf_err *err)
{
    if (!(f->guide.weight > 0))
        return 0;
    if (b->links == NULL)
        return tf_fail(err, "no links for --guided-alignment (tf-batch --links)");
    if (tf_batch_check_links(b, err) != 0)
        return -1;
    tf_pairs_link(&item->pairs, f->config, &f->guide, b->links, b->links_off);
    return 0;
}

static int take_batch(struct tf_feed *f, struct tf_feed_item *item, const struct tf_batch *b,
                      struct tf_err *err)
{
    if (check_ids(f, b, err) != 0 ||
        tf_pairs_set(&item->pairs, f->config, b->n, b->src, b->src_off, b->tgt, b->tgt_off, err) !=
            0 ||
        take_links(f, item, b, err) != 0 ||
        tf_config_fits(f->config, item->pairs.longest, err) != 0)
        return tf_context(err, "%s: batch %llu", f->in.name, (unsigned long long)b->ordinal);
    if (b->weights != NULL)
        tf_pairs_weigh(&item->pairs, b->weights);
    item->next = (struct tf_batch_cursor){.part = f->part,
                                          .ordinal = b->ordinal + 1,
                                          .epoch = b->epoch,
                                          .group = b->group,
                                          .has_group = b->has_group,
                                          .record = b->record,
                                          .has_corpus = b->has_corpus};
    memcpy(item->next.corpus, b->corpus, sizeof b->corpus);
    return 0;
}

/* Fill one slot: 1 with a batch in it, 0 at the end, -1 on error. */
static int fill_item(struct tf_feed *f, struct tf_feed_item *item, struct tf_err *err)
{
    struct tf_record rec;
    int rc;
    while ((rc = tf_reader_next(f->reader, &rec, err)) > 0) {
        if (rec.type == TF_REC_HEADER) {
            if (new_part(f, err) != 0)
                return -1;
        } else if (rec.type != TF_REC_BATCH) {
            return tf_fail(err, "%s: a record of type %d in a batch stream", f->in.name, rec.type);
        } else {
            int due = batch_is_due(f, &rec.batch, err);
            if (due < 0 || (due > 0 && take_batch(f, item, &rec.batch, err) != 0))
                return -1;
            if (due > 0)
                return 1;
        }
    }
    return rc == 0 ? check_end(f, false, err) : -1;
}

static void *read_main(void *arg)
{
    struct tf_feed *f = arg;
    for (;;) {
        int old;
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old);
        struct tf_feed_item *item = room(f);
        if (item == NULL)
            return NULL;
        memset(&item->err, 0, sizeof item->err);
        /* tf_feed_close may cancel only the wait for input. */
        pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &old);
        int rc = fill_item(f, item, &item->err);
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old);
        push_item(f, item, rc);
        if (rc <= 0)
            return NULL;
    }
}

void tf_feed_guide(struct tf_feed *f, const struct tf_guide *guide)
{
    f->guide = *guide;
}

void tf_feed_start(struct tf_feed *f, const struct tf_config *c, const struct tf_batch_cursor *from,
                   bool any_corpus)
{
    f->vocab = TF_NO_VOCAB;
    (void)!tf_one_vocab_add(&f->vocab, tf_reader_header(f->reader), "part 0",
                            &(struct tf_err){0}); /* nothing to contradict */
    f->config = c;
    set_rules(f);
    f->resume = from != NULL;
    f->any_corpus = any_corpus;
    if (from != NULL)
        f->from = *from;
    /* Without a thread, tf_feed_next reads. */
    f->started = tf_thread_start(&f->thread, read_main, f) == 0;
}

/* ---- the training side ---- */

/* The work of the reading thread, where there is none: fill a slot if the input is ready
 * within WAIT_MS. */
static void read_here(struct tf_feed *f)
{
    struct tf_feed_item *item = &f->slot[f->head];
    if (!tf_reader_ready(f->reader)) {
        poll(&(struct pollfd){.fd = f->in.fd, .events = POLLIN}, 1, WAIT_MS);
    } else {
        memset(&item->err, 0, sizeof item->err);
        push_item(f, item, fill_item(f, item, &item->err));
    }
}

const struct tf_feed_item *tf_feed_next(struct tf_feed *f)
{
    const struct tf_feed_item *item = NULL;
    if (!f->started) {
        if (f->n == 0)
            read_here(f);
        return f->n > 0 ? &f->slot[f->head] : NULL;
    }
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_nsec += WAIT_MS * 1000000L;
    if (t.tv_nsec >= 1000000000) {
        t.tv_nsec -= 1000000000;
        t.tv_sec++;
    }
    pthread_mutex_lock(&f->lock);
    for (int rc = 0; f->n == 0 && rc == 0;)
        rc = pthread_cond_timedwait(&f->filled, &f->lock, &t);
    if (f->n > 0)
        item = &f->slot[f->head];
    pthread_mutex_unlock(&f->lock);
    return item;
}

bool tf_feed_other_corpus(struct tf_feed *f)
{
    pthread_mutex_lock(&f->lock);
    bool other = f->other_corpus;
    pthread_mutex_unlock(&f->lock);
    return other;
}

bool tf_feed_ready(struct tf_feed *f)
{
    pthread_mutex_lock(&f->lock);
    bool ready = f->n > 0;
    pthread_mutex_unlock(&f->lock);
    return ready;
}

void tf_feed_pop(struct tf_feed *f)
{
    pthread_mutex_lock(&f->lock);
    if (f->n > 0 && f->slot[f->head].kind == TF_FEED_BATCH) {
        f->head = (f->head + 1) % SLOTS;
        f->n--;
        pthread_cond_signal(&f->emptied);
    }
    pthread_mutex_unlock(&f->lock);
}

void tf_feed_close(struct tf_feed *f)
{
    if (f == NULL)
        return;
    if (f->started) {
        pthread_mutex_lock(&f->lock);
        f->quit = true;
        pthread_cond_broadcast(&f->emptied);
        pthread_mutex_unlock(&f->lock);
        pthread_cancel(f->thread);
        pthread_join(f->thread, NULL);
    }
    for (int i = 0; i < SLOTS; i++)
        tf_pairs_release(&f->slot[i].pairs);
    tf_reader_free(f->reader);
    tf_in_close(&f->in);
    pthread_mutex_destroy(&f->lock);
    pthread_cond_destroy(&f->filled);
    pthread_cond_destroy(&f->emptied);
    free(f);
}
