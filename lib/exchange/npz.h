/* npz.h - read and write npz (numpy): a ZIP archive (stored, not compressed; ZIP64 where it must)
 * of NAME.npy files, little-endian, in C order. The configuration and the vocabularies are
 * one-dimensional arrays "config", "vocab" and "vocab_target" of uint8; tensors of these names
 * can't be written.
 * numpy has no bf16, so writing it is an error. Read from n bytes that outlive *b; CRCs are
 * checked. Written data begin at multiples of 64 bytes of the archive; the same bundle makes the
 * same bytes. */
#ifndef TF_EXCHANGE_NPZ_H
#define TF_EXCHANGE_NPZ_H

#include "exchange/bundle.h"

int tf_npz_read(struct tf_bundle *b, const void *p, size_t n, struct tf_err *err) TF_MUST_CHECK;
int tf_npz_write(struct tf_out *out, const struct tf_bundle *b, struct tf_err *err) TF_MUST_CHECK;

#endif
