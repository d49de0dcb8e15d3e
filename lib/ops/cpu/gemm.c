/* gemm.c - matrix product in register tiles of TF_MR rows by TF_NV registers, and the packing
 * of panels.
 * Goto & van de Geijn, "Anatomy of high-performance matrix multiplication" (2008), without the
 * packing of A: its rows are read as broadcasts. */
#include "ops/cpu/gemm_private.h"

/* A block of A (MC x KC) stays in the second-level cache for all panels. */
#define MC (40 * TF_MR)
#define KC 512

struct tile {
    size_t K;
    const float *a;
    size_t ras, kas;
    const float *b;
    size_t ldb;
    float *c;
    size_t ldc;
    const float *bias;
    /* what to prefetch: ahead_step floats with each k */
    const float *ahead;
    size_t ahead_step;
    int last; /* columns in the last register */
    bool add, relu;
};

/* mr and nv are constants at every call: all loops over them unroll and acc lives in registers. */
INLINE void tile(const struct tile *t, const int mr, const int nv)
{
    vf acc[TF_MR][TF_NV];
    const int last = t->last;
    if (t->add) {
#pragma GCC unroll 8
        for (int i = 0; i < mr; i++) {
#pragma GCC unroll 8
            for (int j = 0; j < nv - 1; j++)
                acc[i][j] = r_load(t->c + (size_t)i * t->ldc + j * VL);
            const float *c = t->c + (size_t)i * t->ldc + (nv - 1) * VL;
            acc[i][nv - 1] = last == VL ? r_load(c) : r_load_n(c, last);
        }
        /* The tile below comes next. */
#pragma GCC unroll 8
        for (int i = 0; i < mr; i++)
#pragma GCC unroll 8
            for (int j = 0; j < nv * VL; j += 16)
                __builtin_prefetch(t->c + (size_t)(i + mr) * t->ldc + j, 1, 3);
    } else if (t->bias != NULL) {
#pragma GCC unroll 8
        for (int i = 0; i < mr; i++) {
#pragma GCC unroll 8
            for (int j = 0; j < nv - 1; j++)
                acc[i][j] = r_load(t->bias + j * VL);
            acc[i][nv - 1] = last == VL ? r_load(t->bias + (nv - 1) * VL)
                                        : r_load_n(t->bias + (nv - 1) * VL, last);
        }
    } else {
#pragma GCC unroll 8
        for (int i = 0; i < mr; i++)
#pragma GCC unroll 8
            for (int j = 0; j < nv; j++)
                acc[i][j] = r_set(0);
    }

    const float *a = t->a, *b = t->b;
    const size_t ras = t->ras, kas = t->kas, ldb = t->ldb, ahead_step = t->ahead_step;
    const float *ahead = t->ahead;
    for (size_t k = t->K; k > 0; k--) {
        vf row[TF_NV];
        __builtin_prefetch(ahead, 0, 2);
        ahead += ahead_step;
#pragma GCC unroll 8
        for (int j = 0; j < nv; j++)
            row[j] = r_load(b + j * VL);
#pragma GCC unroll 8
        for (int i = 0; i < mr; i++) {
            vf x = r_set(a[(size_t)i * ras]);
#pragma GCC unroll 8
            for (int j = 0; j < nv; j++)
                acc[i][j] = r_fma(x, row[j], acc[i][j]);
        }
        a += kas;
        b += ldb;
    }

    if (t->relu) {
#pragma GCC unroll 8
        for (int i = 0; i < mr; i++)
#pragma GCC unroll 8
            for (int j = 0; j < nv; j++)
                acc[i][j] = r_max(r_set(0), acc[i][j]);
    }
#pragma GCC unroll 8
    for (int i = 0; i < mr; i++) {
        float *c = t->c + (size_t)i * t->ldc;
#pragma GCC unroll 8
        for (int j = 0; j < nv - 1; j++)
            r_store(c + j * VL, acc[i][j]);
        if (last == VL)
            r_store(c + (nv - 1) * VL, acc[i][nv - 1]);
        else
            r_store_n(c + (nv - 1) * VL, acc[i][nv - 1], last);
    }
}

TF_CPU_TILES

void TF_CPU(gemm)(const struct tf_cpu_gemm *g)
{
    if (g->M == 0 || g->N == 0)
        return;
    struct tile t = {.ras = g->slice > 0 ? 1 : g->ras,
                     .kas = g->slice > 0 ? TF_MR : g->kas,
                     .ldb = g->ldb,
                     .ldc = g->ldc};
    const size_t tile_step = g->slice > 0 ? g->slice : TF_MR * g->ras;
    for (size_t m0 = 0; m0 < g->M; m0 += MC) {
        size_t m1 = least(g->M, m0 + MC), k0 = 0;
        do {
            bool end = g->K - k0 <= KC;
            t.K = end ? g->K - k0 : KC;
            t.add = g->add || k0 > 0;
            t.relu = g->relu && end;
            for (size_t n0 = 0; n0 < g->N; n0 += TF_NR) {
                size_t n = least(g->N - n0, TF_NR);
                int nv = (int)((n + VL - 1) / VL);
                t.last = (int)n - (nv - 1) * VL;
                t.b = g->b + n0 / TF_NR * g->panel + k0 * g->ldb;
                t.bias = g->bias != NULL ? g->bias + n0 : NULL;
                t.a = g->a + m0 / TF_MR * tile_step + k0 * t.kas;
                t.c = g->c + m0 * g->ldc + n0;
                /* Prefetch into the second-level cache while other tiles are computed: the rows of
                 * A two tiles ahead by the first panel, the next panel of B by the first tiles of
                 * the others. */
                const bool fetch_a =
                    n0 == 0 && g->slice == 0 && g->kas == 1 && g->ras == g->K && g->K <= KC;
                const float *next =
                    n0 + TF_NR < g->N ? t.b + g->panel : g->b + (end ? 0 : (k0 + KC) * g->ldb);
                const float *stop = g->ldb == TF_NR ? next + t.K * TF_NR : next;
                for (size_t m = m0; m < m1; m += TF_MR, t.a += tile_step, t.c += TF_MR * g->ldc) {
                    t.ahead = t.b;
                    t.ahead_step = 0;
                    if (fetch_a) {
                        t.ahead = t.a + 2 * tile_step;
                        t.ahead_step = 16;
                    } else if (next < stop) {
                        t.ahead = next;
                        t.ahead_step = 16;
                        next += t.K * 16;
                    }
                    tiles[least(m1 - m, TF_MR) - 1][nv - 1](&t);
                }
            }
            k0 += t.K;
        } while (k0 < g->K);
    }
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
