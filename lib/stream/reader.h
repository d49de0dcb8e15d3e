/* reader.h - what model.c and inspect.c need of the reader, and no one outside this folder: a
 * tensor's data taken straight from the input, and input that is in memory. */
#ifndef TF_STREAM_READER_H
#define TF_STREAM_READER_H

#include "stream/record.h"
#include "stream/tensor_record.h"

/* Read n bytes at p, which outlive the reader, in place of an input. */
int tf_reader_new_memory(struct tf_reader **r, const void *p, size_t n, const char *name,
                         const char *const *kinds, unsigned flags,
                         struct tf_err *err) TF_MUST_CHECK;
/* After tf_reader_new: map what is left to read, if the input is a regular file from which nothing
 * but the first header has been read. Returns the mapping of *n bytes, which the caller unmaps
 * after tf_reader_free; NULL if the input can't be mapped, and nothing has changed. */
void *tf_reader_map(struct tf_reader *r, size_t *n);

/* With TF_READ_MODEL, tf_reader_next returns a model's tensor as soon as its head is there:
 * rec->raw is the head. The caller begins the tensor, takes all of the data and ends the tensor, or
 * reads no further. This is the head of the tensor returned last. */
const struct tf_tensor_head *tf_reader_tensor(const struct tf_reader *r);
/* Fails if the input is in memory and ends before the data do. */
int tf_reader_tensor_begin(struct tf_reader *r, struct tf_err *err) TF_MUST_CHECK;
/* Where the tensor's next bytes are, if the input is in memory or mapped; else NULL. */
const uint8_t *tf_reader_at(const struct tf_reader *r);
/* Take the next n bytes of its data, into dst if not NULL. Returns where they are, valid until the
 * next call (dst, or as tf_reader_at; the latter needs no dst); NULL on error. */
const uint8_t *tf_reader_data(struct tf_reader *r, void *dst, size_t n, struct tf_err *err);
/* Read the fields after the data; crc, of the data, must agree with the record's. */
int tf_reader_tensor_end(struct tf_reader *r, uint32_t crc, struct tf_err *err) TF_MUST_CHECK;

/* Room for need unread bytes in the buffer, which at least doubles. */
void tf_in_reserve(struct tf_in *in, size_t need);
/* tf_in_fill for a length that the input itself claims, and may be lying about: unless a file of
 * that size can have it, the buffer grows to at most twice the bytes received, or TF_MAX_CHECK. It
 * at least doubles, so that a long record is not read byte by byte. */
ssize_t tf_in_have(struct tf_in *in, size_t need, struct tf_err *err) TF_MUST_CHECK;

#endif
