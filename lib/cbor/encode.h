/* encode.h - append CBOR items to a buffer, in the deterministic encoding of RFC 8949, 4.2.1:
 * shortest heads, definite lengths only, shortest floats. Scores are the exception: tf_cbor_f32
 * always writes binary32. Nothing here can fail (see buf.h about memory). */
#ifndef TF_CBOR_ENCODE_H
#define TF_CBOR_ENCODE_H

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

void tf_cbor_uint(struct tf_buf *b, uint64_t x);
void tf_cbor_int(struct tf_buf *b, int64_t x);
void tf_cbor_bool(struct tf_buf *b, bool x);
void tf_cbor_null(struct tf_buf *b);
/* The shortest of half, single and double precision that keeps the value; NaN as f97e00. */
void tf_cbor_real(struct tf_buf *b, double x);
void tf_cbor_f32(struct tf_buf *b, float x); /* binary32; NaN as fa7fc00000 */
void tf_cbor_bytes(struct tf_buf *b, const void *p, size_t n);
void tf_cbor_text(struct tf_buf *b, const char *s, size_t n); /* s is UTF-8 */
void tf_cbor_str(struct tf_buf *b, const char *s);
void tf_cbor_sha256(struct tf_buf *b, const uint8_t sha[32]); /* tag 18540 */

/* Heads alone: the caller appends the n bytes, n items, n pairs or one item that belong to them.
 * The keys of a map go in bytewise order of their encodings. */
void tf_cbor_bytes_head(struct tf_buf *b, uint64_t n);
void tf_cbor_array(struct tf_buf *b, uint64_t n);
void tf_cbor_map(struct tf_buf *b, uint64_t n);
void tf_cbor_tag(struct tf_buf *b, uint64_t tag);

/* Typed arrays of n numbers, little-endian (RFC 8746). */
void tf_cbor_u16s(struct tf_buf *b, const uint32_t *x, size_t n); /* tag 69; x[i] < 65536 */
void tf_cbor_u32s(struct tf_buf *b, const uint32_t *x, size_t n); /* tag 70 */
void tf_cbor_f32s(struct tf_buf *b, const float *x, size_t n);    /* tag 85 */

const char *tf_cbor_library(void); /* version of libcbor at compile time, such as "0.8.0" */

#endif
