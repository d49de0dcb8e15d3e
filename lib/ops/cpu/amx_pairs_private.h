/* amx_pairs_private.h - C = A B in pairs of bf16 by the tiles of AMX, for bf16.c instead of
 * gemm_tile_private.h. An element begins as there (bias, C or 0). For every 16 pairs along k, the
 * last filled up with zeros, the even products and the odd ones are added up in a chain each, from
 * 0, and the sum of both is added to the element: TDPBF16PS (Intel SDM). Numbers below 2^-126 count
 * as 0. The rule knows no neighbours, so a row's bits are the same among others and alone. */
#ifndef TF_OPS_CPU_AMX_PAIRS_PRIVATE_H
#define TF_OPS_CPU_AMX_PAIRS_PRIVATE_H

#include "ops/cpu/amx_private.h"
#include "ops/cpu/gemm_private.h"

/* Of k at a time: 32 rows of A are copied, to fill them up. */
enum { AMX_KC = 512 };

struct amx_block {
    float a[TILE_SIDE][AMX_KC], sums[TILE_SIDE][TILE_SIDE];
    float end[16][TILE_SIDE]; /* the last rows of B, filled up */
} __attribute__((aligned(64)));

/* A' from A [K, M] (stride lda): element (i, k) at p[k / TF_NR * slice + i * TF_NR + k % TF_NR]. */
static void turn(float *p, const float *a, size_t lda, size_t K, size_t M)
{
    TF_CPU(panels_t)(p, a, lda, M, K);
}

static size_t turned_size(size_t K, size_t M)
{
    return tf_cpu_panels_size(M, K);
}

static size_t turned_slice(size_t K, size_t M)
{
    (void)K;
    return M * TF_NR;
}

/* Rows m0 .. m0 + m - 1 of A, K pairs from k0 on. */
static void copy_rows(struct amx_block *o, const struct tf_cpu_gemm *g, size_t m0, size_t m,
                      size_t k0, size_t K)
{
    const size_t whole = (K + 15) / 16 * 16;
    for (size_t i = m; i < TILE_SIDE; i++)
        memset(o->a[i], 0, whole * sizeof(float));
    for (size_t i = 0; i < m; i++) {
        memset(o->a[i] + K, 0, (whole - K) * sizeof(float));
        if (g->slice == 0)
            memcpy(o->a[i], g->a + (m0 + i) * g->ras + k0, K * sizeof(float));
        else
            for (size_t k = 0; k < K; k += TF_NR)
                memcpy(o->a[i] + k, g->a + (k0 + k) / TF_NR * g->slice + (m0 + i) * TF_NR,
                       least(TF_NR, K - k) * sizeof(float));
    }
}

/* Where the sums of m rows and n columns begin: c is their first element, or NULL. */
static void begin_sums(struct amx_block *o, const float *c, size_t ldc, const float *bias, size_t m,
                       size_t n)
{
    for (size_t i = 0; i < TILE_SIDE; i++)
        for (size_t j = 0; j < TILE_SIDE; j += 16) {
            const bool used = i < m && j < n;
            v16f start = v_set(0);
            if (used && c != NULL)
                start = v_load_n(c + i * ldc + j, n - j);
            else if (used && bias != NULL)
                start = v_load_n(bias + j, n - j);
            v_store(o->sums[i] + j, start);
        }
}

static void end_sums(const struct amx_block *o, float *c, size_t ldc, bool relu, size_t m, size_t n)
{
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j += 16) {
            v16f y = v_load(o->sums[i] + j);
            v_store_n(c + i * ldc + j, relu ? v_max(v_set(0), y) : y, n - j);
        }
}

/* sums += A B: 16 columns from b0 on and 16 from b16 on, K pairs. */
static void multiply_block(struct amx_block *o, const float *b0, const float *b16, size_t K,
                           bool both)
{
    enum { B = TF_NR * sizeof(float), A = AMX_KC * sizeof(float), S = TILE_SIDE * sizeof(float) };
    const size_t whole = K / 16;
    if (K % 16 != 0) {
        memset(o->end, 0, sizeof o->end);
        for (size_t k = whole * 16; k < K; k++) {
            memcpy(o->end[k % 16], b0 + k * TF_NR, 16 * sizeof(float));
            memcpy(o->end[k % 16] + 16, b16 + k * TF_NR, 16 * sizeof(float));
        }
    }
    TILE_MEMORY();
    TILE_LOAD(0, o->sums[0], S);
    TILE_LOAD(1, o->sums[0] + 16, S);
    TILE_LOAD(2, o->sums[16], S);
    TILE_LOAD(3, o->sums[16] + 16, S);
    AMX_PRODUCT(TILE_PAIRS, o->a, A, b0, b16, B, whole, both);
    if (K % 16 != 0)
        AMX_PRODUCT(TILE_PAIRS, o->a[0] + whole * 16, A, o->end[0], o->end[0] + 16, S, 1, both);
    TILE_STORE(0, o->sums[0], S);
    TILE_STORE(1, o->sums[0] + 16, S);
    TILE_STORE(2, o->sums[16], S);
    TILE_STORE(3, o->sums[16] + 16, S);
    TILE_MEMORY();
}

static void multiply(const struct tf_cpu_gemm *g)
{
    struct amx_block o;
    TILE_CONFIGURE(&amx_config);
    for (size_t k0 = 0; k0 < g->K || k0 == 0; k0 += AMX_KC) {
        const size_t K = least(AMX_KC, g->K - k0);
        const bool first = k0 == 0, last = k0 + AMX_KC >= g->K;
        for (size_t m0 = 0; m0 < g->M; m0 += TILE_SIDE) {
            const size_t m = least(TILE_SIDE, g->M - m0);
            copy_rows(&o, g, m0, m, k0, K);
            for (size_t n0 = 0; n0 < g->N; n0 += TILE_SIDE) {
                const size_t n = least(TILE_SIDE, g->N - n0);
                float *c = g->c + m0 * g->ldc + n0;
                begin_sums(&o, g->add || !first ? c : NULL, g->ldc,
                           g->bias != NULL ? g->bias + n0 : NULL, m, n);
                const size_t n16 = n > 16 ? n0 + 16 : n0; /* the same once more, for nothing */
                multiply_block(&o, g->b + n0 / TF_NR * g->panel + k0 * TF_NR + n0 % TF_NR,
                               g->b + n16 / TF_NR * g->panel + k0 * TF_NR + n16 % TF_NR, K, m > 16);
                end_sums(&o, c, g->ldc, g->relu && last, m, n);
            }
        }
    }
    TILE_RELEASE();
}

#endif
