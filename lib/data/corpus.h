/* corpus.h - pairs of sentences out of two token streams (paired by position) or one pair stream,
 * filtered. Regular files are indexed: 32 bytes a pair in memory, the ids stay in the mapped file.
 * Anything else is read a window of pairs at a time. */
#ifndef TF_DATA_CORPUS_H
#define TF_DATA_CORPUS_H

#include "base/hash.h"
#include "text/ids.h"
#include "stream/stream.h"
#include <time.h>

enum tf_drop_reason {
    TF_DROP_BAD,
    TF_DROP_SHORT,
    TF_DROP_LONG,
    TF_DROP_RATIO,
    TF_DROP_BUDGET,
    TF_DROP_REASONS
};
extern const char *const tf_drop_reason_names[TF_DROP_REASONS];

/* Which pairs to leave out; lengths are ids without EOS. The first reason that holds counts. */
struct tf_filter {
    size_t min, max; /* of either side; max 0: any */
    double ratio;    /* longer side over shorter; 0: any */
    size_t budget;   /* a pair with length + 1 over this on either side can't be in any batch */
};

/* One pair, in half a cache line: an epoch visits them in random order. */
struct tf_pair {
    /* of source and target: place in the mapped file (stream/view.h), or start in ids */
    uint64_t at[2];
    uint32_t len[2]; /* ids, without EOS */
    uint32_t idx;    /* number of the record in the corpus, from 0 */
};

struct tf_side {
    struct tf_in in;
    struct tf_reader *reader;
    /* of the first part: what later parts must agree with. Strings and values live in mem */
    struct tf_header first;
    struct tf_arena mem;
    struct tf_sha256 sha;    /* over header, count and CRC of each part */
    uint8_t *map;            /* regular files */
    size_t map_n;
    struct timespec changed; /* when the file was last written to */
};

struct tf_corpus {
    struct tf_filter filter;
    struct tf_side side[2];
    int streams;          /* 2: token streams; 1: pairs */
    int64_t size;         /* of the vocabulary, as the first header with one has it; 0: unknown */
    bool files;           /* all of them are regular */
    bool ended;           /* all was read: the counts are final */
    bool has_id;
    uint8_t id[32];       /* once ended: SHA-256 over header, count and CRC of both sides */
    /* The pairs at hand, in order. */
    struct tf_pair *pairs;
    size_t n, cap;
    struct tf_ids ids;    /* where the input is no file */
    /* Counts since the beginning. */
    uint64_t records, kept, dropped[TF_DROP_REASONS];
    uint64_t tokens[2];   /* tokens: of kept pairs, without EOS */
    bool summed;          /* every part so far had a CRC */
};

/* Open one pair stream or two token streams ("-" is stdin), read their headers, refuse sides of
 * different vocabularies. Release it after a failure too. */
int tf_corpus_open(struct tf_corpus *c, const char *const *paths, int n,
                   const struct tf_filter *filter, struct tf_err *err) TF_MUST_CHECK;
void tf_corpus_release(struct tf_corpus *c);
/* Forget the first k pairs at hand. */
void tf_corpus_drop(struct tf_corpus *c, size_t k);
/* Read on until `most` pairs are at hand or the streams end (c->ended). Unequal idx, a side that
 * ends before the other, and truncated or damaged input are errors. */
int tf_corpus_read(struct tf_corpus *c, size_t most, struct tf_err *err) TF_MUST_CHECK;
/* Copy the ids of one side (0 source, 1 target) of a pair at hand to dst. Fails when the file has
 * changed under us. */
int tf_corpus_take(const struct tf_corpus *c, int side, const struct tf_pair *pair, uint32_t *dst,
                   struct tf_err *err) TF_MUST_CHECK;
/* it will be taken soon */
void tf_corpus_prefetch(const struct tf_corpus *c, const struct tf_pair *pair);
/* For files: -1 when one was written to since it was opened. */
int tf_corpus_same(const struct tf_corpus *c, struct tf_err *err) TF_MUST_CHECK;

#endif
