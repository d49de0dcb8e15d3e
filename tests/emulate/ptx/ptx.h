/* ptx.h - what the C++ that translate.py makes of PTX is written in: registers, addresses and the
 * instructions that C++ has no operator for. */
#ifndef TF_TESTS_EMULATE_PTX_H
#define TF_TESTS_EMULATE_PTX_H

#include "emulate.h"

#include <cfenv>

/* A register or constant as another type: the same bits, or of a wider register the low ones. */
template <typename T, typename F> static inline T as(F x)
{
    if constexpr (sizeof(T) == sizeof(F))
        return emulate::bits<T>(x);
    else {
        static_assert(sizeof(T) < sizeof(F) && std::is_integral_v<T> && std::is_integral_v<F>);
        return (T)x;
    }
}
/* A register of as many bits, or of more, which are zeros or signs. */
template <typename R, typename T> static inline void set(R &to, T x)
{
    if constexpr (sizeof(R) == sizeof(T))
        to = emulate::bits<R>(x);
    else {
        static_assert(sizeof(R) > sizeof(T) && std::is_integral_v<R> && std::is_integral_v<T>);
        to = (R)x;
    }
}

/* ---- memory ---- */

/* Shared memory has addresses of 32 bits: here distances from the dynamic part. */
static inline uint32_t shared_address(const void *p)
{
    return (uint32_t)((const char *)p - (const char *)emulate::shared_memory());
}
static inline char *in_shared(uint32_t address)
{
    return (char *)emulate::shared_memory() + (int32_t)address;
}

template <typename T, int N> struct elements {
    T x[N];
};
template <typename T, int N> static inline void check_aligned(const char *p)
{
    if ((uintptr_t)p % (N * sizeof(T)) != 0) {
        fprintf(stderr, "emulate: an access of %zu bytes that is not aligned\n", N * sizeof(T));
        abort();
    }
}
template <typename T, int N> static inline elements<T, N> load(const char *p)
{
    elements<T, N> v;
    check_aligned<T, N>(p);
    memcpy(&v, p, sizeof v);
    return v;
}
template <typename T, int N> static inline void store(char *p, elements<T, N> v)
{
    check_aligned<T, N>(p);
    memcpy(p, &v, sizeof v);
}

/* Of cp.async: how many of 16 bytes are read; the rest becomes zeros. */
static inline bool all_or_none(uint32_t n)
{
    if (n != 0 && n != 16)
        __builtin_trap();
    return n != 0;
}

/* ---- arithmetic ---- */

template <typename T> static inline T shifted_left(T x, uint32_t n)
{
    return n >= 8 * sizeof x ? 0 : (T)(x << n);
}
template <typename T> static inline T shifted_right(T x, uint32_t n)
{
    return n >= 8 * sizeof x ? (T)(x < 0 ? -1 : 0) : (T)(x >> n);
}
static inline uint32_t reversed(uint32_t x)
{
    uint32_t y = 0;
    for (int i = 0; i < 32; i++)
        y |= (x >> i & 1) << (31 - i);
    return y;
}
/* b with n bits of a from bit `at` on. */
template <typename T> static inline T inserted(T a, T b, uint32_t at, uint32_t n)
{
    T ones = shifted_left<T>((T)~shifted_left<T>((T)-1, n & 0xff), at & 0xff);
    return (T)((b & ~ones) | (shifted_left(a, at & 0xff) & ones));
}
/* a b + c, rounded once, as `mode` says. */
static inline float rounded(int mode, float a, float b, float c)
{
    const int before = fegetround();
    volatile float x = a, y;
    fesetround(mode);
    y = fmaf(x, b, c);
    fesetround(before);
    return y;
}
/* Numbers below 2^-126 as 0. */
static inline float flushed(float x)
{
    return fabsf(x) < 0x1p-126f ? copysignf(0, x) : x;
}
static inline float saturated(float x)
{
    return x > 0 ? (x < 1 ? x : 1) : 0; /* 0 for nan */
}
/* The nearest number of an integer's range. For nan 0, or where one of both has 64 bits the one
 * with the highest bit alone. */
template <typename T, typename F> static inline T whole(F x)
{
    const double past = std::ldexp(1.0, (int)(8 * sizeof(T)) - std::is_signed_v<T>);
    if (x != x)
        return sizeof(T) == 8 || sizeof(F) == 8 ? (T)((T)1 << (8 * sizeof(T) - 1)) : 0;
    if (x >= past)
        return std::numeric_limits<T>::max();
    return x < (double)std::numeric_limits<T>::min() ? std::numeric_limits<T>::min() : (T)x;
}

/* ---- warps ---- */

/* Of shfl: a clamp of 31 is a width of 32. */
static inline void whole_warp(uint32_t clamp)
{
    if (clamp != 31)
        __builtin_trap();
}
/* Lane 8 m + y has the address of row y of matrix m; lane l gets elements 2 (l % 4) and the next of
 * row l / 4 of each, or of column l / 4. */
template <bool TRANSPOSED> static inline void ldmatrix(uint32_t d[4], const char *row)
{
    emulate::warp([](emulate::lane l[32], unsigned) {
        for (int lane = 0; lane < 32; lane++)
            for (int m = 0; m < 4; m++) {
                uint32_t pair = 0;
                for (int i = 0; i < 2; i++) {
                    const int y = lane / 4, x = 2 * (lane % 4) + i;
                    const uint16_t *from = (const uint16_t *)l[8 * m + (TRANSPOSED ? x : y)].in[0];
                    pair |= (uint32_t)from[TRANSPOSED ? y : x] << 16 * i;
                }
                ((uint32_t *)l[lane].out)[m] = pair;
            }
    }, 0xffffffffu, row, nullptr, d);
}

#endif
