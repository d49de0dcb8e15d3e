/* int8.c - y = x w + b for decoding in 8 bits: weights and the rows of x as small integers
 * with one scale each, their products summed exactly.
 *
 * A column of w: scale = max |w| / 127, q = round(w * (127 / max |w|)), ties to even; a row of x
 * likewise, at each call. y = (sum over k of qx qw) * (scale_x * scale_w) + b. The sums are exact
 * (65536 * 127 * 127 < 2^31), so neither the order of k nor the instruction set shows in them.
 *
 * Compiled once per set of instructions. Those with VNNI multiply unsigned by signed bytes: there a
 * weight is stored as q + 128, and a sum starts at -128 times the sum of the row to make up for
 * it. */
#include "base/memory.h"
#include "ops/cpu/gemm_private.h"

#include <stdlib.h>

#if defined __AVX512VNNI__ && VL == 16
#define OFFSET 128
#elif defined __AVXVNNI__ && VL == 8
#define OFFSET 128
#else
#define OFFSET 0
#endif

enum { ROWS = 16 * TF_MR }; /* rows that share a pass over the weights */

/* Column j of panel p, k = 4 quad + i: bytes[((p * quads + quad) * TF_NR + j) * 4 + i]. Panels are
 * filled up with columns, and quads with k, whose q is 0. */
struct tf_packed {
    size_t K, N, quads;
    float *scale; /* [N], filled up to whole panels */
    uint8_t *bytes;
};

/* The factor that makes the largest magnitude 127: 0 where that is not finite or tiny. */
static float factor_of(float max)
{
    return max > 1e-30f ? 127 / max : 0;
}

/* The larger magnitude in each lane, as integers, so that NaN is the largest. */
INLINE v16f larger(v16f top, v16f x)
{
    v16u a = u_and(u_bits(x), u_set(0x7fffffff));
    return v_pick(m_geu(a, u_bits(top)), v_bits(a), top);
}

/* round(x * factor), also defined for values that are not finite. */
INLINE v16u quantised(v16f x, v16f factor)
{
    const v16f magic = v_set(V_ROUND);
    return u_sub(u_bits(v_add(v_mul(x, factor), magic)), u_bits(magic));
}

/* acc[lane] += the products of the lane's four bytes of w and of x. */
INLINE vi dot(vi acc, vi w, vi x)
{
#if OFFSET && VL == 16
    return (vi)_mm512_dpbusd_epi32((__m512i)acc, (__m512i)w, (__m512i)x);
#elif OFFSET
    return (vi)_mm256_dpbusd_avx_epi32((__m256i)acc, (__m256i)w, (__m256i)x);
#elif VL == 16
    __m512i even = _mm512_madd_epi16(_mm512_srai_epi16(_mm512_slli_epi16((__m512i)w, 8), 8),
                                     _mm512_srai_epi16(_mm512_slli_epi16((__m512i)x, 8), 8));
    return acc + (vi)_mm512_add_epi32(even, _mm512_madd_epi16(_mm512_srai_epi16((__m512i)w, 8),
                                                              _mm512_srai_epi16((__m512i)x, 8)));
#elif VL == 8
    __m256i even = _mm256_madd_epi16(_mm256_srai_epi16(_mm256_slli_epi16((__m256i)w, 8), 8),
                                     _mm256_srai_epi16(_mm256_slli_epi16((__m256i)x, 8), 8));
    return acc + (vi)_mm256_add_epi32(even, _mm256_madd_epi16(_mm256_srai_epi16((__m256i)w, 8),
                                                              _mm256_srai_epi16((__m256i)x, 8)));
#elif defined __ARM_FEATURE_DOTPROD
    return (vi)vdotq_s32((int32x4_t)acc, (int8x16_t)w, (int8x16_t)x);
#elif defined TF_NEON
    int16x8_t low = vmull_s8(vget_low_s8((int8x16_t)w), vget_low_s8((int8x16_t)x)),
              high = vmull_high_s8((int8x16_t)w, (int8x16_t)x);
    return acc + (vi)vpaddq_s32(vpaddlq_s16(low), vpaddlq_s16(high));
#else
    vi sum = acc;
    for (int shift = 0; shift < 32; shift += 8)
        sum += (w << (24 - shift) >> 24) * (x << (24 - shift) >> 24);
    return sum;
#endif
}

/* ---- the rows of x ---- */

struct row {
    float scale;
    int32_t start; /* of its sums */
};

/* q [n], filled up with zeros to whole vectors. A row with a value that is not finite has a
 * scale that is not finite. */
static struct row quantise(int8_t *q, const float *x, size_t n)
{
    v16f top = v_set(0);
    for (size_t i = 0; i < n; i += 16)
        top = larger(top, v_load_n(x + i, n - i));
    uint32_t lanes[16], most = 0;
    u_store(lanes, u_bits(top));
    for (int i = 0; i < 16; i++)
        most = lanes[i] > most ? lanes[i] : most;
    float max;
    memcpy(&max, &most, sizeof max);

    const v16f factor = v_set(factor_of(max));
    v16u sum = u_set(0);
    for (size_t i = 0; i < n; i += 16) {
        v16u v = quantised(v_load_n(x + i, n - i), factor);
        sum = u_add(sum, v);
#if VL == 16
        _mm_storeu_si128((__m128i *)(q + i), _mm512_cvtepi32_epi8((__m512i)v.p0));
#else
        u_store(lanes, v);
        for (int j = 0; j < 16; j++)
            q[i + (size_t)j] = (int8_t)lanes[j];
#endif
    }
    uint32_t total = 0;
    u_store(lanes, sum);
    for (int i = 0; i < 16; i++)
        total += lanes[i];
    return (struct row){max / 127, (int32_t)(0u - OFFSET * total)};
}

/* ---- a tile of y ---- */

struct tile {
    size_t quads, ldx, ldy;
    const int8_t *x;
    const uint8_t *w;
    const struct row *row;
    const float *scale, *bias;
    float *y;
    int last; /* columns in the last register */
    bool relu;
};

/* mr and nv are constants at every call, as in gemm_tile_private.h. */
INLINE void tile(const struct tile *t, const int mr, const int nv)
{
    vi acc[TF_MR][TF_NV];
#pragma GCC unroll 8
    for (int i = 0; i < mr; i++)
#pragma GCC unroll 8
        for (int j = 0; j < nv; j++)
            acc[i][j] = (vi){0} + t->row[i].start;
    const int8_t *x = t->x;
    const uint8_t *w = t->w;
    const size_t ldx = t->ldx;
    for (size_t k = t->quads; k > 0; k--) {
        vi column[TF_NV];
#pragma GCC unroll 8
        for (int j = 0; j < nv; j++)
            column[j] = (vi) * (const vu_at *)(w + j * VL * 4);
#pragma GCC unroll 8
        for (int i = 0; i < mr; i++) {
            int32_t four;
            memcpy(&four, x + (size_t)i * ldx, sizeof four);
            const vi all = (vi){0} + four;
#pragma GCC unroll 8
            for (int j = 0; j < nv; j++)
                acc[i][j] = dot(acc[i][j], column[j], all);
        }
        x += 4;
        w += TF_NR * 4;
    }
#pragma GCC unroll 8
    for (int i = 0; i < mr; i++)
#pragma GCC unroll 8
        for (int j = 0; j < nv; j++) {
            const int n = j < nv - 1 ? VL : t->last;
            vf s = r_set(t->row[i].scale) * r_load(t->scale + j * VL),
               b = t->bias != NULL ? r_load_n(t->bias + j * VL, n) : r_set(0);
            vf y = r_fma(__builtin_convertvector(acc[i][j], vf), s, b);
            if (t->relu)
                y = r_max(r_set(0), y);
            r_store_n(t->y + (size_t)i * t->ldy + j * VL, y, n);
        }
}

TF_CPU_TILES

static size_t whole(size_t n, size_t of)
{
    return (n + of - 1) / of * of;
}

void TF_CPU_INT8(linear_packed)(struct tf_ctx *c, tf_mem *y, const tf_mem_act *x,
                                const struct tf_packed *w, const tf_mem_param *b, size_t rows,
                                unsigned flags)
{
    const size_t ldx = whole(w->K, 16);
    int8_t *q = (int8_t *)tf_cpu_scratch(c, TF_CPU_TILE, ROWS * ldx / sizeof(float) + 1);
    struct row row[ROWS];
    struct tile t = {.quads = w->quads,
                     .ldx = ldx,
                     .ldy = w->N,
                     .relu = (flags & TF_LIN_RELU) != 0};
    for (size_t m0 = 0; m0 < rows; m0 += ROWS) {
        const size_t m = least(rows - m0, ROWS);
        for (size_t i = 0; i < m; i++)
            row[i] = quantise(q + i * ldx, in(x, (m0 + i) * w->K), w->K);
        for (size_t n0 = 0; n0 < w->N; n0 += TF_NR) {
            const size_t n = least(w->N - n0, TF_NR);
            const int nv = (int)((n + VL - 1) / VL);
            t.last = (int)n - (nv - 1) * VL;
            t.w = w->bytes + n0 * w->quads * 4;
            t.scale = w->scale + n0;
            t.bias = b != NULL ? in(b, n0) : NULL;
            for (size_t i = 0; i < m; i += TF_MR) {
                t.x = q + i * ldx;
                t.row = row + i;
                t.y = out(y, (m0 + i) * w->N + n0);
                tiles[least(m - i, TF_MR) - 1][nv - 1](&t);
            }
        }
    }
}

/* ---- the weights ---- */

/* 16 columns of w [K, N] from j on. */
static void pack_columns(struct tf_packed *p, const float *w, size_t j)
{
    const size_t K = p->K, N = p->N;
    float max[16], factor[16];
    v16f top = v_set(0);
    for (size_t k = 0; k < K; k++)
        top = larger(top, v_load_n(w + k * N + j, N - j));
    v_store(max, top);
    for (size_t i = 0; i < 16; i++) {
        factor[i] = factor_of(max[i]);
        p->scale[j + i] = max[i] / 127;
    }
    const v16f f = v_load(factor);
    uint8_t *to = p->bytes + (j / TF_NR * p->quads * TF_NR + j % TF_NR) * 4;
    for (size_t k = 0; k < K; k += 4, to += TF_NR * 4) {
        v16u quad = u_set(0);
        for (size_t i = 0; i < 4; i++) {
            v16f x = k + i < K ? v_load_n(w + (k + i) * N + j, N - j) : v_set(0);
            v16u q = u_and(u_add(quantised(x, f), u_set(OFFSET)), u_set(0xff));
            quad = u_or(quad, u_shl(q, (int)(8 * i)));
        }
        u_store((uint32_t *)to, quad);
    }
}

/* Column j from its values [K]; q has room for K, filled up to a multiple of 16. */
static void pack_row(struct tf_packed *p, int8_t *q, const float *row, size_t j)
{
    uint8_t *to = p->bytes + (j / TF_NR * p->quads * TF_NR + j % TF_NR) * 4;
    p->scale[j] = quantise(q, row, p->K).scale;
    for (size_t k = 0; k < p->K; k++)
        to[k / 4 * TF_NR * 4 + k % 4] = (uint8_t)(q[k] + OFFSET);
}

struct tf_packed *TF_CPU_INT8(pack)(struct tf_ctx *c, const tf_mem_param *w, int K, int N,
                                    bool transposed, struct tf_err *err)
{
    const size_t k = (size_t)K, n = (size_t)N, padded = whole(n, TF_NR), quads = (k + 3) / 4;
    struct tf_packed *p = tf_try_alloc(sizeof *p, err);
    if (p == NULL)
        return NULL;
    *p = (struct tf_packed){.K = k, .N = n, .quads = quads};
    p->scale = tf_try_alloc(padded * sizeof *p->scale, err);
    p->bytes = p->scale != NULL ? tf_try_alloc(padded * quads * 4, err) : NULL;
    if (p->bytes == NULL) {
        free(p->scale);
        free(p);
        return NULL;
    }
    memset(p->bytes, OFFSET, padded * quads * 4);
    memset(p->scale, 0, padded * sizeof *p->scale);
    int8_t *q = (int8_t *)tf_cpu_scratch(c, TF_CPU_TILE, whole(k, 16) / sizeof(float));
    for (size_t j = 0; j < n; j += transposed ? 1 : 16)
        if (transposed)
            pack_row(p, q, in(w, j * k), j);
        else
            pack_columns(p, w, j);
    return p;
}

void TF_CPU_INT8(pack_free)(struct tf_ctx *c, struct tf_packed *p)
{
    (void)c;
    if (p == NULL)
        return;
    free(p->scale);
    free(p->bytes);
    free(p);
}
