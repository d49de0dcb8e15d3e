/* tokenize_work_private.h - the work of tokenize.h in rounds: read what is ready, up to the size of
 * a round, into blocks; convert the blocks on several threads; write them in order. Shared by the
 * files of tokenize.h. */
#ifndef TF_TEXT_TOKENIZE_WORK_PRIVATE_H
#define TF_TEXT_TOKENIZE_WORK_PRIVATE_H

#include "base/bad.h"
#include "base/thread.h"
#include "text/added.h"
#include "text/sample_private.h"
#include "text/segment_private.h"
#include "text/tags.h"
#include "text/tokenize.h"
#include "text/unknown_private.h"

enum { TF_WORK_ITEMS = 256 }; /* of a block */

/* A line to convert to ids, or a hypothesis to convert to text. */
struct tf_work_item {
    size_t end;     /* of its input in the block's text or ids; it starts where the last one ends */
    size_t out_end; /* of its output in the block's ids or out */
    size_t links_end;   /* and in links */
    size_t source_end;  /* of its source in the block's sources */
    size_t weights_end; /* of its alignment in the block's weights, in bytes */
    uint64_t number; /* of its line or record, from 0 */
    uint64_t idx;    /* of the record in its part */
    uint32_t rank;   /* in an n-best list, from 1; 0: bad, or not in a list */
    bool last;       /* hypothesis of its record */
    float score, logp;
    int code;      /* enum tf_bad_code; 0: good */
    char *why;     /* with a code: owned */
    bool reported; /* it was bad already in the input */
};

struct tf_work_block {
    struct tf_work_item items[TF_WORK_ITEMS];
    size_t n;
    struct tf_buf text;
    struct tf_ids ids;
    size_t decoded; /* bytes of the text that the ids will become */
    struct tf_buf out, scratch;
    /* With alignments: sources, floats, and text that goes to a file of its own. */
    struct tf_ids sources;
    struct tf_buf weights, links;
};

struct tf_tokenize_work {
    struct tf_tokenize *t;
    const char *name; /* of the input */
    struct tf_sampler *sampler;
    struct tf_segment_room **rooms; /* by lane */
    struct tf_added *added;         /* at which lines are cut, or NULL */
    uint32_t begin;                 /* id of t->begin */
    bool pieces;                    /* convert lines to text, not to ids */
    struct tf_tags tags;            /* that lines are checked for */
    uint64_t untagged[3];           /* by enum tf_tag: lines */
    struct tf_unknown *unknown;     /* of t->list_unknown, or NULL */
    struct tf_pool *pool;
    struct tf_work_block *blocks;
    size_t used; /* blocks of this round */
    struct tf_bad_count count;
    uint64_t last_bad; /* number of the last bad item + 1 */
};

/* Begin and end. records: the items are records, and not lines. End after a failure, too. */
int tf_work_begin(struct tf_tokenize_work *r, struct tf_tokenize *t, const char *name, bool records,
                  struct tf_err *err) TF_MUST_CHECK;
void tf_work_end(struct tf_tokenize_work *r);
/* Begin a round: empty the blocks, and free the memory of unusually large ones. */
void tf_work_round(struct tf_tokenize_work *r);
/* The block for the next item, or NULL when the round is full. */
struct tf_work_block *tf_work_room(struct tf_tokenize_work *r);
/* Mark an item as bad. code: enum tf_bad_code. */
void tf_work_bad(struct tf_work_item *it, int code, const char *fmt, ...) TF_PRINTF(3, 4);
/* End the line that begins at `from` in the output. LF in it, from a piece or a normalisation,
 * becomes a space: an item is one line. */
void tf_work_end_line(struct tf_work_block *b, size_t from);
/* Count a bad item before its output is written. A record counts once, however many of its
 * hypotheses are bad. */
int tf_work_count_bad(struct tf_tokenize_work *r, const struct tf_work_item *it,
                      struct tf_err *err) TF_MUST_CHECK;
/* Write the round's output as text, up to the first bad item if that ends the run (-1). */
int tf_work_put_text(struct tf_tokenize_work *r, struct tf_out *out,
                     struct tf_err *err) TF_MUST_CHECK;

#endif
