/* describe.h - what tf-info prints: a model, checkpoint or stream, or this machine. */
#ifndef TF_STREAM_DESCRIBE_H
#define TF_STREAM_DESCRIBE_H

#include "base/buf.h"
#include "base/input.h"
#include "cbor/value.h"

/* Add what another layer knows about the n bytes of a vocabulary to a description. */
typedef void tf_describe_vocab_fn(struct tf_arena *a, struct tf_value *info, const void *bytes,
                                  size_t n);

/* Append to *out a description of one open input (borrowed): text, or with json one object and a
 * line feed. Models and checkpoints are read whole and checked, with a warning where values are not
 * finite; of a stream only the first header is read, and of a vocabulary its hash is printed.
 * Control characters are escaped and the provenance is quoted for the shell, whatever the file
 * contains. */
int tf_describe_file(struct tf_buf *out, struct tf_in *in, bool json, tf_describe_vocab_fn *vocab,
                     struct tf_err *err) TF_MUST_CHECK;
/* The same for this program and machine: version, threads, libraries, and for each backend its
 * kernels and device, or the reason why it can't be used. */
void tf_describe_machine(struct tf_buf *out, bool json);

/* For describe.c: the tree `info` (a map) as text. describe_text.c */
void tf_describe_text(struct tf_buf *out, const struct tf_value *info);

#endif
