/* dropout_private.h - dropout as bits: 32 columns of a row at a time, from Philox4x32-10 (the
 * scalar form is in base/rng.h). */
#ifndef TF_OPS_CPU_DROPOUT_PRIVATE_H
#define TF_OPS_CPU_DROPOUT_PRIVATE_H

#include "base/rng.h"
#include "ops/cpu/kernels_private.h"
#include "ops/cpu/vec_private.h"

struct dropout {
    float scale;        /* 1 / (1 - p); 0 when dropout is off */
    uint32_t threshold; /* kept iff u >= threshold */
    uint32_t site, update;
    uint64_t seed;
    uint32_t k0[10], k1[10]; /* keys of the rounds */
};

static inline struct dropout dropout_of(const struct tf_ctx *c, struct tf_dropout dropout)
{
    struct dropout d = {.site = dropout.site, .update = c->rng.update, .seed = c->rng.seed};
    if (dropout.p <= 0)
        return d;
    double limit = (double)dropout.p * 0x1p32;
    d.threshold = (uint32_t)limit;
    d.threshold += (double)d.threshold < limit;
    d.scale = (float)(1 / (1 - (double)dropout.p));
    for (uint32_t i = 0; i < 10; i++) {
        d.k0[i] = (uint32_t)c->rng.seed + i * 0x9e3779b9u;
        d.k1[i] = (uint32_t)(c->rng.seed >> 32) + i * 0xbb67ae85u;
    }
    return d;
}

#if VL >= 8
#if VL == 16
typedef __m512i v64;
#define V64(name, ...) _mm512_##name(__VA_ARGS__)
#define LANES _mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7)
#else
typedef __m256i v64;
#define V64(name, ...) _mm256_##name(__VA_ARGS__)
#define LANES _mm256_setr_epi64x(0, 2, 1, 3)
#endif

/* VL / 2 counters at once, one in the low half of each 64-bit lane; the high halves are
 * arbitrary: the multiplication ignores them. With this order of the counters (LANES) the last
 * unpacking puts all words in the order of their columns: lo has columns 0 .. VL-1, hi the next VL.
 */
INLINE void philox_words(const struct dropout *d, uint32_t row, uint32_t counter, v64 *lo, v64 *hi)
{
#if VL == 16
    v64 c0 = V64(add_epi64, V64(set1_epi64, counter), LANES), c1 = V64(set1_epi64, row);
    v64 c2 = V64(set1_epi64, d->site), c3 = V64(set1_epi64, d->update);
#define XOR3(a, b, c) _mm512_ternarylogic_epi64(a, b, c, 0x96)
#else
    v64 c0 = V64(add_epi64, V64(set1_epi64x, counter), LANES), c1 = V64(set1_epi64x, row);
    v64 c2 = V64(set1_epi64x, d->site), c3 = V64(set1_epi64x, d->update);
#define XOR3(a, b, c) _mm256_xor_si256(_mm256_xor_si256(a, b), c)
#endif
    const v64 m0 = V64(set1_epi32, (int)0xd2511f53), m1 = V64(set1_epi32, (int)0xcd9e8d57);
#pragma GCC unroll 10
    for (int i = 0; i < 10; i++) {
        v64 p0 = V64(mul_epu32, m0, c0), p1 = V64(mul_epu32, m1, c2);
        c0 = XOR3(V64(srli_epi64, p1, 32), c1, V64(set1_epi32, (int)d->k0[i]));
        c2 = XOR3(V64(srli_epi64, p0, 32), c3, V64(set1_epi32, (int)d->k1[i]));
        c1 = p1;
        c3 = p0;
    }
#if VL == 16
    v64 a = _mm512_mask_blend_epi32(0xaaaa, c0, _mm512_slli_epi64(c1, 32));
    v64 b = _mm512_mask_blend_epi32(0xaaaa, c2, _mm512_slli_epi64(c3, 32));
#else
    v64 a = _mm256_blend_epi32(c0, _mm256_slli_epi64(c1, 32), 0xaa);
    v64 b = _mm256_blend_epi32(c2, _mm256_slli_epi64(c3, 32), 0xaa);
#endif
    *lo = V64(unpacklo_epi64, a, b);
    *hi = V64(unpackhi_epi64, a, b);
}
#endif

/* Which of 32 columns are kept. */
typedef struct {
    m16 lo, hi;
} m32;

/* Columns col .. col+31 of a packed row; col a multiple of 4. */
INLINE m32 dropout_mask(const struct dropout *d, uint32_t row, uint32_t col)
{
    v16u limit = u_set(d->threshold);
#if VL == 16
    v64 lo, hi;
    philox_words(d, row, col / 4, &lo, &hi);
    return (m32){m_geu((v16u){(vu)lo}, limit), m_geu((v16u){(vu)hi}, limit)};
#elif VL == 8
    v64 a, b, e, f;
    philox_words(d, row, col / 4, &a, &b);
    philox_words(d, row, col / 4 + 4, &e, &f);
    return (m32){m_geu((v16u){(vu)a, (vu)b}, limit), m_geu((v16u){(vu)e, (vu)f}, limit)};
#else
    uint32_t u[32];
    for (uint32_t i = 0; i < 8; i++) {
        const uint32_t counter[4] = {col / 4 + i, row, d->site, d->update};
        tf_philox(u + i * 4, counter, d->seed);
    }
    return (m32){m_geu(u_load(u), limit), m_geu(u_load(u + 16), limit)};
#endif
}

/* One row of n columns: y = dropout(x), d on. y may be x. */
INLINE void dropout_row(const struct dropout *d, uint32_t row, float *y, const float *x, size_t n)
{
    v16f scale = v_set(d->scale);
    size_t i = 0;
    for (; i + 32 <= n; i += 32) {
        m32 m = dropout_mask(d, row, (uint32_t)i);
        v_store(y + i, v_keep(m.lo, v_mul(v_load(x + i), scale)));
        v_store(y + i + 16, v_keep(m.hi, v_mul(v_load(x + i + 16), scale)));
    }
    if (i < n) {
        size_t left = n - i;
        m32 m = dropout_mask(d, row, (uint32_t)i);
        v_store_n(y + i, v_keep(m.lo, v_mul(v_load_n(x + i, left), scale)), left);
        if (left > 16)
            v_store_n(y + i + 16, v_keep(m.hi, v_mul(v_load_n(x + i + 16, left - 16), scale)),
                      left - 16);
    }
}

#endif
