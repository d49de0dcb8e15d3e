/* marian_bin.h - read models of Marian in its own binary format, as Firefox and Bergamot have them.
 *
 * The format (github.com/marian-nmt/marian-dev, src/common/binary.cpp; browsermt/marian-dev for the
 * types of intgemm; numbers little-endian): u64 version 1; u64 n; n times u64 length of the name
 * with its NUL, u64 type, u64 rank, u64 bytes; the names; the dimensions, i32 each; u64 padding and
 * so many bytes; the data of each item, which may have bytes after its elements.
 * Types: 0x404 f32, 0x402 f16, 0x101 i8, and intgemm8 (0x4101): 8-bit q, then after all of them a
 * float m; a value is q / m. Such a matrix is stored transposed, but not Wemb. */
#ifndef TF_EXCHANGE_MARIAN_BIN_H
#define TF_EXCHANGE_MARIAN_BIN_H

#include "exchange/bundle.h"

/* Do these bytes, of which 16 are enough, begin such a file? */
bool tf_marian_bin_begins(const void *p, size_t n);
/* Read from n bytes that outlive *b, into the same tensors as an .npz of the model has, in f32;
 * "special:model.yml", the settings, in i8. Ranges of activations (NAME_QuantMultA) are left out.
 * Errors name the item: types that are packed for one kind of processor, sizes that do not fit. */
int tf_marian_bin_read(struct tf_bundle *b, const void *p, size_t n,
                       struct tf_err *err) TF_MUST_CHECK;

#endif
