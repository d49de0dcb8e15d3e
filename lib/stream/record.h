/* record.h - encoded records, one at a time, for the files of this folder only. */
#ifndef TF_STREAM_RECORD_H
#define TF_STREAM_RECORD_H

#include "cbor/cursor.h"
#include "cbor/encode.h"
#include "cbor/head.h"
#include "cbor/scan.h"
#include "stream/schema.h"
#include "stream/tensor.h"

/* The type of an encoded record, from its first bytes (n of them): -1 when it is not an array that
 * begins with an unsigned integer, -2 when n is too small to tell. */
int tf_record_type(const uint8_t *p, size_t n);
/* Ids below the size of the vocabulary, if it is known (> 0)? The message begins with `what`. */
int tf_ids_known(int64_t size, const char *what, const uint32_t *ids, size_t n, struct tf_err *err);
/* Have n numbers been given where the schema requires a certain count? */
int tf_field_check_count(const struct tf_field *f, size_t n, const void *base, struct tf_err *err);
/* Ids in one struct of a list. */
size_t tf_structs_ids(const struct tf_field *f, const void *item);

/* Decode a scanned record: type, idx and what belongs to its type. Memory from the arena. raw and
 * raw_n are set, offset is not. */
int tf_record_decode(struct tf_record *rec, struct tf_arena *a, const struct tf_header *h,
                     const uint8_t *p, size_t n, struct tf_err *err);

/* Append a record: any but header and tensor. size is that of the vocabulary. */
void tf_record_encode(struct tf_buf *b, int64_t size, const struct tf_record *rec);
/* Refuse what the schema does not allow and a reader would refuse: lists that are too long, ids
 * beyond the vocabulary, text that is not UTF-8. */
int tf_record_check(const struct tf_record *rec, int64_t size, struct tf_err *err);

/* Write any record but header, tensor, check and end. */
int tf_writer_record(struct tf_writer *w, const struct tf_record *rec, struct tf_err *err);
/* Writers of what is not part of a stream's public interface. begin_raw: with a header record that
 * is encoded already (h says the same). state: any value, byte strings included. tensor: t->crc is
 * that of the data, which go out from where they are. */
int tf_writer_begin_raw(struct tf_writer *w, struct tf_out *out, const struct tf_header *h,
                        const void *record, size_t n, struct tf_err *err);
int tf_writer_state(struct tf_writer *w, const char *name, const struct tf_value *v,
                    struct tf_err *err);
int tf_writer_tensor(struct tf_writer *w, const struct tf_tensor *t, struct tf_err *err);

/* The offset of the crc item in a batch, state or tensor record (which was scanned), for those who
 * check or fill it; 0 when the record has none. */
size_t tf_record_crc_at(int type, const uint8_t *p, size_t n);

#endif
