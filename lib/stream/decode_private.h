/* decode_private.h - decode single records. */
#ifndef TF_STREAM_DECODE_PRIVATE_H
#define TF_STREAM_DECODE_PRIVATE_H

#include "cbor/cursor.h"
#include "cbor/head.h"
#include "cbor/scan.h"
#include "stream/header.h"
#include "stream/record.h"
#include "stream/schema_private.h"

/* For tf_record_type: of a record that is not short. */
int tf_record_long_type(const uint8_t *p, size_t n);
/* Does a record begin with two heads of a byte each? Most do. */
static inline bool tf_record_is_short(const uint8_t *p, size_t n)
{
    return n >= 2 && p[0] > 0x80 && p[0] < 0x98 && p[1] < 24;
}
/* Returns the type of the record that begins with these n bytes; -1 if it is not an array that
 * begins with an unsigned integer; -2 if n is too small. */
static inline int tf_record_type(const uint8_t *p, size_t n)
{
    return tf_record_is_short(p, n) ? p[1] : tf_record_long_type(p, n);
}
/* Fail, with a message that begins with `what`, if an id is not below the size of the vocabulary. A
 * size of 0 is unknown and allows every id. */
int tf_ids_known(int64_t size, const char *what, const uint32_t *ids, size_t n, struct tf_err *err);
/* Fail if a list of n numbers does not have the count, or one not the range, of the schema. */
int tf_field_check_floats(const struct tf_field *f, size_t n, const void *base, struct tf_err *err);
/* The number of ids in one struct of a list. */
size_t tf_structs_ids(const struct tf_field *f, const void *item);

/* Decodes records. Set arena and header, that of the current part. The rest is what the functions
 * for single fields share: on their stacks, each of them would pay for a canary, at every record.
 */
struct tf_decoder {
    struct tf_arena *arena;
    const struct tf_header *header;
    struct tf_cbor_cursor c;
    size_t n; /* items of the last list */
    uint64_t items, x;
    double real;
};
/* Decode the record of n bytes, which was scanned: the members of its type, raw and raw_n are set,
 * offset is not. Lists are in the arena. */
int tf_record_decode(struct tf_record *rec, struct tf_decoder *d, const uint8_t *p, size_t n,
                     struct tf_err *err);

/* The offset of the crc in a scanned batch, state or tensor record; 0 if it has none. */
size_t tf_record_crc_at(int type, const uint8_t *p, size_t n);

#endif
