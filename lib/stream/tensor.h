/* tensor.h - tensors in files: element types, shapes, conversion to and from float. */
#ifndef TF_STREAM_TENSOR_H
#define TF_STREAM_TENSOR_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum tf_dtype { TF_F32, TF_F16, TF_BF16, TF_F64, TF_I8, TF_U8, TF_I32, TF_U32, TF_I64, TF_U64 };
size_t tf_dtype_size(enum tf_dtype t);
const char *tf_dtype_name(enum tf_dtype t);           /* "f32", ... */
unsigned tf_dtype_tag(enum tf_dtype t);               /* CBOR tag of an array (RFC 8746) */
bool tf_dtype_of(enum tf_dtype *t, const char *name); /* false when there is none of that name */

#define TF_MAX_RANK 8
#define TF_MAX_NAME 128                 /* bytes of a tensor's or state's name */
#define TF_MAX_PAD 255                  /* bytes of a pad; the writer uses 24 to 87 */
#define TF_MAX_DIMS ((uint64_t)1 << 62) /* product of dims and element size */

/* A tensor of a file: a view of the file's memory. */
struct tf_tensor {
    const char *name;
    enum tf_dtype dtype;
    int rank;
    uint64_t dims[TF_MAX_RANK];
    const void *data; /* little-endian, row-major; 64-byte aligned in our own files */
    size_t bytes;
    uint32_t crc; /* CRC-32C of data */
};

/* Bytes of a tensor; false where a dim is 0 or the product goes beyond TF_MAX_DIMS. */
bool tf_tensor_size(uint64_t *bytes, enum tf_dtype dtype, const uint64_t *dims, int rank);
/* A bug if no file can have the tensor: by its name, its rank, or bytes that are not its dims'. */
void tf_tensor_assert(const struct tf_tensor *t);
/* Fail if two of n tensors have the same name. */
int tf_tensors_unique(const struct tf_tensor *t, size_t n, struct tf_err *err) TF_MUST_CHECK;
/* Are all values finite? True for integers. */
bool tf_tensor_finite(enum tf_dtype dtype, const void *data, size_t bytes);
/* Convert the values of a tensor of f32, f16, bf16 or f64 to the nearest floats. Its data need no
 * alignment. Other dtypes, and f64 beyond the range of f32, are an error. */
int tf_tensor_floats(float *dst, const struct tf_tensor *t, struct tf_err *err) TF_MUST_CHECK;
/* Elements first .. first + n of a tensor of f32, f16 or bf16. */
void tf_elements_as_floats(float *dst, const struct tf_tensor *t, size_t first, size_t n);
/* Convert n floats to f32, f16 or bf16, to nearest, ties to even. A finite value that would become
 * infinite is an error. */
int tf_floats_as(void *dst, enum tf_dtype dtype, const float *src, size_t n,
                 struct tf_err *err) TF_MUST_CHECK;

#endif
