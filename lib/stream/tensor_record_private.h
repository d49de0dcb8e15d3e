/* tensor_record_private.h - the head of a tensor record: all that comes before its data. For the
 * files of this folder only.
 *
 * A tensor record is [6, name, dtype, pad, tensor, crc]. Its data may be larger than memory, so the
 * head is read and written apart from them. The pad aligns the data at 64 bytes of the file. */
#ifndef TF_STREAM_TENSOR_RECORD_PRIVATE_H
#define TF_STREAM_TENSOR_RECORD_PRIVATE_H

#include "stream/record.h"
#include "stream/tensor.h"

enum { TF_TENSOR_HEAD_MAX = 1024 }; /* bytes of a head */
struct tf_tensor_head {
    struct tf_tensor t; /* name, crc and data are not set */
    char name[TF_MAX_NAME + 1];
    size_t n; /* bytes of the head: the data begin there */
    /* items of the record after the data: crc and what newer versions append */
    uint64_t items_after;
};

/* Append a record up to its data, of which t->bytes must follow and then the crc. The data begin at
 * b->len + offset, a multiple of 64. */
void tf_tensor_head_encode(struct tf_buf *b, uint64_t offset, const struct tf_tensor *t);
/* Decode the head in the first of n bytes. Returns NULL, or what is wrong with it. Checked: rank
 * and name are within limits; dims, dtype, tag and the length of the data agree. t.bytes is that
 * length, which the input may not have. */
const char *tf_tensor_head_decode(struct tf_tensor_head *h, const uint8_t *p, size_t n);
/* Decode a whole tensor record in memory and compare the CRC of its data. t.name points into *h,
 * t.data into rec->raw. */
int tf_tensor_record_decode(struct tf_tensor_head *h, const struct tf_record *rec,
                            struct tf_err *err) TF_MUST_CHECK;

#endif
