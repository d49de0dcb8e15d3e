/* reader_private.h - functions of the reader for this folder only: tensors whose data are read by
 * the caller. */
#ifndef TF_STREAM_READER_PRIVATE_H
#define TF_STREAM_READER_PRIVATE_H

#include "stream/reader.h"
#include "stream/tensor_record_private.h"

/* With TF_READ_MODEL, tf_reader_next returns a model's tensor as soon as its head is there:
 * rec->raw is the head. The caller begins the tensor, takes all of the data and ends the tensor, or
 * reads no further. This is the head of the tensor returned last. */
const struct tf_tensor_head *tf_reader_tensor(const struct tf_reader *r);
/* Fails if the input is a file that ends before the data do. */
int tf_reader_tensor_begin(struct tf_reader *r, struct tf_err *err) TF_MUST_CHECK;
/* Read the next n bytes of its data to dst. */
int tf_reader_data(struct tf_reader *r, void *dst, size_t n, struct tf_err *err) TF_MUST_CHECK;
/* Read the fields after the data; crc, of the data, must agree with the record's. */
int tf_reader_tensor_end(struct tf_reader *r, uint32_t crc, struct tf_err *err) TF_MUST_CHECK;

/* How many unread bytes the input has at most: the rest of a regular file, by its size when it was
 * opened; UINT64_MAX of a pipe. */
uint64_t tf_in_left(const struct tf_in *in);
/* As tf_in_fill, for a length that comes from the input and may be false: unless the input is a
 * file large enough, the buffer grows to at most TF_MAX_CHECK or twice the bytes received. */
ssize_t tf_in_have(struct tf_in *in, size_t need, struct tf_err *err) TF_MUST_CHECK;

#endif
