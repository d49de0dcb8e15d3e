/* schema_private.h - the layout of every record, stated once. The table in schema.c drives encoding
 * (encode.c), decoding (decode.c), both directions of JSON (inspect_to_json.c,
 * inspect_from_json.c), the checks of the writer, the names that tf-cbor prints, and the test of
 * formats/tf.cddl.
 *
 * To add a field: a member of struct tf_record (record.h), a row in schema.c, the line in tf.cddl.
 * Old files do not have it, so it is optional and comes after all others, but before a record's
 * CRC. To add a record: also its number in enum tf_record_type and a function in writer.c. */
#ifndef TF_STREAM_SCHEMA_PRIVATE_H
#define TF_STREAM_SCHEMA_PRIVATE_H

#include "stream/record.h"


enum tf_field_type {
    TF_FIELD_UINT,    /* uint64_t; if optional, flag_at: bool, false if absent */
    TF_FIELD_CODE,    /* int, positive */
    TF_FIELD_TEXT,    /* const char * */
    TF_FIELD_FLOAT,   /* float; written as binary32, read from any number */
    TF_FIELD_SHA256,  /* uint8_t[32]; flag_at: bool, false if absent */
    TF_FIELD_IDS,     /* const uint32_t * */
    TF_FIELD_FLOATS,  /* const float *, NULL if absent */
    TF_FIELD_TEXTS,   /* const char *const * */
    TF_FIELD_PACKED,  /* const uint32_t *: ids of sentences without gaps; offsets at flag_at */
    TF_FIELD_OFFSETS, /* const uint32_t *: one more than sentences; not in JSON */
    TF_FIELD_STRUCTS, /* pointer to n structs of `size` bytes: arrays of `fields`, objects in JSON
                       */
    TF_FIELD_MAP,     /* `fields` of the record itself as a map; in JSON not nested */
    TF_FIELD_VALUE, /* const struct tf_value * to write; as read, n_at bytes of encoding at flag_at
                     */
    TF_FIELD_PART_CRC, /* uint32_t; flag_at: bool, false for null */
    TF_FIELD_OWN_CRC,  /* of the record's bytes before it, or null; has no member, is not in JSON */
    /* Fields of a tensor, which tensor.c encodes and decodes. */
    TF_FIELD_DTYPE,
    TF_FIELD_PAD,
    TF_FIELD_MATRIX,
    TF_FIELD_DATA_CRC,
};

enum {
    TF_OPTIONAL = 1, /* may be absent or null; in an array only optional fields follow it */
    TF_VOCAB = 2,    /* ids of the vocabulary: encoded by its size, checked when written */
    TF_KNOWN = 4,    /* with TF_VOCAB: checked when read as well */
    TF_BULK = 8,     /* may be too many for a tree of JSON values */
};

/* A field: where it is in struct tf_record (or in the struct of a TF_FIELD_STRUCTS) and what it may
 * be. A list has either a member for its count (n_at) or a function that returns the count that it
 * must have. */
struct tf_field {
    const char *name; /* in messages, JSON, maps and tf.cddl */
    enum tf_field_type type;
    unsigned flags;
    size_t at, n_at, flag_at;
    size_t (*count)(const void *of);
    size_t max; /* items of a list */
    double most; /* of FLOATS: all are from 0 to this; 0 for any number */
    const struct tf_field *fields;
    size_t size;
};

/* Kinds of stream, as bits. Any record may be in a kind that is not in the table. */
enum {
    TF_KIND_TOKENS = 1 << 0,
    TF_KIND_PAIRS = 1 << 1,
    TF_KIND_BATCH = 1 << 2,
    TF_KIND_NBEST = 1 << 3,
    TF_KIND_SCORES = 1 << 4,
    TF_KIND_STATS = 1 << 5,
    TF_KIND_ATTENTION = 1 << 6,
    TF_KIND_MODEL = 1 << 7,
    TF_KIND_CHECKPOINT = 1 << 8,
    TF_KIND_MODELS = TF_KIND_MODEL | TF_KIND_CHECKPOINT,
    TF_KIND_OTHER = 1 << 9,
    TF_KIND_ALL = (1 << 10) - 1,
    /* Records of these have a CRC of their own, so that none is held back until a check. */
    TF_KIND_OWN_CRC = TF_KIND_BATCH | TF_KIND_MODELS,
    TF_KIND_STREAMS = TF_KIND_ALL & ~TF_KIND_MODELS,
};

struct tf_schema {
    const char *name;              /* NULL: no such type */
    unsigned kinds;                /* that may have it */
    bool own_crc;                  /* the last field is a CRC of the record or its data */
    bool closed;                   /* never gets more fields */
    bool apart;                    /* not decoded into struct tf_record: header and tensor */
    const struct tf_field *fields; /* after the type, in order; the last has no name */
};

extern const struct tf_schema tf_schemas[TF_REC_END + 1];
/* The layout of records of a type, or NULL. */
static inline const struct tf_schema *tf_schema_of(int type)
{
    return type >= 0 && type <= TF_REC_END && tf_schemas[type].name ? &tf_schemas[type] : NULL;
}
size_t tf_schema_fields(const struct tf_schema *s); /* how many there are, without the type */
/* The type of that name, or -1. */
int tf_schema_type(const char *name);
const char *tf_record_name(int type); /* "tokens", ..., "ancillary", "unknown" */
/* The bit of a kind of stream; TF_KIND_OTHER if it is not in the table. */
unsigned tf_kind_of(const char *kind);
/* What to use for a stream of a kind where text or another stream was given, and for text of one;
 * "" for nothing. For messages. */
struct tf_kind_use {
    const char *from_text, *from_stream, *to_text;
};
const struct tf_kind_use *tf_kind_use(const char *kind);
/* May a stream of that kind have such a record? */
static inline bool tf_kind_has(unsigned kind, int type)
{
    const struct tf_schema *s = tf_schema_of(type);
    return type >= TF_REC_ANCILLARY || (s && (s->kinds & kind));
}

/* The member of a field in a record or struct. */
#define TF_MEMBER(type, base, offset) ((type *)((char *)(uintptr_t)(base) + (offset)))
/* Is an optional field there? base: the record, or the struct of a TF_FIELD_STRUCTS. */
bool tf_field_present(const struct tf_field *f, const void *base);
/* The number of items of a list; of sentences for PACKED and OFFSETS. */
size_t tf_field_count(const struct tf_field *f, const void *base);
/* The number of ids or offsets of an IDS, PACKED or OFFSETS. */
size_t tf_field_ids(const struct tf_field *f, const void *base);

#endif
