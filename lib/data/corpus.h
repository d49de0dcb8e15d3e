/* corpus.h - filtered pairs of sentences from two token streams (paired by position) or one
 * pair stream. Regular files are indexed: 32 bytes per pair in memory, and the ids stay in the
 * mapped file. Anything else is read into memory, one window of pairs at a time; so are the files
 * of a list (list.h), one after the other. */
#ifndef TF_DATA_CORPUS_H
#define TF_DATA_CORPUS_H

#include "data/beside_private.h"
#include "stream/reader.h"
#include "stream/sentence.h"
#include "text/ids.h"

/* Most records of a corpus: their numbers, and those of its pairs, have 32 bits. */
#define TF_CORPUS_RECORDS ((uint64_t)UINT32_MAX)

enum tf_drop_reason {
    TF_DROP_BAD, /* a bad record, or an id outside the vocabulary */
    TF_DROP_SPECIAL, /* the end of a sentence or padding among the ids */
    TF_DROP_SHORT,
    TF_DROP_LONG,
    TF_DROP_RATIO,
    TF_DROP_BUDGET,
    TF_DROP_REASONS
};
extern const char *const tf_drop_reason_names[TF_DROP_REASONS];

/* Which pairs to keep; lengths are in ids, without EOS. The first reason that applies counts. */
struct tf_pair_filter {
    size_t min, max; /* length of either side; max 0: any */
    double ratio;    /* most length of the longer side over the shorter; 0: any */
    size_t budget;   /* most length + 1 of either side: a longer pair fits no batch */
};

/* One pair, in half a cache line: an epoch visits them in random order. */
struct tf_pair {
    uint64_t at[2];  /* source and target: place in the mapped file (stream/view.h) or in ids */
    uint32_t len[2]; /* in ids, without EOS */
    uint32_t idx;    /* number of the record in the corpus, from 0 */
    uint32_t crc;    /* of mapped files: CRC-32C of the ids of both sides, as they were read */
};

struct tf_corpus_side {
    struct tf_in in;
    struct tf_reader *reader;
    struct tf_header first; /* of the first part; lives in mem */
    bool has_first;
    struct tf_arena mem;
    struct tf_sha256 sha; /* over header, count and CRC of each part */
    uint64_t parts;       /* of the file: begun */
    uint8_t *map;         /* a mapped file, or NULL; map_n bytes */
    size_t map_n;
};

struct tf_corpus {
    struct tf_pair_filter filter;
    struct tf_corpus_side side[2];
    int streams; /* 2: token streams; 1: a pair stream */
    struct tf_one_vocab vocab, of_side[2]; /* of the pairs; of each of two streams */
    struct tf_sentence_rule rule[2]; /* of the sides */
    bool warned[2];                  /* of bos in a sentence; of other special ids */
    bool files; /* every input is a mapped file */
    bool ended; /* everything is read: the counts are final */
    bool more;  /* tf_corpus_switch follows: links and weights have lines for its records, too */
    bool has_id;
    uint8_t id[32];   /* when ended: SHA-256 over header, count and CRC of both sides */
    uint64_t records; /* of the open files, so far */
    uint64_t base;    /* number in the corpus of the first of them */
    /* The pairs in memory, in input order. */
    struct tf_pair *pairs;
    size_t n, cap;
    /* With links (tf_corpus_open_links): their file, and of pair k in memory those of
     * links.v[link_end[k - 1] .. link_end[k]) counted from link_from: source position << 16 |
     * target position. */
    struct tf_beside links_file;
    struct tf_ids links;
    size_t *link_end, link_from;
    /* With weights (tf_corpus_open_weights): their file, and those of the pairs in memory. */
    struct tf_beside weights_file;
    float *weights;
    struct tf_ids ids; /* of these pairs; empty for mapped files */
    /* Since the beginning. */
    uint64_t kept, dropped[TF_DROP_REASONS];
    uint64_t tokens[2]; /* of kept pairs, without EOS */
    bool all_crcs;      /* every part of the open files so far had a CRC */
};

/* Open one pair stream or two token streams ("-" is stdin) and read their headers. Fails when the
 * sides have different vocabularies, but for the two of one model, whose ids are different things
 * under one hash (source_vocab_size in formats/model.md). Release it after a failure too. */
int tf_corpus_open(struct tf_corpus *c, const char *const *paths, int n,
                   const struct tf_pair_filter *filter, struct tf_err *err) TF_MUST_CHECK;
/* Read a link for each pair from a file of text, whose lines are those of the records: links in
 * the form of Pharaoh, "0-0 1-2", positions of tokens. Their hash becomes part of the corpus id.
 * Before tf_corpus_read, which then fails on a line that is no such list, on positions beyond the
 * tokens of a pair that is kept or beyond 65535, and on another number of lines. */
int tf_corpus_open_links(struct tf_corpus *c, const char *path, struct tf_err *err) TF_MUST_CHECK;
/* Read a weight for each pair in the same way: a decimal number on each line. tf_corpus_read then
 * fails on a line that is none from 0 to TF_MAX_PAIR_WEIGHT, and on another number of lines. */
int tf_corpus_open_weights(struct tf_corpus *c, const char *path, struct tf_err *err) TF_MUST_CHECK;
/* The links of pair k in memory. */
size_t tf_corpus_links(const struct tf_corpus *c, size_t k, const uint32_t **links);
void tf_corpus_release(struct tf_corpus *c);
/* An empty corpus of n streams, for tf_corpus_switch. */
void tf_corpus_init(struct tf_corpus *c, int n, const struct tf_pair_filter *filter);
/* Close the files and open others to read into memory, which continue the corpus with record number
 * `base`: pairs, vocabulary and counts stay, and the headers must agree with earlier ones. */
int tf_corpus_switch(struct tf_corpus *c, const char *const *paths, uint64_t base,
                     struct tf_err *err) TF_MUST_CHECK;
/* Set id and records as reading all of the open files would, from their headers and end records, if
 * each is a regular file of a single part. Fails on files that are truncated, or of different
 * length. Then only tf_corpus_switch or tf_corpus_release. */
int tf_corpus_peek(struct tf_corpus *c, struct tf_err *err) TF_MUST_CHECK;
/* Read until `most` pairs are in memory or the streams end (c->ended). Fails on different idx, on
 * sides of different length and on truncated or damaged input. */
int tf_corpus_read(struct tf_corpus *c, size_t most, struct tf_err *err) TF_MUST_CHECK;
/* Remove the first k pairs from memory. */
void tf_corpus_forget(struct tf_corpus *c, size_t k);
/* Copy the ids of source and target of a pair to dst[0] and dst[1]. Fails when a file no longer has
 * the ids that were read. */
int tf_corpus_copy(const struct tf_corpus *c, const struct tf_pair *pair, uint32_t *const dst[2],
                   struct tf_err *err) TF_MUST_CHECK;
/* Prefetch the ids of a pair that will be copied soon. */
void tf_corpus_prefetch(const struct tf_corpus *c, const struct tf_pair *pair);
/* Fail when a mapped file was modified since it was opened. */
int tf_corpus_check_unchanged(const struct tf_corpus *c, struct tf_err *err) TF_MUST_CHECK;

#endif
