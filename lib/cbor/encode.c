/* encode.c - append deterministic CBOR to a buffer. libcbor encodes the heads. */
#include "cbor/encode.h"

#include "base/bits.h"
#include "cbor/head.h"

#include <cbor.h>
#include <float.h>
#include <math.h>
#include <string.h>

enum { HEAD_MAX = 9 };

#define HEAD(b, encode, x)                                                \
    do {                                                                  \
        unsigned char *at_ = (unsigned char *)tf_buf_grow((b), HEAD_MAX); \
        (b)->len += encode((x), at_, HEAD_MAX);                           \
    } while (0)

void tf_cbor_uint(struct tf_buf *b, uint64_t x)
{
    HEAD(b, cbor_encode_uint, x);
}

void tf_cbor_int(struct tf_buf *b, int64_t x)
{
    if (x >= 0)
        HEAD(b, cbor_encode_uint, (uint64_t)x);
    else
        HEAD(b, cbor_encode_negint, ~(uint64_t)x);
}

void tf_cbor_bytes_head(struct tf_buf *b, uint64_t n)
{
    HEAD(b, cbor_encode_bytestring_start, n);
}

void tf_cbor_bytes(struct tf_buf *b, const void *p, size_t n)
{
    HEAD(b, cbor_encode_bytestring_start, n);
    tf_buf_add(b, p, n);
}

void tf_cbor_text(struct tf_buf *b, const char *s, size_t n)
{
    HEAD(b, cbor_encode_string_start, n);
    tf_buf_add(b, s, n);
}

void tf_cbor_str(struct tf_buf *b, const char *s)
{
    tf_cbor_text(b, s, strlen(s));
}

void tf_cbor_array(struct tf_buf *b, uint64_t n)
{
    HEAD(b, cbor_encode_array_start, n);
}

void tf_cbor_map(struct tf_buf *b, uint64_t n)
{
    HEAD(b, cbor_encode_map_start, n);
}

void tf_cbor_tag(struct tf_buf *b, uint64_t tag)
{
    HEAD(b, cbor_encode_tag, tag);
}

void tf_cbor_bool(struct tf_buf *b, bool x)
{
    HEAD(b, cbor_encode_bool, x);
}

void tf_cbor_null(struct tf_buf *b)
{
    tf_buf_byte(b, 0xf6);
}

void tf_cbor_f32(struct tf_buf *b, float x)
{
    if (isnan(x))
        tf_buf_add(b, "\xfa\x7f\xc0\x00\x00", 5); /* one NaN only */
    else
        HEAD(b, cbor_encode_single, x);
}

void tf_cbor_real(struct tf_buf *b, double x)
{
    uint16_t h;
    if (isnan(x)) {
        tf_buf_add(b, "\xf9\x7e\x00", 3);
        return;
    }
    bool fits = isinf(x) || fabs(x) <= (double)FLT_MAX;
    if (fits && (double)(float)x == x) {
        if (tf_half_exact((float)x, &h)) {
            unsigned char s[3] = {0xf9, (unsigned char)(h >> 8), (unsigned char)h};
            tf_buf_add(b, s, 3);
        } else {
            HEAD(b, cbor_encode_single, (float)x);
        }
    } else {
        HEAD(b, cbor_encode_double, x);
    }
}

void tf_cbor_sha256(struct tf_buf *b, const uint8_t sha[32])
{
    tf_cbor_tag(b, TF_TAG_SHA256);
    tf_cbor_bytes(b, sha, 32);
}

void tf_cbor_u16s(struct tf_buf *b, const uint32_t *x, size_t n)
{
    tf_cbor_tag(b, TF_TAG_U16);
    tf_cbor_bytes_head(b, 2 * n);
    char *to = tf_buf_grow(b, 2 * n);
    for (size_t i = 0; i < n; i++) {
        uint16_t v = (uint16_t)x[i];
        memcpy(to + 2 * i, &v, 2);
    }
    b->len += 2 * n;
}

void tf_cbor_u32s(struct tf_buf *b, const uint32_t *x, size_t n)
{
    tf_cbor_tag(b, TF_TAG_U32);
    tf_cbor_bytes_head(b, 4 * n);
    if (n)
        tf_buf_add(b, x, 4 * n);
}

void tf_cbor_f32s(struct tf_buf *b, const float *x, size_t n)
{
    tf_cbor_tag(b, TF_TAG_F32);
    tf_cbor_bytes_head(b, 4 * n);
    if (n)
        tf_buf_add(b, x, 4 * n);
}

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)

const char *tf_cbor_library(void)
{
    return TEXT(CBOR_MAJOR_VERSION) "." TEXT(CBOR_MINOR_VERSION) "." TEXT(CBOR_PATCH_VERSION);
}
