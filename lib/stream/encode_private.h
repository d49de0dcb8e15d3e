/* encode_private.h - encode and check single records. */
#ifndef TF_STREAM_ENCODE_PRIVATE_H
#define TF_STREAM_ENCODE_PRIVATE_H

#include "base/buf.h"
#include "stream/record.h"
#include "stream/schema_private.h"

/* Append a record of any type but header and tensor. size is that of the vocabulary. */
void tf_record_encode(struct tf_buf *b, int64_t size, const struct tf_record *rec);
/* Fail if a reader would refuse the record: a list is too long, an id is not in the vocabulary,
 * text is not UTF-8. */
int tf_record_check(const struct tf_record *rec, int64_t size, struct tf_err *err);

#endif
