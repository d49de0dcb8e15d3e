/* writer_private.h - functions of the writer for the files of models. */
#ifndef TF_STREAM_WRITER_PRIVATE_H
#define TF_STREAM_WRITER_PRIVATE_H

#include "stream/tensor.h"
#include "stream/writer.h"

/* Begin a part with a header record that is already encoded; h is the same header decoded. */
int tf_writer_begin_raw(struct tf_writer *w, struct tf_out *out, const struct tf_header *h,
                        const void *record, size_t n, struct tf_err *err);
/* Write a state record of any value. */
int tf_writer_state(struct tf_writer *w, const char *name, const struct tf_value *v,
                    struct tf_err *err);
/* Write a tensor record. t->crc is set; the data are written without another copy in memory. */
int tf_writer_tensor(struct tf_writer *w, const struct tf_tensor *t, struct tf_err *err);

#endif
