/* record.h - the records of streams: labelled CBOR sequences (RFC 9277, RFC 8742) of label, header,
 * records and end. Several such parts may follow each other. formats/stream.md specifies them. */
#ifndef TF_STREAM_RECORD_H
#define TF_STREAM_RECORD_H

#include "cbor/value.h"

/* Limits, checked before any allocation (formats/limits.md). */
#define TF_MAX_RECORD ((size_t)64 << 20)  /* bytes of a record other than a tensor */
#define TF_MAX_IDS ((size_t)1 << 20)      /* token ids in one record (one side) */
#define TF_MAX_LINKS ((size_t)1 << 22)    /* of guided alignment in one batch */
/* Of a pair in the loss: its gradients on a device may have 16 bits. */
#define TF_MAX_PAIR_WEIGHT 1000
#define TF_MAX_CHECK ((size_t)1 << 20)    /* bytes between two checks, at most, plus one record */
#define TF_MAX_HYPS 65536                 /* hypotheses in one n-best record */
#define TF_MAX_TEXTS 65536                /* rows, and columns, of an attention record */
#define TF_MAX_TENSOR ((uint64_t)4 << 30) /* bytes of one tensor on a pipe, by default */

enum tf_record_type {
    TF_REC_HEADER = 0,
    /* [1, idx, ids, cut?, source?, alignment?] one sentence, without EOS */
    TF_REC_TOKENS = 1,
    TF_REC_PAIR = 2,   /* [2, idx, src, tgt] */
    TF_REC_BATCH = 3,  /* [3, ordinal, {...}, crc] packed batch */
    /* [4, idx, [[ids, score, logp, token_logp?, alignment?], ...], cut?, source?] hypotheses, best
     * first */
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

/* One hypothesis of an n-best record. */
struct tf_hyp {
    const uint32_t *ids; /* n, without EOS */
    size_t n;
    float score, logp;       /* score = logp / length penalty */
    const float *token_logp; /* n + 1 (EOS last), or NULL */
    const float *alignment;  /* as that of a token record, or NULL */
    size_t n_alignment;
};

/* A packed batch: sentences one after the other, no padding, no EOS. */
struct tf_batch {
    /* 0-based in the stream since epoch 0, record 0, whatever --from was */
    uint64_t ordinal;
    size_t n;                          /* pairs */
    const uint32_t *src, *tgt;         /* ids */
    const uint32_t *src_off, *tgt_off; /* n + 1 offsets each */
    const uint32_t *idx;               /* n record numbers in the corpus */
    /* NULL, or source and target positions of each pair's links in turn, and n + 1 offsets */
    const uint32_t *links, *links_off;
    const float *weights; /* of the n pairs in the loss, or NULL: 1 */
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

/* Is this 0 to 1, but for rounding? Not NaN. */
static inline bool tf_attn_is_weight(float x)
{
    return x >= 0 && x <= 1.001F;
}

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
    /* TOKENS NBEST, or NULL: the source, for the alignment of each output: n + 1 rows (EOS last) of
     * weights of its tokens and, of a model whose sources end with EOS, of that */
    const uint32_t *source;
    size_t n_source;
    const float *alignment; /* TOKENS */
    size_t n_alignment;
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

#endif
