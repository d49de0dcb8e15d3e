/* stream.h - read and write streams: labelled CBOR sequences (RFC 9277, RFC 8742) of label, header,
 * records and end. Several such parts may follow each other. formats/stream.md specifies them. */
#ifndef TF_STREAM_STREAM_H
#define TF_STREAM_STREAM_H

#include "base/input.h"
#include "base/output.h"
#include "cbor/value.h"

/* Limits, checked before any allocation (formats/limits.md). */
#define TF_MAX_RECORD ((size_t)64 << 20)  /* bytes of a record other than a tensor */
#define TF_MAX_IDS ((size_t)1 << 20)      /* token ids in one record (one side) */
#define TF_MAX_CHECK ((size_t)1 << 20)    /* bytes between two checks, at most, plus one record */
#define TF_MAX_HYPS 65536                 /* hypotheses in one n-best record */
#define TF_MAX_TEXTS 65536                /* rows, and columns, of an attention record */
#define TF_MAX_TENSOR ((uint64_t)4 << 30) /* bytes of one tensor on a pipe, by default */

enum tf_record_type {
    TF_REC_HEADER = 0,
    TF_REC_TOKENS = 1, /* [1, idx, ids, cut?] one sentence, without EOS */
    TF_REC_PAIR = 2,   /* [2, idx, src, tgt] */
    TF_REC_BATCH = 3,  /* [3, ordinal, {...}, crc] packed batch */
    /* [4, idx, [[ids, score, logp, token_logp?], ...], cut?] hypotheses, best first */
    TF_REC_NBEST = 4,
    /* [5, idx, kind, layer, heads, rows, columns, weights] of one sentence and layer */
    TF_REC_ATTN = 5,
    TF_REC_TENSOR = 6, /* [6, name, dtype, pad, tensor, crc] */
    TF_REC_STATE = 7,  /* [7, name, value, crc] */
    TF_REC_BAD = 9,    /* [9, idx, code, text] a line that could not be processed */
    TF_REC_SCORE = 10, /* [10, idx, logp, [token logp...]] */
    TF_REC_STATS = 11, /* [11, idx, counts] of one segment, for scores of a text */
    /* [13, count, crc] of all before it: count = records since the label without header and checks,
     * crc = CRC-32C of all bytes from the label on, without checks. So the positions of checks do
     * not change later checks or the end. */
    TF_REC_CHECK = 13,
    TF_REC_ERROR = 14, /* [14, code, text] the producer failed */
    /* [15, count, crc] as check. Header, check and end never get more items; a longer array is
     * damage */
    TF_REC_END = 15,
    /* readers may skip or pass through unknown types from here on */
    TF_REC_ANCILLARY = 64,
};

/* Codes of bad records. */
enum tf_bad_code {
    TF_BAD_UTF8 = 1,
    TF_BAD_TOO_LONG = 2,
    TF_BAD_TOO_MANY_TOKENS = 3,
    TF_BAD_UNKNOWN_ID = 4,
    TF_BAD_OTHER = 15
};
const char *tf_bad_name(int code);
/* Format the description of a bad record in buf and return it: "name: text"; only the text if it
 * begins with the name, only the name if there is no text. */
const char *tf_bad_describe(char *buf, size_t size, int code, const char *text);

struct tf_special {
    int64_t pad, unk, bos, eos; /* -1: none */
};

/* The label before each part: 55800(1413894996('BOR')) (RFC 9277). */
enum { TF_LABEL_N = 12 };
extern const uint8_t tf_label[TF_LABEL_N];
/* Do n bytes begin with the label or, if n is smaller, are they the beginning of it? */
bool tf_label_begins(const void *p, size_t n);

#define TF_LANG_MAX 35 /* bytes of a language label, as RFC 5646 recommends */

/* The description of a stream. Its memory is an arena of the reader or the caller. */
struct tf_header {
    /* "tokens", "pairs", "batch", "nbest", "scores", "stats", "model", "checkpoint", ... */
    const char *kind;
    int64_t version; /* 1 */
    bool has_vocab, has_model;
    uint8_t vocab[32]; /* SHA-256 of the SentencePiece model bytes */
    uint8_t model[32]; /* fingerprint of the model */
    int64_t size;      /* vocabulary size, 0 unknown */
    struct tf_special special;
    /* Labels of languages, such as "en"; empty: unknown. lang is that of the text of a stream of
     * tokens or n-best lists, and where there are two sides (pairs, batches, models) that of the
     * source; target_lang is that of the target. */
    char lang[TF_LANG_MAX + 1], target_lang[TF_LANG_MAX + 1];
    struct tf_value config; /* MAP: kind-specific (model configuration; batch settings) */
    /* ARRAY of {"prog": text, "version": text, "opts": {...}, "in": {role: sha256}, ...}: the
     * pipeline so far, first stage first */
    struct tf_value made;
    struct tf_value extra; /* MAP: unknown keys */
};

/* Append a stage to h->made: the program, the values of the semantic options in the table, and the
 * hash of each input by its role (a MAP). */
struct tf_opt;
void tf_header_made(struct tf_header *h, struct tf_arena *a, const char *prog,
                    const struct tf_opt *opts, const struct tf_value *inputs);
/* Set h->made to the stages of one input, or of two (b is not NULL): those of b that a does not
 * have come after those of a. */
void tf_header_made_from(struct tf_header *h, struct tf_arena *mem, const struct tf_header *a,
                         const struct tf_header *b);
void tf_header_encode(struct tf_buf *b, const struct tf_header *h); /* the header record */
int tf_header_decode(struct tf_header *h, struct tf_arena *a, const void *p, size_t n,
                     struct tf_err *err) TF_MUST_CHECK;
/* Fail if both headers have a hash of the vocabulary and they differ. The names are those of the
 * inputs, for the message. */
int tf_same_vocab(const struct tf_header *a, const char *a_name, const struct tf_header *b,
                  const char *b_name, struct tf_err *err) TF_MUST_CHECK;
/* Copy a label; false if it is empty, longer than TF_LANG_MAX, or has other bytes than ASCII
 * letters, digits, - and _. */
bool tf_lang_set(char out[TF_LANG_MAX + 1], const char *label) TF_MUST_CHECK;
/* Are both labels known, and different? */
bool tf_lang_differs(const char *a, const char *b);
/* Format both labels of a header with two sides: "'en' to 'de'". */
#define TF_LANGS_TEXT (2 * TF_LANG_MAX + 16)
const char *tf_langs_describe(char buf[TF_LANGS_TEXT], const struct tf_header *h);
/* Fail if a label of h, which has two sides, differs from that of the model. name: of h. */
int tf_langs_fit(const struct tf_header *h, const char *name, const struct tf_header *model,
                 struct tf_err *err) TF_MUST_CHECK;
/* The vocabulary and languages of several inputs, by their headers: each fact is from the first
 * that states it. Begin with TF_NO_VOCAB. */
struct tf_one_vocab {
    struct tf_header h; /* has_vocab, vocab, size, special, lang, target_lang */
    char name[256];     /* of the input with the hash */
};
#define TF_NO_VOCAB ((struct tf_one_vocab){.h.special = {-1, -1, -1, -1}})
/* Add what *h states; fail where that contradicts an earlier header. name: of its input. */
int tf_one_vocab_add(struct tf_one_vocab *all, const struct tf_header *h, const char *name,
                     struct tf_err *err) TF_MUST_CHECK;

/* ---- records ---- */

/* One hypothesis of an n-best record. */
struct tf_hyp {
    const uint32_t *ids; /* n, without EOS */
    size_t n;
    float score, logp;       /* score = logp / length penalty */
    const float *token_logp; /* n + 1 (EOS last), or NULL */
};

/* A packed batch: sentences one after the other, no padding, no EOS. */
struct tf_batch {
    /* 0-based in the stream since epoch 0, record 0, whatever --from was */
    uint64_t ordinal;
    size_t n;                          /* pairs */
    const uint32_t *src, *tgt;         /* ids */
    const uint32_t *src_off, *tgt_off; /* n + 1 offsets each */
    const uint32_t *idx;               /* n record numbers in the corpus */
    /* cursor AFTER this batch: where the next one starts. Without groups, record counts from the
     * epoch's start; with them (tf-batch --list), from the group's. */
    uint64_t epoch, group, record;
    bool has_group;
    /* SHA-256 of header, count and CRC of both sides, or over those of all files of a list; zeros
     * when unknown */
    uint8_t corpus[32];
    bool has_corpus;
};

/* Attention weights of one sentence in one layer. */
struct tf_attn {
    /* "encoder", "decoder" (self-attention) or "cross" (of the decoder over the encoder's
     * output) */
    const char *kind;
    uint64_t layer;          /* from 1 on */
    const uint32_t *heads;   /* head numbers, from 1 on */
    const char *const *rows; /* pieces of the queries */
    const char *const *cols; /* pieces of the keys */
    /* [n_heads, n_rows, n_cols]; a row sums to 1, or to 0 if it attends to nothing */
    const float *weights;
    size_t n_heads, n_rows, n_cols;
};

/* Log-probability of a sentence, and of each of its tokens. */
struct tf_score {
    float logp;
    const float *token_logp; /* n, or NULL */
    size_t n;
};

/* A value in a model, by name. */
struct tf_named_value {
    const char *name;
    const uint8_t *bytes; /* as read: n bytes, the encoded value */
    size_t n;
    const struct tf_value *value; /* to be written */
};

/* Why there is no result: for one item, or from here on. */
struct tf_fault {
    int code;
    const char *text; /* UTF-8, terminated */
};

/* What a part contains up to here. */
struct tf_count {
    uint64_t records;
    uint32_t crc;
    bool has_crc; /* it is not null */
};

/* A record as read; pointers are valid until the next tf_reader_next or tf_reader_ready. */
struct tf_record {
    int type;
    uint64_t idx;              /* TOKENS PAIR NBEST ATTN SCORE STATS BAD */
    const uint32_t *ids, *tgt; /* TOKENS: ids; PAIR: ids = source, tgt; STATS: counts */
    size_t n, n_tgt;
    const struct tf_hyp *hyps; /* NBEST */
    size_t n_hyps;
    uint64_t cut; /* TOKENS NBEST: tokens that the input had beyond those used; has_cut */
    bool has_cut;
    struct tf_attn attn;         /* ATTN */
    struct tf_batch batch;       /* BATCH */
    struct tf_score score;       /* SCORE */
    struct tf_named_value state; /* STATE */
    struct tf_fault fault;       /* BAD, ERROR */
    struct tf_count count;       /* CHECK, END */
    const uint8_t *raw;          /* the encoded record, for passing on */
    size_t raw_n;
    uint64_t offset; /* byte offset in the input, for messages */
};

/* ---- reader ---- */

struct tf_reader; /* opaque */

enum {
    /* deliver every record type (CHECK, END and ancillary ones too): for tf-cbor */
    TF_READ_RAW = 1,
    TF_READ_TENSORS = 2, /* allow tensor and state records: models */
    TF_READ_UNHELD = 4,  /* return records before the check that covers them: for tf-cbor */
    TF_READ_MODEL = 8,   /* allow models, to be read with tf_model_read_part */
};

/* Read from an open input (borrowed). kinds: NULL-terminated list (borrowed) of accepted kinds, or
 * NULL for any; another kind is an error that names both. All parts must be of the first one's
 * kind. Reads and checks the first label and header. Zero bytes is an error: "truncated: no
 * stream"; a terminal is TF_USAGE. */
int tf_reader_new(struct tf_reader **r, struct tf_in *in, const char *const *kinds, unsigned flags,
                  struct tf_err *err) TF_MUST_CHECK;
void tf_reader_free(struct tf_reader *r);
const struct tf_header *tf_reader_header(const struct tf_reader *r); /* of the part being read */
/* Read the next record: 1; 0 after the end record of the last part; -1 on error ("name: truncated
 * after record N", CRC mismatch, malformed with byte offset, an ERROR record: "upstream failed:
 * text", which is in *rec, so that a filter can pass it on with tf_writer_error). After an error
 * the reader is dead. A further part begins with rec->type == TF_REC_HEADER (header replaced; idx
 * restart). CHECK, END and ancillary records are consumed unless RAW. Records of streams other than
 * models and batches are returned only once the check that covers them has been verified (at most
 * TF_MAX_CHECK bytes are held back); on a terminal or pipe whose writer flushes, that is at once.
 */
int tf_reader_next(struct tf_reader *r, struct tf_record *rec, struct tf_err *err) TF_MUST_CHECK;
/* Would tf_reader_next return without waiting for the writer? Filters flush their output if not.
 * The last record becomes invalid, as with tf_reader_next. */
bool tf_reader_ready(struct tf_reader *r);
uint64_t tf_reader_count(const struct tf_reader *r); /* records returned of this part */
/* The count of records and the CRC-32C of the last check or end record, both verified. After
 * tf_reader_next has returned 0 or begun a further part, they identify the part that ended, however
 * its checks were placed. Returns false if the CRC was null. */
bool tf_reader_sum(const struct tf_reader *r, uint64_t *count, uint32_t *crc);
/* the encoded header record */
const uint8_t *tf_reader_header_raw(const struct tf_reader *r, size_t *n);
/* With TF_READ_TENSORS: set the limit on bytes of one tensor, by default TF_MAX_TENSOR. */
void tf_reader_max_tensor(struct tf_reader *r, uint64_t bytes);

/* ---- writer ---- */

struct tf_writer {
    struct tf_out *out; /* borrowed; NULL before the first part */
    struct tf_buf buf;  /* the record being made */
    uint64_t count;     /* records since the label, without header and checks */
    uint32_t crc;       /* of all bytes since the label, without checks */
    uint64_t checked;   /* out->offset at the last check */
    bool dirty;         /* records since the last check */
    /* of the vocabulary: ids go under tag 69 when 0 < size <= 65536, else 70; an id beyond it is an
     * error */
    int64_t size;
    bool own_crc; /* records carry their own CRC: no checks but one after the header */
    bool file;    /* the output is a regular file */
};

/* Write label and header; fail, and write nothing, if readers would refuse the header. A check is
 * added before TF_MAX_CHECK bytes without one, and at every flush. */
int tf_writer_begin(struct tf_writer *w, struct tf_out *out, const struct tf_header *h,
                    struct tf_err *err) TF_MUST_CHECK;
int tf_writer_tokens(struct tf_writer *w, uint64_t idx, const uint32_t *ids, size_t n,
                     struct tf_err *err) TF_MUST_CHECK;
/* Write any record but header, tensor, check and end. Those above and below are short for it. */
int tf_writer_record(struct tf_writer *w, const struct tf_record *rec,
                     struct tf_err *err) TF_MUST_CHECK;
int tf_writer_batch(struct tf_writer *w, const struct tf_batch *b,
                    struct tf_err *err) TF_MUST_CHECK;
int tf_writer_nbest(struct tf_writer *w, uint64_t idx, const struct tf_hyp *hyps, size_t n,
                    struct tf_err *err) TF_MUST_CHECK;
int tf_writer_attention(struct tf_writer *w, uint64_t idx, const struct tf_attn *t,
                        struct tf_err *err) TF_MUST_CHECK;
int tf_writer_score(struct tf_writer *w, uint64_t idx, float logp, const float *token_logp,
                    size_t n, struct tf_err *err) TF_MUST_CHECK;
int tf_writer_stats(struct tf_writer *w, uint64_t idx, const uint32_t *counts, size_t n,
                    struct tf_err *err) TF_MUST_CHECK;
int tf_writer_bad(struct tf_writer *w, uint64_t idx, int code, const char *text,
                  struct tf_err *err) TF_MUST_CHECK;
/* Flushes. No end record follows. */
int tf_writer_error(struct tf_writer *w, int code, const char *text,
                    struct tf_err *err) TF_MUST_CHECK;
/* Write an error record of *err, unless no part was begun or the output has failed before. If
 * writing it fails: tf_fail_later. */
void tf_writer_fail(struct tf_writer *w, struct tf_err *err);
int tf_writer_raw(struct tf_writer *w, const void *record, size_t n,
                  /* one encoded record other than header, check, error and end, passed on */
                  struct tf_err *err) TF_MUST_CHECK;
int tf_writer_check(struct tf_writer *w, struct tf_err *err) TF_MUST_CHECK; /* a check record now */
/* Write a check if records came after the last one, then flush the output. Does nothing if the
 * output is a regular file, whose bytes must not depend on pauses of the input. */
int tf_writer_flush(struct tf_writer *w, struct tf_err *err) TF_MUST_CHECK;
/* Write the end record. The caller commits the output. */
int tf_writer_end(struct tf_writer *w, struct tf_err *err) TF_MUST_CHECK;
void tf_writer_release(struct tf_writer *w);

#endif
