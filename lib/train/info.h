/* info.h - what a model, checkpoint or stream says of itself, as text or JSON. */
#ifndef TF_TRAIN_INFO_H
#define TF_TRAIN_INFO_H

#include "base/buf.h"
#include "stream/stream.h"

/* Describe one open input (borrowed). Models and checkpoints are read whole and checked; of streams
 * the header is read. Text, or with json one object and a line feed. */
int tf_info(struct tf_buf *out, struct tf_in *in, bool json, struct tf_err *err) TF_MUST_CHECK;
/* This program and this machine: version, threads, backends with kernels and devices or the reason
 * why not, libraries. */
void tf_info_devices(struct tf_buf *out, bool json);

#endif
