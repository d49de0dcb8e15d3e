/* sp_proto_private.h - reads and writes .model files without SentencePiece. Field numbers are those
 * of sentencepiece_model.proto. A field that occurs again replaces the one before, as in the
 * library. */
#ifndef TF_TEXT_SP_PROTO_PRIVATE_H
#define TF_TEXT_SP_PROTO_PRIVATE_H

#include "base/buf.h"
#include "text/sp_piece.h"
#include "text/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Messages, and the fields that we read:
 * ModelProto {repeated pieces = 1 {piece = 1, score = 2, type = 3};
 * trainer_spec = 2 {model_type = 3, treat_whitespace_as_suffix = 24, byte_fallback = 35,
 * unk_surface = 44};
 * normalizer_spec = 3, denormalizer_spec = 5 {precompiled_charsmap = 2, add_dummy_prefix = 3,
 * remove_extra_whitespaces = 4, escape_whitespaces = 5};
 * self_test_data = 4; and ours, extensions: codes = 1000 {lines = 1, end_alone = 2,
 * end_in_pieces = 3}, see bpe_codes.h; words = 1001, of text that is no more than words between
 * spaces; repeated unlisted = 1002 {piece = 1, score = 2, type = 3, stands_for = 200}, pieces
 * that text becomes and that have no id: in their place comes the unknown one, or stands_for, which
 * version 0.1 wrote; renumbered = 1003: a run of unknown
 * characters that is the text of an unused piece becomes that piece; repeated added = 1004
 * {text = 1, id = 2, flags = 3}, see added.h; ends = 1005: a space at the end of a text, or before
 * an added token, is a piece; white = 1006, flags of TF_WHITE in sp_piece.h} */
enum {
    TF_PROTO_PIECE = 1,
    TF_PROTO_TRAINER = 2,
    TF_PROTO_NORMALIZER = 3,
    TF_PROTO_SELF_TEST = 4,
    TF_PROTO_DENORMALIZER = 5,
    TF_PROTO_TEXT = 1, /* of a piece */
    TF_PROTO_SCORE = 2,
    TF_PROTO_TYPE = 3,
    TF_PROTO_MODEL_TYPE = 3,
    TF_PROTO_SPACE_ENDS = 24,
    TF_PROTO_BYTE_FALLBACK = 35,
    TF_PROTO_UNK_SURFACE = 44,
    TF_PROTO_CHARSMAP = 2,
    TF_PROTO_ADD_SPACE = 3,
    TF_PROTO_SINGLE_SPACES = 4,
    TF_PROTO_ESCAPE_SPACES = 5,
    TF_PROTO_CODES = 1000,
    TF_PROTO_CODES_LINES = 1,
    TF_PROTO_CODES_END_ALONE = 2,
    TF_PROTO_CODES_END_IN_PIECES = 3,
    TF_PROTO_WORDS = 1001,
    TF_PROTO_UNLISTED = 1002,
    TF_PROTO_STANDS_FOR = 200,
    TF_PROTO_RENUMBERED = 1003,
    TF_PROTO_ADDED = 1004,
    TF_PROTO_ADDED_ID = 2,
    TF_PROTO_ADDED_FLAGS = 3,
    TF_PROTO_ENDS = 1005,
    TF_PROTO_WHITE = 1006
};
/* The numbers of model_type. */
enum { TF_TYPE_UNIGRAM = 1, TF_TYPE_BPE, TF_TYPE_WORD, TF_TYPE_CHAR };

struct tf_span {
    const uint8_t *p;
    size_t n;
};

struct tf_proto_field {
    uint64_t number;
    struct tf_span all;  /* the field as it is, number included */
    struct tf_span body; /* p NULL: the field is a number, and no bytes */
    bool is_varint;
    uint64_t value; /* of a varint */
    float real;     /* of 4 bytes, else 0 */
};

/* Read the next field from the front of *m. False at its end, and if it is malformed. */
bool tf_proto_field(struct tf_span *m, struct tf_proto_field *f);

struct tf_proto_piece {
    struct tf_text text;
    float score;
    int type;
    int64_t stands_for; /* read, of one without an id: -1, none */
};

/* Read on to the next piece of *m, what is left of a ModelProto that tf_sp_check has accepted.
 * False: there is none. The pieces come in the order of their ids. */
bool tf_proto_piece(struct tf_span *m, struct tf_proto_piece *piece);
/* The same of the pieces without an id. */
bool tf_proto_unlisted(struct tf_span *m, struct tf_proto_piece *piece);

struct tf_proto_added {
    struct tf_text text;
    int64_t id;
    unsigned flags; /* TF_ADDED and others (sp_piece.h) */
};
/* The same of added tokens; those without text are left out. */
bool tf_proto_added(struct tf_span *m, struct tf_proto_added *token);
void tf_proto_put_added(struct tf_buf *out, struct tf_buf *work, const struct tf_proto_added *t);

/* Append a number in groups of 7 bits; a field that is a number; one of n bytes. */
void tf_proto_put_varint(struct tf_buf *b, uint64_t x);
void tf_proto_put_number(struct tf_buf *b, uint64_t field, uint64_t x);
void tf_proto_put_bytes(struct tf_buf *b, uint64_t field, const void *p, size_t n);
/* Append a piece as a field, TF_PROTO_PIECE or TF_PROTO_UNLISTED; a prefix goes before its text. */
void tf_proto_put_piece(struct tf_buf *out, struct tf_buf *work, uint64_t field, const char *prefix,
                        const struct tf_proto_piece *p);

#endif
