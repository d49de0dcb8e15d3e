/* input_private.h - token streams read as windows of items. The input is one stream, or a stream of
 * sources and, record by record, a second stream: targets, lists of targets, or forced prefixes. */
#ifndef TF_INFER_INPUT_PRIVATE_H
#define TF_INFER_INPUT_PRIVATE_H

#include "infer/ensemble_private.h"
#include "stream/reader.h"

/* A source and the sequence given with it, or the bad record in their place. Ids have no EOS. */
struct tf_item {
    uint64_t idx;  /* number of the record */
    uint32_t rank; /* place in a list of targets, from 0; 0 outside lists */
    const uint32_t *source;
    const uint32_t *given; /* target or forced prefix; empty when there is neither */
    uint32_t n_source, n_given;
    uint32_t cut;     /* tokens that the source had beyond n_source, with `truncate` */
    int code;         /* enum tf_bad_code; 0: the item is good */
    const char *text; /* why it is bad */
    bool reported;    /* already bad in the input, or by an earlier item of its list */
};

/* Which streams, and the kinds that a tool accepts: lists that end with NULL. The first of two
 * streams is always of kind "tokens". All is borrowed. */
struct tf_input_spec {
    const char *const *paths;
    size_t n;                  /* 1 or 2 */
    const char *const *single; /* kinds of a stream without a second: "tokens", "pairs", "batch" */
    const char *const *second; /* kinds of the second stream: "tokens", "nbest" */
};

struct tf_input_side {
    const char *name; /* "source", "target", "prefix" */
    int64_t max;      /* ids; an item with a longer side becomes bad */
    const char *rule; /* where max comes from: "--max-length allows" */
};
/* A side that the models run on, 0 or 1: max ids by that rule, or fewer if learned positions are
 * fewer. */
struct tf_input_side tf_input_side(const struct tf_ensemble *m, int side, const char *name,
                                   int64_t max, const char *rule);

struct tf_input {
    /* Set between tf_input_open and the first tf_input_next. */
    struct tf_input_side side[2];
    size_t window; /* most items of a window */
    /* Computing an item takes weights_per_cell * (ids of its longer side + 1)^2 floats, and a
     * window ends when the sum reaches 2^24. 0: it ends when its ids reach 2^20. */
    size_t weights_per_cell;
    struct tf_force force;
    bool truncate; /* a longer source is cut to side[0].max, with a warning, and is not bad */

    /* Valid after tf_input_open. */
    const char *name;  /* of the first stream, for messages */
    bool sources_only; /* no targets and no prefixes */
    bool lists;        /* the second stream holds lists of targets */

    const struct tf_header *header[2]; /* of this part; header[1] NULL without a second stream */
    struct tf_item *items;             /* the window: n items, valid until the next call */
    size_t n;
    bool paused; /* the window ended because the input has to be waited for */

    /* Private. */
    const struct tf_ensemble *models;
    int64_t vocab_begin;             /* id of <s> in the models' vocabulary; -1: none */
    struct tf_sentence_rule rule[2]; /* for the sides of this part */
    bool bos;                        /* a sentence with one was reported */
    size_t n_streams;
    struct tf_in files[2];
    struct tf_reader *readers[2];
    struct tf_arena mem; /* ids and texts of the window */
    size_t cap, cost;    /* of items; of the window */
    bool delivered;      /* the caller has the window */
    int state;           /* what the next call does */
    bool last_part;
    struct tf_record record; /* a batch record whose pairs from next_pair on are still to come */
    size_t next_pair;
    struct tf_err failure;
};

enum tf_input_event {
    TF_INPUT_FAILED = -1,
    TF_INPUT_END,    /* of the last part */
    TF_INPUT_PART,   /* a part begins; its headers fit the models */
    TF_INPUT_WINDOW, /* items are ready, in the order of the input */
    TF_INPUT_IDLE,   /* the next call may wait: flush the output */
};

/* Open the streams and read their first headers. Call tf_input_close after a failure too. */
int tf_input_open(struct tf_input *in, const struct tf_ensemble *models,
                  const struct tf_input_spec *spec, struct tf_err *err) TF_MUST_CHECK;
void tf_input_close(struct tf_input *in);

/* The next event. A window ends when it is full, when the input has to be waited for and at the end
 * of a part; a list of targets is never split. Items that cannot be used (too long, or with ids
 * that are not in the vocabulary or that only the model adds) become bad, a list as a whole. Items
 * read before a failure are returned as a window; the failure follows. The next part is checked
 * before the end of this one is reported, so that no reader takes the output for complete. */
enum tf_input_event tf_input_next(struct tf_input *in, struct tf_err *err) TF_MUST_CHECK;
/* The failure of the input, or NULL. Known before the last window is handled, and it prevails over
 * errors there. */
const struct tf_err *tf_input_failure(const struct tf_input *in);

#endif
