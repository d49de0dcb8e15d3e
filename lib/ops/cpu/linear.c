/* linear.c - y = x w + b, optionally with ReLU and dropout, its gradients, and the same over
 * weights packed once for decoding. */
#include "ops/cpu/dropout_private.h"
#include "ops/cpu/embed_private.h"
#include "ops/cpu/gemm_private.h"
#include "ops/cpu/linear_private.h"

/* rows that are masked, packed and multiplied together, so that they stay in cache */
#define ROWS 240

struct tf_packed {
    size_t K, N;
    float *panels;    /* or */
    uint16_t *halves; /* in panels */
};

void TF_CPU(linear_fwd)(struct tf_ctx *c, tf_mem_act *y, const tf_mem_act *x, const tf_mem_param *w,
                        const tf_mem_param *b, const struct tf_rows *r, int N, int K,
                        unsigned flags, struct tf_dropout dropout)
{
    size_t n = (size_t)N, k = (size_t)K, rows = tf_rows_count(r);
    float *panels = tf_cpu_scratch(c, TF_CPU_PANELS, tf_cpu_panels_size(k, n));
    struct dropout dr = dropout_of(c, flags & TF_LIN_RELU ? dropout : (struct tf_dropout){0});
    TF_CPU(panels)(panels, w, n, k, n);
    for (size_t i = 0; i < rows; i += ROWS) {
        struct tf_cpu_gemm g = {.c = out(y, i * n),
                                .ldc = n,
                                .a = in(x, i * k),
                                .ras = k,
                                .kas = 1,
                                .b = panels,
                                .ldb = TF_NR,
                                .panel = k * TF_NR,
                                .M = least(ROWS, rows - i),
                                .N = n,
                                .K = k,
                                .bias = b,
                                .relu = (flags & TF_LIN_RELU) != 0};
        TF_CPU(gemm)(&g);
        if (dr.scale > 0)
            for (size_t j = i; j < i + g.M; j++)
                dropout_row(&dr, r->off[0] + (uint32_t)j, out(y, j * n), in(y, j * n), n);
    }
}

void TF_CPU(linear_bwd)(struct tf_ctx *c, tf_mem_act *dx, tf_mem_param *dw, tf_mem_param *db,
                        tf_mem_act *dy, const tf_mem_act *x, const tf_mem_param *w,
                        const struct tf_rows *r, int N, int K, unsigned flags,
                        struct tf_dropout dropout)
{
    size_t n = (size_t)N, k = (size_t)K, rows = tf_rows_count(r);
    float scale = dropout.p > 0 ? (float)(1 / (1 - (double)dropout.p)) : 1;
    float *panels = NULL, *block = NULL, *slices = NULL;
    if (dx != NULL) {
        panels = tf_cpu_scratch(c, TF_CPU_PANELS, tf_cpu_panels_size(n, k));
        TF_CPU(panels_t)(panels, w, n, n, k);
    }
    if (dw != NULL) {
        block = tf_cpu_scratch(c, TF_CPU_BLOCK, tf_cpu_panels_size(ROWS, n));
        slices = tf_cpu_scratch(c, TF_CPU_TILE, tf_cpu_slices_size(ROWS, k));
    }
    clear_gradients(dw, db, rows, n, k);

    for (size_t i = 0; i < rows; i += ROWS) {
        size_t m = least(ROWS, rows - i);
        const float *dyi = in(dy, i * n);
        if (db != NULL)
            add_columns(db, dyi, m, n);
        if (dx != NULL)
            product((struct tf_cpu_gemm){.c = out(dx, i * k),
                                         .ldc = k,
                                         .a = dyi,
                                         .ras = n,
                                         .kas = 1,
                                         .b = panels,
                                         .ldb = TF_NR,
                                         .panel = n * TF_NR,
                                         .M = m,
                                         .N = k,
                                         .K = n,
                                         .add = (flags & TF_LIN_ADD_DX) != 0});
        if (dx != NULL && flags & TF_LIN_FROM_RELU)
            mask_rows(out(dx, i * k), in(x, i * k), m * k, scale);
        if (dw != NULL) {
            TF_CPU(panels)(block, dyi, n, m, n);
            struct tf_cpu_gemm g = {.c = dw,
                                    .ldc = n,
                                    .a = in(x, i * k),
                                    .ras = 1,
                                    .kas = k,
                                    .b = block,
                                    .ldb = TF_NR,
                                    .panel = m * TF_NR,
                                    .M = k,
                                    .N = n,
                                    .K = m,
                                    .add = i > 0};
            if (n >= 4 * TF_NR) { /* enough panels to pay for the copy */
                TF_CPU(slices)(slices, g.a, k, m, k);
                g.a = slices;
                g.slice = tf_cpu_slice(m);
            }
            TF_CPU(gemm)(&g);
        }
    }
}

/* ---- packed weights ---- */

struct tf_packed *TF_CPU(pack_new)(struct tf_ctx *c, int K, int N, bool halves,
                                   struct tf_err *err)
{
    (void)err;
    const size_t k = (size_t)K, n = (size_t)N;
    struct tf_packed *p = tf_arena_alloc(&c->packed, sizeof *p);
    void *room = tf_arena_alloc(&c->packed, tf_cpu_panels_size(k, n) *
                                                (halves ? sizeof *p->halves : sizeof *p->panels));
    *p = (struct tf_packed){
        .K = k, .N = n, .panels = halves ? NULL : room, .halves = halves ? room : NULL};
    return p;
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

void TF_CPU(pack)(struct tf_ctx *c, struct tf_packed *p, const tf_mem_param *w, size_t ld,
                  bool transposed, size_t first, size_t n)
{
    (void)c;
    const size_t at = first * p->K;
    if (p->halves != NULL && transposed)
        halves_in_panels_t(p->halves + at, w, p->K, n);
    else if (p->halves != NULL)
        halves_in_panels(p->halves + at, w, ld, p->K, n);
    else if (transposed)
        TF_CPU(panels_t)(p->panels + at, w, p->K, p->K, n);
    else
        TF_CPU(panels)(p->panels + at, w, ld, p->K, n);
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
    v16f magnitude =
        v_mul(v_bits(u_shl(u_and(u, u_set(0x7fff)), 13)), v_set(0x1p112f)); /* exact */
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
static void multiply_halves(struct tf_ctx *c, struct tf_cpu_gemm g, const uint16_t *halves,
                            size_t rows)
{
    enum { FEW = 12, SMALL = 4096 / TF_NR, LARGE = 512 };
    const size_t K = g.K, N = g.N, most = rows > FEW ? LARGE : SMALL;
    float *part = tf_cpu_scratch(c, TF_CPU_TILE, LARGE * TF_NR + FEW * TF_NR),
          *sums = part + LARGE * TF_NR, *const y = g.c;
    const float *const x = g.a, *const bias = g.bias;
    const bool relu = g.relu, few = rows <= FEW;
    g.b = part;
    g.ldc = few ? TF_NR : N;
    for (size_t m0 = 0; m0 < rows; m0 += ROWS)
        for (size_t n0 = 0; n0 < N; n0 += TF_NR) {
            const uint16_t *panel = halves + n0 * K;
            g.M = least(rows - m0, ROWS);
            g.N = least(N - n0, TF_NR);
            g.c = few ? sums : y + m0 * N + n0;
            for (size_t k = 0; k < K; k += most) {
                g.K = least(K - k, most);
                floats_of_part(part, panel + k * TF_NR, g.K, most);
                g.a = x + m0 * K + k;
                g.bias = k == 0 && bias != NULL ? bias + n0 : NULL;
                g.add = k > 0;
                g.relu = relu && k + g.K == K;
                TF_CPU(gemm)(&g);
            }
            for (size_t i = 0; few && i < rows; i++)
                memcpy(y + i * N + n0, sums + i * TF_NR, g.N * sizeof *y);
        }
}

void TF_CPU(linear_packed)(struct tf_ctx *c, tf_mem *y, const tf_mem_act *x,
                           const struct tf_packed *w, const tf_mem_param *b, size_t rows,
                           unsigned flags)
{
    const struct tf_cpu_gemm g = {.c = y,
                                  .ldc = w->N,
                                  .a = x,
                                  .ras = w->K,
                                  .kas = 1,
                                  .b = w->panels,
                                  .ldb = TF_NR,
                                  .panel = w->K * TF_NR,
                                  .M = rows,
                                  .N = w->N,
                                  .K = w->K,
                                  .bias = b,
                                  .relu = (flags & TF_LIN_RELU) != 0};
    if (w->halves != NULL)
        multiply_halves(c, g, w->halves, rows);
    else
        TF_CPU(gemm)(&g);
}

static void row_of(float *e, const struct tf_packed *w, size_t id)
{
    const size_t at = id / TF_NR * TF_NR * w->K + id % TF_NR;
    if (w->halves == NULL) {
        for (size_t k = 0; k < w->K; k++)
            e[k] = w->panels[at + k * TF_NR];
        return;
    }
    for (size_t k = 0; k < w->K; k += 16) {
        uint16_t h[16] = {0};
        const size_t n = least(w->K - k, 16);
        for (size_t i = 0; i < n; i++)
            h[i] = w->halves[at + (k + i) * TF_NR];
        v_store_n(e + k, v_halves(h), n);
    }
}

void TF_CPU(embed_packed)(struct tf_ctx *c, tf_mem_act *x, const tf_mem_u32 *ids,
                          const tf_mem_u32 *at, const struct tf_packed *w, const tf_mem_param *pos,
                          size_t rows, float scale)
{
    (void)c;
    embed_packed_rows(x, ids, at, w, pos, rows, w->K, scale, row_of);
}
