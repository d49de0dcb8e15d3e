/* bf16.c - the matrix products of training and decoding in bf16: linear maps, their gradients, the
 * projection to the vocabulary, and maps over packed weights. What is multiplied is rounded to
 * bf16, to nearest even; products are exact, sums are fp32, and so is everything in memory.
 *
 * Two neighbours along k share 32 bits, the even k in the lower half; an odd K is filled up with
 * zero. An element is one chain over the pairs, acc = fma(a0, b0, fma(a1, b1, acc)), in which
 * numbers below 2^-126 count as 0: the definition of VDPBF16PS (Intel SDM), which avx512bf16 has.
 * The other sets make the same bits of two multiply-adds, except of products below 2^-126 where
 * those are not fused (generic), and of all such numbers on ARM, where they are kept. AMX has
 * another definition and so other bits: amx_pairs_private.h.
 *
 * The operations are those of linear.c and xent.c. */
#include "ops/cpu/dropout_private.h"
#include "ops/cpu/embed_private.h"
#include "ops/cpu/gemm_private.h"
#include "ops/cpu/linear_private.h"
#include "ops/cpu/xent_private.h"

#ifdef TF_AMX
#include "ops/cpu/amx_pairs_private.h"
#else

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

/* A' of a product, from A [K, M] (stride lda) as TF_CPU(slices) and tf_cpu_slices_size have it. */
static void turn(float *p, const float *a, size_t lda, size_t K, size_t M)
{
    TF_CPU(slices)(p, a, lda, K, M);
}

static size_t turned_size(size_t K, size_t M)
{
    return tf_cpu_slices_size(K, M);
}

/* For tf_cpu_gemm.slice. */
static size_t turned_slice(size_t K, size_t M)
{
    (void)M;
    return tf_cpu_slice(K);
}

#endif

#define ROWS 240  /* as in linear.c */
#define BLOCK 240 /* as in xent.c */

/* Of B in panels, and of A in slices or in rows without gaps: K counts pairs, and gives strides. */
static void product_of_pairs(struct tf_cpu_gemm g)
{
    g.ras = g.K;
    g.kas = 1;
    g.ldb = TF_NR;
    g.panel = g.K * TF_NR;
#if defined __SSE__ && !defined __AVX512BF16__
    enum { FLUSH = 0x8040 }; /* results and operands below 2^-126 are 0 */
    const unsigned saved = __builtin_ia32_stmxcsr();
    __builtin_ia32_ldmxcsr(saved | FLUSH);
    multiply(&g);
    __builtin_ia32_ldmxcsr(saved);
#else
    multiply(&g);
#endif
}

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

/* ---- linear maps ---- */

void TF_CPU_BF16(linear_fwd)(struct tf_ctx *c, tf_mem_act *y, const tf_mem_act *x,
                             const tf_mem_param *w, const tf_mem_param *b, const struct tf_rows *r,
                             int N, int K, unsigned flags, struct tf_dropout dropout)
{
    const size_t n = (size_t)N, k = (size_t)K, rows = tf_rows_count(r);
    float *panels = tf_cpu_scratch(c, TF_CPU_PANELS, tf_cpu_panels_size(pairs(k), n)),
          *block = tf_cpu_scratch(c, TF_CPU_BLOCK, ROWS * pairs(k));
    const struct dropout dr = dropout_of(c, flags & TF_LIN_RELU ? dropout : (struct tf_dropout){0});
    panels_of_pairs(panels, w, n, k, n);
    for (size_t i = 0; i < rows; i += ROWS) {
        const size_t m = least(ROWS, rows - i);
        pair_columns(block, in(x, i * k), k, m, k);
        product_of_pairs((struct tf_cpu_gemm){.c = out(y, i * n),
                                              .ldc = n,
                                              .a = block,
                                              .b = panels,
                                              .M = m,
                                              .N = n,
                                              .K = pairs(k),
                                              .bias = b,
                                              .relu = (flags & TF_LIN_RELU) != 0});
        if (dr.scale > 0)
            for (size_t j = i; j < i + m; j++)
                dropout_row(&dr, r->off[0] + (uint32_t)j, out(y, j * n), in(y, j * n), n);
    }
}

void TF_CPU_BF16(linear_bwd)(struct tf_ctx *c, tf_mem_act *dx, tf_mem_param *dw, tf_mem_param *db,
                             tf_mem_act *dy, const tf_mem_act *x, const tf_mem_param *w,
                             const struct tf_rows *r, int N, int K, unsigned flags,
                             struct tf_dropout dropout)
{
    const size_t n = (size_t)N, k = (size_t)K, rows = tf_rows_count(r);
    const float scale = dropout.p > 0 ? (float)(1 / (1 - (double)dropout.p)) : 1;
    /* w' in panels, and room for w in pairs or a block of dy; that block in panels; x' in pairs and
     * slices */
    const size_t all = tf_cpu_panels_size(pairs(n), k), half = pairs(ROWS) * k;
    float *panels = tf_cpu_scratch(c, TF_CPU_PANELS, all + (k > ROWS ? k : ROWS) * pairs(n)),
          *rows_of = panels + all,
          *block = tf_cpu_scratch(c, TF_CPU_BLOCK, tf_cpu_panels_size(pairs(ROWS), n)),
          *columns = tf_cpu_scratch(c, TF_CPU_TILE, half + turned_size(pairs(ROWS), k)),
          *slices = columns + half;
    if (dx != NULL) {
        pair_columns(rows_of, w, n, k, n);
        TF_CPU(panels_t)(panels, rows_of, pairs(n), pairs(n), k);
    }
    clear_gradients(dw, db, rows, n, k);

    for (size_t i = 0; i < rows; i += ROWS) {
        const size_t m = least(ROWS, rows - i);
        const float *dyi = in(dy, i * n);
        if (db != NULL)
            add_columns(db, dyi, m, n);
        if (dx != NULL) {
            pair_columns(rows_of, dyi, n, m, n);
            product_of_pairs((struct tf_cpu_gemm){.c = out(dx, i * k),
                                                  .ldc = k,
                                                  .a = rows_of,
                                                  .b = panels,
                                                  .M = m,
                                                  .N = k,
                                                  .K = pairs(n),
                                                  .add = (flags & TF_LIN_ADD_DX) != 0});
        }
        if (dx != NULL && flags & TF_LIN_FROM_RELU)
            mask_rows(out(dx, i * k), in(x, i * k), m * k, scale);
        if (dw != NULL) {
            panels_of_pairs(block, dyi, n, m, n);
            pair_rows(columns, k, in(x, i * k), k, m, k);
            turn(slices, columns, k, pairs(m), k);
            product_of_pairs((struct tf_cpu_gemm){.c = dw,
                                                  .ldc = n,
                                                  .a = slices,
                                                  .slice = turned_slice(pairs(m), k),
                                                  .b = block,
                                                  .M = k,
                                                  .N = n,
                                                  .K = pairs(m),
                                                  .add = i > 0});
        }
    }
}

/* ---- the projection to the vocabulary ---- */

/* For the products of a chunk: x' and x in panels; of a block: rows of E or of dz in pairs, E in
 * panels, dz' in pairs and slices. */
struct operands {
    float *xt, *x, *rows, *e, *columns, *dz;
};

static void logits(const struct chunk *k, float *z, size_t v, size_t m)
{
    const struct operands *o = k->own;
    const size_t D = (size_t)k->x->D;
    if (v == 0) {
        pair_columns(o->x, k->in, D, k->n, D); /* its room is free until the gradients */
        TF_CPU(panels_t)(o->xt, o->x, pairs(D), pairs(D), k->n);
    }
    pair_columns(o->rows, in(k->x->e, v * D), D, m, D);
    product_of_pairs((struct tf_cpu_gemm){.c = z,
                                          .ldc = k->ld,
                                          .a = o->rows,
                                          .b = o->xt,
                                          .M = m,
                                          .N = k->ld,
                                          .K = pairs(D)});
}

static void multiply_out(const struct chunk *k, const float *dz, size_t v, size_t m)
{
    const struct operands *o = k->own;
    const size_t D = (size_t)k->x->D, n = pairs(k->n);
    if (v == 0)
        panels_of_pairs(o->x, k->in, D, k->n, D);
    pair_columns(o->rows, dz, k->ld, m, k->n);
    product_of_pairs((struct tf_cpu_gemm){.c = out(k->x->de, v * D),
                                          .ldc = D,
                                          .a = o->rows,
                                          .b = o->x,
                                          .M = m,
                                          .N = D,
                                          .K = n,
                                          .add = k->first > 0});
    panels_of_pairs(o->e, in(k->x->e, v * D), D, m, D);
    pair_rows(o->columns, k->n, dz, k->ld, m, k->n);
    turn(o->dz, o->columns, k->n, pairs(m), k->n);
    product_of_pairs((struct tf_cpu_gemm){.c = out(k->x->dx, k->first * D),
                                          .ldc = D,
                                          .a = o->dz,
                                          .slice = turned_slice(pairs(m), k->n),
                                          .b = o->e,
                                          .M = k->n,
                                          .N = D,
                                          .K = pairs(m),
                                          .add = v > 0});
}

void TF_CPU_BF16(xent)(struct tf_ctx *c, const struct tf_xent *x)
{
    const struct projection p = {BLOCK, 16, logits, multiply_out};
    const size_t D = (size_t)x->D, rows = chunk_rows(x, p.tile), most = D > rows ? D : rows;
    const size_t xt = tf_cpu_panels_size(pairs(D), rows),
                 own = tf_cpu_panels_size(pairs(rows), D), row = rows * pairs(D),
                 block = BLOCK * pairs(most), e = tf_cpu_panels_size(pairs(BLOCK), D),
                 columns = pairs(BLOCK) * rows, dz = turned_size(pairs(BLOCK), rows);
    struct operands o;
    o.xt = tf_cpu_scratch(c, TF_CPU_PANELS,
                          xt + (own > row ? own : row) + block + e + columns + dz);
    o.x = o.xt + xt;
    o.rows = o.x + (own > row ? own : row);
    o.e = o.rows + block;
    o.columns = o.e + e;
    o.dz = o.columns + columns;
    cross_entropy(c, x, &p, &o);
}

/* ---- packed weights ---- */

struct tf_packed {
    size_t K, N;
    float *panels; /* of pairs */
};

struct tf_packed *TF_CPU_BF16(pack_new)(struct tf_ctx *c, int K, int N, bool halves,
                                        struct tf_err *err)
{
    (void)halves, (void)err;
    const size_t k = (size_t)K, n = (size_t)N;
    struct tf_packed *p = tf_arena_alloc(&c->packed, sizeof *p);
    *p = (struct tf_packed){
        k, n, tf_arena_alloc(&c->packed, tf_cpu_panels_size(pairs(k), n) * sizeof(float))};
    return p;
}

void TF_CPU_BF16(pack)(struct tf_ctx *c, struct tf_packed *p, const tf_mem_param *w, size_t ld,
                       bool transposed, size_t first, size_t n)
{
    const size_t k = p->K;
    float *to = p->panels + first * pairs(k);
    if (!transposed) {
        panels_of_pairs(to, w, ld, k, n);
        return;
    }
    float *rows = tf_cpu_scratch(c, TF_CPU_TILE, TF_NR * pairs(k));
    for (size_t n0 = 0; n0 < n; n0 += TF_NR) {
        const size_t some = least(TF_NR, n - n0);
        pair_columns(rows, in(w, n0 * k), k, some, k);
        TF_CPU(panels_t)(to + n0 * pairs(k), rows, pairs(k), pairs(k), some);
    }
}

void TF_CPU_BF16(linear_packed)(struct tf_ctx *c, tf_mem *y, const tf_mem_act *x,
                                const struct tf_packed *w, const tf_mem_param *b, size_t rows,
                                unsigned flags)
{
    const size_t k = pairs(w->K);
    float *block = tf_cpu_scratch(c, TF_CPU_TILE, least(ROWS, rows) * k);
    for (size_t i = 0; i < rows; i += ROWS) {
        const size_t m = least(ROWS, rows - i);
        pair_columns(block, in(x, i * w->K), w->K, m, w->K);
        product_of_pairs((struct tf_cpu_gemm){.c = out(y, i * w->N),
                                              .ldc = w->N,
                                              .a = block,
                                              .b = w->panels,
                                              .M = m,
                                              .N = w->N,
                                              .K = k,
                                              .bias = b,
                                              .relu = (flags & TF_LIN_RELU) != 0});
    }
}

static void row_of(float *e, const struct tf_packed *w, size_t id)
{
    const float *from = w->panels + id / TF_NR * TF_NR * pairs(w->K) + id % TF_NR;
    for (size_t k = 0; k < w->K; k++) {
        uint32_t pair;
        memcpy(&pair, from + k / 2 * TF_NR, sizeof pair);
        pair = k % 2 == 0 ? pair << 16 : pair & 0xffff0000;
        memcpy(e + k, &pair, sizeof pair);
    }
}

void TF_CPU_BF16(embed_packed)(struct tf_ctx *c, tf_mem_act *x, const tf_mem_u32 *ids,
                               const tf_mem_u32 *at, const struct tf_packed *w,
                               const tf_mem_param *pos, size_t rows, float scale)
{
    (void)c;
    embed_packed_rows(x, ids, at, w, pos, rows, w->K, scale, row_of);
}
