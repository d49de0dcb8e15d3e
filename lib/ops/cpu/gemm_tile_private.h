/* gemm_tile_private.h - matrix product in register tiles of TF_MR rows by TF_NV registers.
 * Goto & van de Geijn, "Anatomy of high-performance matrix multiplication" (2008), without the
 * packing of A: its rows are read as broadcasts.
 *
 * Included once by each kind of product. MULTIPLY_ADD(x, row, acc) is acc plus what 32 bits of A,
 * in every lane of x, and a register of B make: elements in fp32, unless it is defined before. In
 * bf16.c these are pairs of elements, and K counts pairs. */
#ifndef TF_OPS_CPU_GEMM_TILE_PRIVATE_H
#define TF_OPS_CPU_GEMM_TILE_PRIVATE_H

#include "ops/cpu/gemm_private.h"

#ifndef MULTIPLY_ADD
#define MULTIPLY_ADD r_fma
#endif

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
                acc[i][j] = MULTIPLY_ADD(x, row[j], acc[i][j]);
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

static void multiply(const struct tf_cpu_gemm *g)
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

#endif
