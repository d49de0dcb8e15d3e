/* gemm_fp32.c - the matrix product in fp32, and the packing of panels. */
#include "ops/cpu/gemm_tile_private.h"

void TF_CPU(gemm)(const struct tf_cpu_gemm *g)
{
    multiply(g);
}

void TF_CPU(panels)(float *p, const float *b, size_t ldb, size_t K, size_t N)
{
    for (size_t n0 = 0; n0 < N; n0 += TF_NR) {
        size_t n = least(N - n0, TF_NR);
        for (size_t k = 0; k < K; k++, p += TF_NR) {
            const float *from = b + k * ldb + n0;
            if (n == TF_NR) {
#pragma GCC unroll 8
                for (int j = 0; j < TF_NV; j++)
                    r_store(p + j * VL, r_load(from + j * VL));
            } else {
                memcpy(p, from, n * sizeof *p);
                memset(p + n, 0, (TF_NR - n) * sizeof *p);
            }
        }
    }
}

void TF_CPU(slices)(float *p, const float *a, size_t lda, size_t K, size_t M)
{
    const size_t step = tf_cpu_slice(K), whole = M >= 8 ? (M - 8) / TF_MR + 1 : 0;
    for (size_t k = 0; k < K; k++) {
        const float *from = a + k * lda;
        float *to = p + k * TF_MR;
        size_t i = 0;
        /* 8 at a time although only TF_MR count: the next k overwrites the rest. */
        for (; i < whole; i++)
            memcpy(to + i * step, from + i * TF_MR, 8 * sizeof *p);
        for (; i * TF_MR < M; i++)
            memcpy(to + i * step, from + i * TF_MR, least(M - i * TF_MR, TF_MR) * sizeof *p);
    }
}

#if VL == 8
/* to[k * TF_NR + j] = from[j * ld + k] for k < 4, j < 8. */
INLINE void transpose4(float *to, const float *from, size_t ld)
{
    __m256 r[4];
#pragma GCC unroll 4
    for (size_t i = 0; i < 4; i++)
        r[i] = _mm256_loadu2_m128(from + (i + 4) * ld, from + i * ld);
    __m256d a = (__m256d)_mm256_unpacklo_ps(r[0], r[1]),
            b = (__m256d)_mm256_unpackhi_ps(r[0], r[1]),
            c = (__m256d)_mm256_unpacklo_ps(r[2], r[3]),
            d = (__m256d)_mm256_unpackhi_ps(r[2], r[3]);
    _mm256_storeu_ps(to, (__m256)_mm256_unpacklo_pd(a, c));
    _mm256_storeu_ps(to + TF_NR, (__m256)_mm256_unpackhi_pd(a, c));
    _mm256_storeu_ps(to + 2 * TF_NR, (__m256)_mm256_unpacklo_pd(b, d));
    _mm256_storeu_ps(to + 3 * TF_NR, (__m256)_mm256_unpackhi_pd(b, d));
}
#endif

/* to[k * TF_NR + j] = from[j * ld + k] for k < nk, j < nj, with zeros for the other j < 16; nk, nj
 * 1 .. 16. */
INLINE void transpose16(float *to, const float *from, size_t ld, size_t nk, size_t nj)
{
#if VL == 16
    const __mmask16 some = (__mmask16)((1u << nk) - 1);
    __m512 r[16], s[16];
#pragma GCC unroll 16
    for (size_t i = 0; i < 16; i++)
        r[i] = i < nj ? _mm512_maskz_loadu_ps(some, from + i * ld) : _mm512_setzero_ps();
#pragma GCC unroll 16
    for (int i = 0; i < 16; i += 2) {
        s[i] = _mm512_unpacklo_ps(r[i], r[i + 1]);
        s[i + 1] = _mm512_unpackhi_ps(r[i], r[i + 1]);
    }
#pragma GCC unroll 16
    for (int i = 0; i < 16; i += 4) {
        r[i] = (__m512)_mm512_unpacklo_pd((__m512d)s[i], (__m512d)s[i + 2]);
        r[i + 1] = (__m512)_mm512_unpackhi_pd((__m512d)s[i], (__m512d)s[i + 2]);
        r[i + 2] = (__m512)_mm512_unpacklo_pd((__m512d)s[i + 1], (__m512d)s[i + 3]);
        r[i + 3] = (__m512)_mm512_unpackhi_pd((__m512d)s[i + 1], (__m512d)s[i + 3]);
    }
    /* r[4g + q] holds columns q, q + 4, q + 8, q + 12 of rows 4g .. 4g + 3, a quarter each. */
#pragma GCC unroll 16
    for (int q = 0; q < 4; q++) {
        __m512 a = _mm512_shuffle_f32x4(r[q], r[q + 4], 0x88),
               b = _mm512_shuffle_f32x4(r[q + 8], r[q + 12], 0x88);
        __m512 c = _mm512_shuffle_f32x4(r[q], r[q + 4], 0xdd),
               d = _mm512_shuffle_f32x4(r[q + 8], r[q + 12], 0xdd);
        s[q] = _mm512_shuffle_f32x4(a, b, 0x88);
        s[q + 4] = _mm512_shuffle_f32x4(c, d, 0x88);
        s[q + 8] = _mm512_shuffle_f32x4(a, b, 0xdd);
        s[q + 12] = _mm512_shuffle_f32x4(c, d, 0xdd);
    }
#pragma GCC unroll 16
    for (size_t k = 0; k < 16; k++)
        if (k < nk)
            _mm512_storeu_ps(to + k * TF_NR, s[k]);
#else
#if VL == 8
    if (nj == 16)
        for (; nk >= 4; nk -= 4, from += 4, to += 4 * TF_NR)
            transpose4(to, from, ld), transpose4(to + 8, from + 8 * ld, ld);
#endif
    for (size_t k = 0; k < nk; k++)
        for (size_t j = 0; j < 16; j++)
            to[k * TF_NR + j] = j < nj ? from[j * ld + k] : 0;
#endif
}

/* The last panel is padded with zeros to whole groups of 16 columns only: nothing reads further. */
void TF_CPU(panels_t)(float *p, const float *b, size_t ldb, size_t K, size_t N)
{
    for (size_t n0 = 0; n0 < N; n0 += TF_NR, p += K * TF_NR)
        for (size_t k = 0; k < K; k += 16)
            for (size_t j = n0; j < least(N, n0 + TF_NR); j += 16)
                transpose16(p + k * TF_NR + (j - n0), b + j * ldb + k, ldb, least(K - k, 16),
                            least(N - j, 16));
}
