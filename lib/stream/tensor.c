/* tensor.c - element types: their sizes, conversions and checks. */
#include "stream/tensor.h"
#include "base/bits.h"
#include "base/memory.h"
#include "base/order.h"
#include "cbor/head.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    unsigned size, tag;
} dtypes[] = {
    [TF_F32] = {"f32", 4, TF_TAG_F32},   [TF_F16] = {"f16", 2, TF_TAG_F16},
    [TF_BF16] = {"bf16", 2, TF_TAG_U16}, [TF_F64] = {"f64", 8, TF_TAG_F64},
    [TF_I8] = {"i8", 1, TF_TAG_S8},      [TF_U8] = {"u8", 1, TF_TAG_U8},
    [TF_I32] = {"i32", 4, TF_TAG_S32},   [TF_U32] = {"u32", 4, TF_TAG_U32},
    [TF_I64] = {"i64", 8, TF_TAG_S64},   [TF_U64] = {"u64", 8, TF_TAG_U64},
};
enum { N_DTYPES = sizeof dtypes / sizeof *dtypes };

size_t tf_dtype_size(enum tf_dtype t)
{
    return dtypes[t].size;
}

const char *tf_dtype_name(enum tf_dtype t)
{
    return dtypes[t].name;
}

unsigned tf_dtype_tag(enum tf_dtype t)
{
    return dtypes[t].tag;
}

bool tf_dtype_of(enum tf_dtype *t, const char *name)
{
    for (int i = 0; i < N_DTYPES; i++)
        if (strcmp(dtypes[i].name, name) == 0) {
            *t = (enum tf_dtype)i;
            return true;
        }
    return false;
}

bool tf_tensor_size(uint64_t *bytes, enum tf_dtype dtype, const uint64_t *dims, int rank)
{
    *bytes = tf_dtype_size(dtype);
    for (int i = 0; i < rank; i++) {
        if (dims[i] == 0 || dims[i] > TF_MAX_DIMS / *bytes)
            return false;
        *bytes *= dims[i];
    }
    return true;
}

void tf_tensor_assert(const struct tf_tensor *t)
{
    uint64_t bytes;
    TF_ASSERT(t->name && t->name[0] && strlen(t->name) <= TF_MAX_NAME && t->rank >= 0 &&
              t->rank <= TF_MAX_RANK);
    TF_ASSERT(tf_tensor_size(&bytes, t->dtype, t->dims, t->rank) && bytes == t->bytes);
}

int tf_tensors_unique(const struct tf_tensor *t, size_t n, struct tf_err *err)
{
    const char **names = tf_xarray(NULL, n + 1, sizeof *names);
    for (size_t i = 0; i < n; i++)
        names[i] = t[i].name;
    const char *twice = tf_order_twice(names, n, sizeof *names);
    free(names);
    return twice == NULL ? 0 : tf_fail(err, "tensor %s: twice", twice);
}

void tf_elements_as_floats(float *dst, const struct tf_tensor *t, size_t first, size_t n)
{
    const uint8_t *p = (const uint8_t *)t->data + first * tf_dtype_size(t->dtype);
    uint16_t h;
    TF_ASSERT(t->dtype == TF_F32 || t->dtype == TF_F16 || t->dtype == TF_BF16);
    if (t->dtype == TF_F32) {
        memcpy(dst, p, n * sizeof *dst);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        memcpy(&h, p + 2 * i, 2);
        dst[i] = t->dtype == TF_F16 ? tf_half_to_float(h) : tf_bf16_to_float(h);
    }
}

int tf_tensor_floats(float *dst, const struct tf_tensor *t, struct tf_err *err)
{
    const uint8_t *p = t->data;
    size_t n = t->bytes / tf_dtype_size(t->dtype);
    double d;
    switch (t->dtype) {
    case TF_F32:
    case TF_F16:
    case TF_BF16:
        tf_elements_as_floats(dst, t, 0, n);
        return 0;
    case TF_F64:
        for (size_t i = 0; i < n; i++) {
            memcpy(&d, p + 8 * i, 8);
            if (!tf_to_float(d, &dst[i]))
                return tf_fail(err, "%g is beyond the range of f32", d);
        }
        return 0;
    default:
        return tf_fail(err, "%s: dtype %s, want f32, f16, bf16 or f64", t->name,
                       tf_dtype_name(t->dtype));
    }
}

static uint16_t to_bf16(float x)
{
    uint32_t u = tf_load32(&x);
    return (uint16_t)(isnan(x) ? 0x7fc0 : (u + 0x7fff + (u >> 16 & 1)) >> 16);
}

static uint16_t to_f16(float x)
{
    uint32_t u = tf_load32(&x), sign = u >> 16 & 0x8000;
    u &= 0x7fffffff;
    if (isnan(x))
        return 0x7e00;
    if (u >= 0x47800000) /* 65536 */
        return (uint16_t)(sign | 0x7c00);
    if (u < 0x38800000) /* 2^-14: in steps of 2^-24 from here on */
        return (uint16_t)(sign | (uint32_t)nearbyintf(fabsf(x) * 0x1p24f));
    return (uint16_t)(sign | (u + 0xfff + (u >> 13 & 1) - 0x38000000) >> 13);
}

int tf_floats_as(void *dst, enum tf_dtype dtype, const float *src, size_t n, struct tf_err *err)
{
    TF_ASSERT(dtype == TF_F32 || dtype == TF_F16 || dtype == TF_BF16);
    uint16_t *to = dst, infinite = dtype == TF_F16 ? 0x7c00 : 0x7f80;
    if (dtype == TF_F32) {
        memcpy(dst, src, n * sizeof *src);
        return 0;
    }
    for (size_t i = 0; i < n; i++) {
        to[i] = dtype == TF_F16 ? to_f16(src[i]) : to_bf16(src[i]);
        if ((to[i] & 0x7fff) == infinite && isfinite(src[i]))
            return tf_fail(err, "%g is beyond the range of %s", (double)src[i],
                           tf_dtype_name(dtype));
    }
    return 0;
}

/* exponents: of the elements that a word of 64 bits has; ones: the lowest bits of these. A sum
 * reaches the sign only from an exponent of ones. */
static bool all_finite(const uint8_t *p, size_t bytes, uint64_t exponents, uint64_t ones)
{
    uint64_t sums = 0, last = 0;
    for (; bytes >= 8; bytes -= 8, p += 8)
        sums |= (tf_load64(p) & exponents) + ones;
    memcpy(&last, p, bytes);
    sums |= (last & exponents) + ones;
    return (sums & (exponents + ones)) == 0;
}

bool tf_tensor_finite(enum tf_dtype dtype, const void *data, size_t bytes)
{
    switch (dtype) {
    case TF_F32:
        return all_finite(data, bytes, 0x7f8000007f800000, 0x0080000000800000);
    case TF_F64:
        return all_finite(data, bytes, 0x7ff0000000000000, 0x0010000000000000);
    case TF_F16:
        return all_finite(data, bytes, 0x7c007c007c007c00, 0x0400040004000400);
    case TF_BF16:
        return all_finite(data, bytes, 0x7f807f807f807f80, 0x0080008000800080);
    default:
        return true;
    }
}
