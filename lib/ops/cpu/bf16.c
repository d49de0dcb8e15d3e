/* bf16.c - products in bf16: what is multiplied is rounded to bf16, to nearest even; products are
 * exact, sums are fp32, and so is everything in memory.
 *
 * Two neighbours along k share 32 bits, the even k in the lower half; an odd K is filled up with
 * zero. An element is one chain over the pairs, acc = fma(a0, b0, fma(a1, b1, acc)), in which
 * numbers below 2^-126 count as 0: the definition of VDPBF16PS (Intel SDM), which avx512bf16 has.
 * The other sets make the same bits of two multiply-adds, except of products below 2^-126 where
 * those are not fused (generic), and of all such numbers on ARM, where they are kept. */
#include "ops/cpu/gemm_private.h"

INLINE vf multiply_pairs(vf x, vf row, vf acc)
{
#ifdef __AVX512BF16__
    return (vf)_mm512_dpbf16_ps((__m512)acc, (__m512bh)x, (__m512bh)row);
#else
    const vu high = (vu){0} + 0xffff0000;
    acc = r_fma((vf)((vu)x & high), (vf)((vu)row & high), acc);
    return r_fma((vf)((vu)x << 16), (vf)((vu)row << 16), acc);
#endif
}

#define MULTIPLY_ADD multiply_pairs
#include "ops/cpu/gemm_tile_private.h"

/* ---- pairs ---- */

static size_t pairs(size_t n)
{
    return (n + 1) / 2;
}

#ifndef __AVX512BF16__
/* bf16 in the upper half of each lane. */
INLINE v16u rounded(v16f x)
{
    const v16u one = u_set(1), quiet = u_set(0x400000);
    v16u u = u_bits(x), even = u_and(u_shr(u, 16), one),
         near = u_add(u_add(u, u_set(0x7fff)), even);
    m16 nan = m_geu(u_and(u, u_set(0x7fffffff)), u_set(0x7f800001)),
        small = m_geu(u_set(0x7fffff), u_and(u, u_set(0x7fffffff)));
    near = u_bits(v_pick(nan, v_bits(u_or(u, quiet)), v_bits(near)));
    near = u_bits(v_pick(small, v_bits(u_and(u, u_set(0x80000000))), v_bits(near)));
    return u_and(near, u_set(0xffff0000));
}
#endif

INLINE v16u pair(v16f even, v16f odd)
{
#ifdef __AVX512BF16__
    __m512i low = _mm512_cvtepu16_epi32((__m256i)_mm512_cvtneps_pbh((__m512)even.p0)),
            high = _mm512_cvtepu16_epi32((__m256i)_mm512_cvtneps_pbh((__m512)odd.p0));
    return (v16u){(vu)_mm512_or_si512(low, _mm512_slli_epi32(high, 16))};
#else
    return u_or(u_shr(rounded(even), 16), rounded(odd));
#endif
}

typedef uint16_t half_at __attribute__((may_alias));

/* Neighbours in a row: p [rows, pairs(n)] of x [rows, n], stride ld. */
static void pair_columns(float *p, const float *x, size_t ld, size_t rows, size_t n)
{
    for (size_t i = 0; i < rows; i++, x += ld, p += pairs(n)) {
        half_at *half = (half_at *)p;
        for (size_t k = 0; k < n; k += 16) {
            const size_t left = least(16, n - k);
            const v16f v = v_load_n(x + k, left);
#ifdef __AVX512BF16__
            _mm256_mask_storeu_epi16(half + k, (__mmask16)((1u << left) - 1),
                                     (__m256i)_mm512_cvtneps_pbh((__m512)v.p0));
#else
            uint32_t lanes[16];
            u_store(lanes, rounded(v));
            for (size_t j = 0; j < left; j++)
                half[k + j] = (uint16_t)(lanes[j] >> 16);
#endif
        }
        if (n % 2 != 0)
            half[n] = 0;
    }
}

/* Neighbours in a column: p [pairs(K), n], stride ldp, of b [K, n], stride ldb. */
static void pair_rows(float *p, size_t ldp, const float *b, size_t ldb, size_t K, size_t n)
{
    for (size_t k = 0; k < K; k += 2, b += 2 * ldb, p += ldp)
        for (size_t j = 0; j < n; j += 16) {
            const size_t left = n - j;
            v16f even = v_load_n(b + j, left),
                 odd = k + 1 < K ? v_load_n(b + ldb + j, left) : v_set(0);
            v_store_n(p + j, v_bits(pair(even, odd)), left);
        }
}

/* As TF_CPU(panels), pairs(K) rows of pairs. */
static void panels_of_pairs(float *p, const float *b, size_t ldb, size_t K, size_t N)
{
    for (size_t n0 = 0; n0 < N; n0 += TF_NR, p += pairs(K) * TF_NR) {
        const size_t n = least(N - n0, TF_NR);
        if (n < TF_NR)
            memset(p, 0, pairs(K) * TF_NR * sizeof *p);
        pair_rows(p, TF_NR, b + n0, ldb, K, n);
    }
}

/* ---- for the operations ---- */

static void lay_out_a(struct tf_ctx *c, struct tf_cpu_gemm *g, const float *a, size_t lda,
                      bool transposed)
{
    const size_t k = pairs(g->K);
    float *to = tf_cpu_scratch(c, TF_CPU_A, transposed ? tf_cpu_slices_size(k, g->M) : g->M * k);
    if (transposed) {
        float *columns = tf_cpu_scratch(c, TF_CPU_ROW, k * g->M);
        pair_rows(columns, g->M, a, lda, g->K, g->M);
        TF_CPU(slices)(to, columns, g->M, k, g->M);
        g->slice = tf_cpu_slice(k);
    } else {
        pair_columns(to, a, lda, g->M, g->K);
        g->ras = k;
        g->kas = 1;
    }
    g->a = to;
}

static void panels_of(struct tf_ctx *c, float *p, const float *b, size_t ldb, bool transposed,
                      size_t K, size_t N)
{
    if (!transposed) {
        panels_of_pairs(p, b, ldb, K, N);
        return;
    }
    float *rows = tf_cpu_scratch(c, TF_CPU_ROW, TF_NR * pairs(K));
    for (size_t n0 = 0; n0 < N; n0 += TF_NR) {
        const size_t n = least(TF_NR, N - n0);
        pair_columns(rows, b + n0 * ldb, ldb, n, K);
        TF_CPU(panels_t)(p + n0 * pairs(K), rows, pairs(K), pairs(K), n);
    }
}

static void lay_out_b(struct tf_ctx *c, struct tf_cpu_gemm *g, int buffer, const float *b,
                      size_t ldb, bool transposed)
{
    float *panels = tf_cpu_scratch(c, buffer, tf_cpu_panels_size(pairs(g->K), g->N));
    panels_of(c, panels, b, ldb, transposed, g->K, g->N);
    g->b = panels;
}

static void multiply_bf16(struct tf_ctx *c, const struct tf_cpu_gemm *g)
{
    (void)c;
    struct tf_cpu_gemm of = *g;
    of.K = pairs(g->K);
    of.ldb = TF_NR;
    of.panel = of.K * TF_NR;
#if defined __SSE__ && !defined __AVX512BF16__
    enum { FLUSH = 0x8040 }; /* results and operands below 2^-126 are 0 */
    const unsigned saved = __builtin_ia32_stmxcsr();
    __builtin_ia32_ldmxcsr(saved | FLUSH);
    multiply(&of);
    __builtin_ia32_ldmxcsr(saved);
#else
    multiply(&of);
#endif
}

/* ---- packed weights ---- */

static void reserve_scratch(struct tf_ctx *c, struct tf_packed *w)
{
    const size_t K = pairs(w->K), n = w->apart ? K * w->N : tf_cpu_panels_size(K, w->N);
    w->panels = tf_arena_alloc(&c->packed, n * sizeof(float));
}

static void pack_part(struct tf_ctx *c, struct tf_packed *p, const tf_mem_param *w, size_t ld,
                      bool transposed, size_t first, size_t n)
{
    float *to = out(p->panels, first * pairs(p->K));
    if (p->apart)
        pair_columns(to, w, p->K, n, p->K);
    else
        panels_of(c, to, w, transposed ? p->K : ld, transposed, p->K, n);
}

static void select_columns(struct tf_ctx *c, struct tf_packed *to, const struct tf_packed *from,
                           const uint32_t *ids, size_t n)
{
    TF_CPU(select_panels)(c, to->panels, from->panels, ids, pairs(to->K), n, false);
}

static void multiply_packed(struct tf_ctx *c, const struct tf_cpu_gemm *g,
                            const struct tf_packed *w)
{
    struct tf_cpu_gemm with = *g;
    with.b = w->panels;
    multiply_bf16(c, &with);
}

static void unpack_column(float *e, const struct tf_packed *w, size_t id)
{
    const size_t K = pairs(w->K), step = w->apart ? 1 : TF_NR;
    const float *from = in(w->panels, w->apart ? id * K : id / TF_NR * TF_NR * K + id % TF_NR);
    for (size_t k = 0; k < w->K; k++) {
        uint32_t pair;
        memcpy(&pair, from + k / 2 * step, sizeof pair);
        pair = k % 2 == 0 ? pair << 16 : pair & 0xffff0000;
        memcpy(e + k, &pair, sizeof pair);
    }
}

const struct tf_cpu_products TF_CPU_SET(bf16) = {.rows = 240,
                                                 .entries = 240,
                                                 .multiple = 16,
                                                 .lay_out_a = lay_out_a,
                                                 .lay_out_b = lay_out_b,
                                                 .multiply = multiply_bf16,
                                                 .multiply_packed = multiply_packed,
                                                 .reserve = reserve_scratch,
                                                 .pack = pack_part,
                                                 .select = select_columns,
                                                 .column = unpack_column};
