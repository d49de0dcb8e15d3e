/* reader.h - read streams. */
#ifndef TF_STREAM_READER_H
#define TF_STREAM_READER_H

#include "base/input.h"
#include "stream/header.h"
#include "stream/record.h"

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
 * TF_MAX_CHECK bytes are held back); on a pipe whose writer flushes, that is at once. */
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

#endif
