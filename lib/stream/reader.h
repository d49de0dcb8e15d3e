/* reader.h - functions of the reader for this folder only: input in memory, and tensors whose data
 * are read by the caller. */
#ifndef TF_STREAM_READER_H
#define TF_STREAM_READER_H

#include "stream/record.h"
#include "stream/tensor_record.h"

/* As tf_reader_new, from n bytes at p, which must outlive the reader. */
int tf_reader_new_memory(struct tf_reader **r, const void *p, size_t n, const char *name,
                         const char *const *kinds, unsigned flags,
                         struct tf_err *err) TF_MUST_CHECK;
/* Map the rest of the input, if it is a regular file of which only the first header has been read.
 * Returns the mapping of *n bytes, which the caller unmaps after tf_reader_free. Returns NULL and
 * changes nothing if the input can't be mapped. */
void *tf_reader_map(struct tf_reader *r, size_t *n);

/* With TF_READ_MODEL, tf_reader_next returns a model's tensor as soon as its head is there:
 * rec->raw is the head. The caller begins the tensor, takes all of the data and ends the tensor, or
 * reads no further. This is the head of the tensor returned last. */
const struct tf_tensor_head *tf_reader_tensor(const struct tf_reader *r);
/* Fails if the input is in memory and ends before the data do. */
int tf_reader_tensor_begin(struct tf_reader *r, struct tf_err *err) TF_MUST_CHECK;
/* The tensor's next bytes, if the input is in memory or mapped; else NULL. */
const uint8_t *tf_reader_at(const struct tf_reader *r);
/* Take the next n bytes of its data, into dst if not NULL. Returns where they are, valid until the
 * next call (dst, or as tf_reader_at; the latter needs no dst); NULL on error. */
const uint8_t *tf_reader_data(struct tf_reader *r, void *dst, size_t n, struct tf_err *err);
/* Read the fields after the data; crc, of the data, must agree with the record's. */
int tf_reader_tensor_end(struct tf_reader *r, uint32_t crc, struct tf_err *err) TF_MUST_CHECK;

/* Grow the buffer for `need` unread bytes. It at least doubles. */
void tf_in_reserve(struct tf_in *in, size_t need);
/* As tf_in_fill, for a length that comes from the input and may be false: unless the input is a
 * file large enough, the buffer grows to at most TF_MAX_CHECK or twice the bytes received. */
ssize_t tf_in_have(struct tf_in *in, size_t need, struct tf_err *err) TF_MUST_CHECK;

#endif
