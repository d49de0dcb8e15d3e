/* head.h - the head of a CBOR item (RFC 8949, section 3): its major type and its argument. This is
 * the only place that decodes one; scan.c, cursor.c, value.c and the streams' files all call it.
 *
 * libcbor encodes heads, but does not decode them. With its cbor_stream_decode as the body of
 * tf_head_read, tf-batch executed 32 % more instructions and `tf-cbor check` 15 % (batches) to 48 %
 * (tokens) more: reading a stream is mostly reading heads. At most 3 % would have been acceptable.
 * libcbor 0.8.0 also does not report the length of a string before the whole string is in memory (a
 * tensor may have gigabytes), computes the bytes it needs modulo 2^64, and rejects tags 6 to 20 and
 * unassigned simple values, which readers of these formats must accept. */
#ifndef TF_CBOR_HEAD_H
#define TF_CBOR_HEAD_H

#include "base/bits.h"

#include <stddef.h>
#include <stdint.h>

enum {
    TF_MAJOR_UINT,
    TF_MAJOR_NEGINT,
    TF_MAJOR_BYTES,
    TF_MAJOR_TEXT,
    TF_MAJOR_ARRAY,
    TF_MAJOR_MAP,
    TF_MAJOR_TAG,
    TF_MAJOR_SIMPLE
};

/* Tags used by the formats: RFC 8746 (arrays, little-endian where that matters) and, for SHA-256,
 * the registry's "notable tags". */
enum {
    TF_TAG_MULTI_DIM = 40,
    TF_TAG_U8 = 64,
    TF_TAG_U16 = 69,
    TF_TAG_U32 = 70,
    TF_TAG_U64 = 71,
    TF_TAG_S8 = 72,
    TF_TAG_S32 = 78,
    TF_TAG_S64 = 79,
    TF_TAG_F16 = 84,
    TF_TAG_F32 = 85,
    TF_TAG_F64 = 86,
    TF_TAG_SHA256 = 18540,
};

struct tf_head {
    unsigned major; /* TF_MAJOR_... */
    unsigned info;  /* the low 5 bits of the first byte */
    uint64_t val;   /* the argument: value, length, count, tag, or the bits of a float */
};

/* Decode the head at p. Returns its length in bytes; 0 if n bytes do not contain all of it; -1 if
 * its form is reserved (info 28 to 30) or an indefinite length (31), which the formats exclude. */
static inline int tf_head_read(const uint8_t *p, size_t n, struct tf_head *h)
{
    if (n == 0)
        return 0;
    h->major = p[0] >> 5;
    h->info = p[0] & 31;
    if (h->info < 24) {
        h->val = h->info;
        return 1;
    }
    if (h->info > 27)
        return -1;
    size_t k = (size_t)1 << (h->info - 24);
    if (n < 1 + k)
        return 0;
    switch (k) {
    case 1:
        h->val = p[1];
        return 2;
    case 2:
        h->val = (uint64_t)p[1] << 8 | p[2];
        return 3;
    case 4:
        h->val = __builtin_bswap32(tf_load32(p + 1));
        return 5;
    default:
        h->val = __builtin_bswap64(tf_load64(p + 1));
        return 9;
    }
}

/* Why tf_head_read returned -1 for the head that begins with this byte. */
static inline const char *tf_head_fault(uint8_t first)
{
    return (first & 31) == 31 ? "indefinite length" : "reserved head";
}

#endif
