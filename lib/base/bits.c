/* bits.c - conversion between float and half precision. */
#include "base/bits.h"

#include <math.h>

bool tf_to_float(double d, float *x)
{
    *x = (float)d; /* infinite beyond the range (C11, annex F) */
    return isfinite(*x) || !isfinite(d);
}

float tf_half_to_float(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, e = h >> 10 & 31, m = h & 0x3ff, u;
    if (e == 0) { /* zero and subnormals: m * 2^-24 */
        float f = (float)m * 0x1p-24f;
        return sign ? -f : f;
    }
    u = e == 31 ? sign | 0x7f800000 | m << 13 : sign | (e + 112) << 23 | m << 13;
    float f;
    memcpy(&f, &u, 4);
    return f;
}

float tf_bf16_to_float(uint16_t h)
{
    uint32_t u = (uint32_t)h << 16;
    float f;
    memcpy(&f, &u, 4);
    return f;
}

bool tf_half_exact(float x, uint16_t *h)
{
    uint32_t u = tf_load32(&x), m = u & 0x7fffff;
    uint16_t sign = (uint16_t)(u >> 16 & 0x8000);
    int e = (int)(u >> 23 & 255) - 127;
    if (e == 128 || (u & 0x7fffffff) == 0) { /* infinity, zero */
        *h = (uint16_t)(sign | (e == 128 ? 0x7c00 : 0));
        return true;
    }
    if (e > 15 || e < -24)
        return false;
    int lost = e >= -14 ? 13 : -1 - e; /* mantissa bits that do not fit a half */
    uint32_t full = e >= -14 ? m : m | 0x800000;
    if (full & ((1u << lost) - 1))
        return false;
    *h = (uint16_t)(sign | (e >= -14 ? (uint32_t)(e + 15) << 10 : 0) | full >> lost);
    return true;
}
