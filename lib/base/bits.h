/* bits.h - numbers as bit patterns: unaligned little-endian loads, IEEE 754 single and
 * half precision. */
#ifndef TF_BASE_BITS_H
#define TF_BASE_BITS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "hosts are little-endian"
#endif

/* The little-endian number at p, which may be unaligned. */
static inline uint16_t tf_load16(const void *p)
{
    uint16_t x;
    memcpy(&x, p, 2);
    return x;
}

static inline uint32_t tf_load32(const void *p)
{
    uint32_t x;
    memcpy(&x, p, 4);
    return x;
}

static inline uint64_t tf_load64(const void *p)
{
    uint64_t x;
    memcpy(&x, p, 8);
    return x;
}

/* Round to the nearest float; false if a number is beyond the range of floats. */
bool tf_to_float(double d, float *x);
/* The value of a half (binary16); every half is exactly a float. */
float tf_half_to_float(uint16_t h);
/* The value of a bfloat16, the upper half of a float. */
float tf_bf16_to_float(uint16_t h);
/* Set *h to the half with exactly the value of x, which is not NaN; false if there is none. */
bool tf_half_exact(float x, uint16_t *h);

#endif
