/* fp32.c - products in fp32 (gemm_private.h), of weights packed in binary16, too, and the layout of
 * panels and slices, which bf16.c has of pairs. */
#include "ops/cpu/gemm_tile_private.h"

void TF_CPU(gemm)(struct tf_ctx *c, const struct tf_cpu_gemm *g)
{
    (void)c;
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

/* ---- for the operations ---- */

static void lay_out_a(struct tf_ctx *c, struct tf_cpu_gemm *g, const float *a, size_t lda,
                      bool transposed)
{
    g->a = a;
    g->ras = transposed ? 1 : lda;
    g->kas = transposed ? lda : 1;
    if (transposed && g->N >= 4 * TF_NR) { /* enough panels to pay for the copy */
        float *slices = tf_cpu_scratch(c, TF_CPU_A, tf_cpu_slices_size(g->K, g->M));
        TF_CPU(slices)(slices, a, lda, g->K, g->M);
        g->a = slices;
        g->slice = tf_cpu_slice(g->K);
    }
}

static void panels_of(float *p, const float *b, size_t ldb, bool transposed, size_t K, size_t N)
{
    if (transposed)
        TF_CPU(panels_t)(p, b, ldb, K, N);
    else
        TF_CPU(panels)(p, b, ldb, K, N);
}

static void lay_out_b(struct tf_ctx *c, struct tf_cpu_gemm *g, int buffer, const float *b,
                      size_t ldb, bool transposed)
{
    float *panels = tf_cpu_scratch(c, buffer, tf_cpu_panels_size(g->K, g->N));
    panels_of(panels, b, ldb, transposed, g->K, g->N);
    g->b = panels;
    g->ldb = TF_NR;
    g->panel = g->K * TF_NR;
}

/* ---- packed weights ---- */

static void reserve_scratch(struct tf_ctx *c, struct tf_packed *w)
{
    const size_t n = w->apart ? w->K * w->N : tf_cpu_panels_size(w->K, w->N);
    w->panels = tf_arena_alloc(&c->packed, n * (w->halves ? sizeof(uint16_t) : sizeof(float)));
}

/* Panels of halves, as TF_CPU(panels) and, of [N, K], panels_t lay out floats. */
static void halves_in_panels(uint16_t *to, const uint16_t *from, size_t ld, size_t K, size_t N)
{
    for (size_t n0 = 0; n0 < N; n0 += TF_NR) {
        const size_t n = least(N - n0, TF_NR);
        for (size_t k = 0; k < K; k++, to += TF_NR) {
            memcpy(to, from + k * ld + n0, n * sizeof *to);
            memset(to + n, 0, (TF_NR - n) * sizeof *to);
        }
    }
}

static void halves_in_panels_t(uint16_t *to, const uint16_t *from, size_t K, size_t N)
{
    enum { LINE = 32 };
    for (size_t n0 = 0; n0 < N; n0 += TF_NR, from += TF_NR * K, to += TF_NR * K) {
        const size_t n = least(N - n0, TF_NR);
        if (n < TF_NR)
            memset(to, 0, TF_NR * K * sizeof *to);
        for (size_t k0 = 0; k0 < K; k0 += LINE)
            for (size_t j = 0; j < n; j++)
                for (size_t k = k0; k < least(k0 + LINE, K); k++)
                    to[k * TF_NR + j] = from[j * K + k];
    }
}

void TF_CPU(select_panels)(struct tf_ctx *c, void *p, const void *table, const uint32_t *ids,
                           size_t K, size_t N, bool halves)
{
    const size_t row = K * (halves ? sizeof(uint16_t) : sizeof(float));
    char *rows = tf_host_scratch(c, TF_CPU_BLOCK, TF_NR * row), *to = p;
    for (size_t n0 = 0; n0 < N; n0 += TF_NR, to += TF_NR * row) {
        const size_t n = least(N - n0, TF_NR);
        for (size_t j = 0; j < n; j++)
            memcpy(rows + j * row, (const char *)table + ids[n0 + j] * row, row);
        if (halves)
            halves_in_panels_t((uint16_t *)to, (const uint16_t *)rows, K, n);
        else
            TF_CPU(panels_t)((float *)to, (const float *)rows, K, K, n);
    }
}

static void pack_part(struct tf_ctx *c, struct tf_packed *p, const tf_mem_param *w, size_t ld,
                      bool transposed, size_t first, size_t n)
{
    (void)c;
    const size_t at = first * p->K;
    if (p->apart && p->halves)
        memcpy((uint16_t *)p->panels + at, w, n * p->K * sizeof(uint16_t));
    else if (p->apart)
        memcpy(out(p->panels, at), w, n * p->K * sizeof(float));
    else if (p->halves && transposed)
        halves_in_panels_t((uint16_t *)p->panels + at, w, p->K, n);
    else if (p->halves)
        halves_in_panels((uint16_t *)p->panels + at, w, ld, p->K, n);
    else
        panels_of(out(p->panels, at), w, transposed ? p->K : ld, transposed, p->K, n);
}

static void select_columns(struct tf_ctx *c, struct tf_packed *to, const struct tf_packed *from,
                           const uint32_t *ids, size_t n)
{
    TF_CPU(select_panels)(c, to->panels, from->panels, ids, to->K, n, to->halves);
}

/* 16 halves as floats; they are finite. */
INLINE v16f v_halves(const uint16_t *h)
{
#if VL == 16
    return (v16f){(vf)_mm512_cvtph_ps(_mm256_loadu_si256((const void *)h))};
#elif VL == 8
    return (v16f){(vf)_mm256_cvtph_ps(_mm_loadu_si128((const void *)h)),
                  (vf)_mm256_cvtph_ps(_mm_loadu_si128((const void *)(h + 8)))};
#else
    uint32_t lanes[16];
    for (int i = 0; i < 16; i++)
        lanes[i] = h[i];
    v16u u = u_load(lanes), sign = u_shl(u_and(u, u_set(0x8000)), 16);
    v16f magnitude = v_mul(v_bits(u_shl(u_and(u, u_set(0x7fff)), 13)), v_set(0x1p112f)); /* exact */
    return v_bits(u_or(u_bits(magnitude), sign));
#endif
}

/* The first n rows of a panel as floats; the next part, `most` rows on, is fetched meanwhile. */
INLINE void floats_of_part(float *to, const uint16_t *h, size_t n, size_t most)
{
    for (size_t k = 0; k < n; k++, h += TF_NR)
        for (size_t j = 0; j < TF_NR; j += 16, to += 16) {
            if (j % 32 == 0)
                __builtin_prefetch(h + j + most * TF_NR, 0, 2);
            v_store(to, v_halves(h + j));
        }
}

/* A part of a panel at a time as floats: chains continue from part to part, with the bits of the
 * whole. Of few rows a part and its sums stay in the first-level cache; of many rows a part is as
 * large as the product takes it, and pays for its floats. */
static void multiply_halves(struct tf_ctx *c, struct tf_cpu_gemm g, const uint16_t *halves)
{
    enum { FEW = 12, SMALL = 4096 / TF_NR, LARGE = 512 };
    const size_t K = g.K, N = g.N;
    const bool relu = g.relu, few = g.M <= FEW;
    const size_t most = few ? SMALL : LARGE;
    float *part = tf_cpu_scratch(c, TF_CPU_ROW, LARGE * TF_NR + FEW * TF_NR),
          *sums = part + LARGE * TF_NR, *const y = g.c;
    const float *const x = g.a, *const bias = g.bias;
    g.b = part;
    g.ldb = TF_NR;
    g.ldc = few ? TF_NR : N;
    for (size_t n0 = 0; n0 < N; n0 += TF_NR) {
        const uint16_t *panel = halves + n0 * K;
        g.N = least(N - n0, TF_NR);
        g.c = few ? sums : y + n0;
        for (size_t k = 0; k < K; k += most) {
            g.K = least(K - k, most);
            floats_of_part(part, panel + k * TF_NR, g.K, most);
            g.a = x + k;
            g.bias = k == 0 && bias != NULL ? bias + n0 : NULL;
            g.add = k > 0;
            g.relu = relu && k + g.K == K;
            multiply(&g);
        }
        for (size_t i = 0; few && i < g.M; i++)
            memcpy(y + i * N + n0, sums + i * TF_NR, g.N * sizeof *y);
    }
}

static void multiply_packed(struct tf_ctx *c, const struct tf_cpu_gemm *g,
                            const struct tf_packed *w)
{
    if (w->halves) {
        multiply_halves(c, *g, w->panels);
        return;
    }
    struct tf_cpu_gemm with = *g;
    with.b = w->panels;
    with.ldb = TF_NR;
    with.panel = w->K * TF_NR;
    multiply(&with);
}

static void unpack_column(float *e, const struct tf_packed *w, size_t id)
{
    const size_t at = w->apart ? id * w->K : id / TF_NR * TF_NR * w->K + id % TF_NR,
                 step = w->apart ? 1 : TF_NR;
    for (size_t k = 0; !w->halves && k < w->K; k++)
        e[k] = *in(w->panels, at + k * step);
    for (size_t k = 0; w->halves && k < w->K; k += 16) {
        uint16_t h[16] = {0};
        const size_t n = least(w->K - k, 16);
        for (size_t i = 0; i < n; i++)
            h[i] = ((const uint16_t *)w->panels)[at + (k + i) * step];
        v_store_n(e + k, v_halves(h), n);
    }
}

const struct tf_cpu_products TF_CPU(fp32) = {.rows = 240,
                                             .entries = 240,
                                             .multiple = 16,
                                             .lay_out_a = lay_out_a,
                                             .lay_out_b = lay_out_b,
                                             .multiply = TF_CPU(gemm),
                                             .multiply_packed = multiply_packed,
                                             .reserve = reserve_scratch,
                                             .pack = pack_part,
                                             .select = select_columns,
                                             .column = unpack_column};
