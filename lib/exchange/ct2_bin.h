/* ct2_bin.h - model.bin, the file of weights of CTranslate2 (github.com/OpenNMT/CTranslate2,
 * python/ctranslate2/specs/model_spec.py and src/models/model.cc).
 *
 * All numbers are little-endian; a string is u16 length with its NUL, and its bytes:
 *
 *     u32 version; string name and u32 revision of the kind of model; u32 number of variables;
 *     of each: string name, u8 rank, u32 dims [rank],
 *         from version 4 on u8 type, u32 bytes; before that u8 size of an item, u32 items; data;
 *     from version 3 on u32 number of aliases; of each: its name, and that of a variable
 *
 * Types: 0 f32, 1 i8, 2 i16, 3 i32, 4 f16, 5 bf16. Weights are quantised by rows in i8, with a
 * variable NAME_scale [rows], or as a whole in i16, with one scale: weight = q / scale. */
#ifndef TF_EXCHANGE_CT2_BIN_H
#define TF_EXCHANGE_CT2_BIN_H

#include "exchange/bundle.h"

/* Could n bytes be the beginning of one, of any version? */
bool tf_ct2_bin_begins(const void *p, size_t n);
/* Read a file of n bytes into *b (zero-initialised), whose floating-point data refer to it where
 * they need no conversion. Quantised weights become f32, without their scales; integers are i32,
 * aliases tensors of the same data. Errors: versions but 2 to 6; a kind of model other than a
 * Transformer of encoder and decoder; a file that is cut or contradicts itself. */
int tf_ct2_bin_read(struct tf_bundle *b, const void *p, size_t n,
                        struct tf_err *err) TF_MUST_CHECK;
/* Write version 6 from b->tensors: floats of f32, f16 or bf16, single numbers of i8, or of i32
 * written as i16. A tensor with the data of one before it becomes its alias. Error: a tensor of
 * 4 GiB or more, which the format cannot express. */
int tf_ct2_bin_write(struct tf_out *out, const struct tf_bundle *b,
                         struct tf_err *err) TF_MUST_CHECK;

#endif
