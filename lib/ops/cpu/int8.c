/* int8.c - y = x w + b for decoding in 8 bits: weights and the rows of x as small integers
 * with one scale each, their products summed exactly; and rows of a table, q scale.
 *
 * A column of w: scale = max |w| / 127, q = round(w * (127 / max |w|)), ties to even; a row of x
 * likewise, at each call. y = (sum over k of qx qw) * (scale_x * scale_w) + b. The sums are exact
 * (65536 * 127 * 127 < 2^31), so neither the order of k nor the instruction set shows in them.
 *
 * Compiled once per set of instructions. Those with VNNI multiply unsigned by signed bytes: there a
 * weight is stored as q + 128, and a sum starts at -128 times the sum of the row to make up for
 * it. Those of x86 without it multiply pairs of 16 bits: there the rows of x are kept in 16 bits,
 * and the weights, still bytes in memory, are widened as they are loaded. */
#include "ops/cpu/gemm_private.h"

#if defined __AVX512VNNI__ && VL == 16
#define OFFSET 128
#elif defined __AVXVNNI__ && VL == 8
#define OFFSET 128
#else
#define OFFSET 0
#endif

/* A column has GROUP bytes side by side in a panel: what an instruction adds up for each sum. */
#if VL >= 8 && !OFFSET
#define GROUP 2
typedef int16_t q_of_x;
#else
#define GROUP 4
typedef int8_t q_of_x;
#endif

enum { ROWS = 96 }; /* rows that share a pass over the weights */

/* Larger weights come from memory, where a panel so narrow as AVX2's is read only now and then:
 * each tile fetches a part of the next panel. */
enum { CACHE = 2 << 20 };

static size_t whole(size_t n, size_t of)
{
    return (n + of - 1) / of * of;
}

/* Groups of a column. */
static size_t groups_of(size_t K)
{
    return (K + GROUP - 1) / GROUP;
}

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

/* A group of weights for VL columns, as dot takes them. */
INLINE vi columns_at(const uint8_t *w)
{
#if GROUP == 4
    const vu_at *bytes = (const vu_at *)w;
    return (vi)*bytes;
#elif VL == 16
    return (vi)_mm512_cvtepi8_epi16(_mm256_loadu_si256((const void *)w));
#else
    return (vi)_mm256_cvtepi8_epi16(_mm_loadu_si128((const void *)w));
#endif
}

/* acc[lane] += the products of the lane's group of w and of x. */
INLINE vi dot(vi acc, vi w, vi x)
{
#if OFFSET && VL == 16
    return (vi)_mm512_dpbusd_epi32((__m512i)acc, (__m512i)w, (__m512i)x);
#elif OFFSET
    return (vi)_mm256_dpbusd_avx_epi32((__m256i)acc, (__m256i)w, (__m256i)x);
#elif VL == 16
    return acc + (vi)_mm512_madd_epi16((__m512i)w, (__m512i)x);
#elif VL == 8
    return acc + (vi)_mm256_madd_epi16((__m256i)w, (__m256i)x);
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

/* q = the lanes of v. */
INLINE void narrow(q_of_x *q, v16u v)
{
#if GROUP == 4 && VL == 16
    _mm_storeu_si128((__m128i *)q, _mm512_cvtepi32_epi8((__m512i)v.p0));
#elif VL == 16
    _mm256_storeu_si256((__m256i *)q, _mm512_cvtepi32_epi16((__m512i)v.p0));
#elif GROUP == 2
    __m256i both = _mm256_packs_epi32((__m256i)v.p0, (__m256i)v.p1);
    _mm256_storeu_si256((__m256i *)q, _mm256_permute4x64_epi64(both, 0xd8));
#else
    uint32_t lanes[16];
    u_store(lanes, v);
    for (int i = 0; i < 16; i++)
        q[i] = (q_of_x)lanes[i];
#endif
}

/* q [n], filled up with zeros to whole vectors. A row with a value that is not finite has a
 * scale that is not finite. */
static struct row quantise(q_of_x *q, const float *x, size_t n)
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
        narrow(q + i, v);
    }
    uint32_t total = 0;
    u_store(lanes, sum);
    for (int i = 0; i < 16; i++)
        total += lanes[i];
    return (struct row){max / 127, (int32_t)(0u - OFFSET * total)};
}

/* ---- a tile of y ---- */

/* Rows and columns of y in a panel: x, row from its first row on, w, scale, bias from its first
 * column. */
struct tile {
    size_t groups, ldx, ldy;
    const q_of_x *x;
    const uint8_t *w;
    const struct row *row;
    const float *scale, *bias;
    float *y;
    int last; /* columns in the last register */
    bool relu;
};

/* y = sum * scales + b: n of VL columns from j on in row i. */
INLINE void finish(const struct tile *t, size_t i, size_t j, vi sum, int n)
{
    vf s = r_set(t->row[i].scale) * r_load(t->scale + j),
       b = t->bias != NULL ? r_load_n(t->bias + j, n) : r_set(0);
    vf y = r_fma(__builtin_convertvector(sum, vf), s, b);
    if (t->relu)
        y = r_max(r_set(0), y);
    r_store_n(t->y + i * t->ldy + j, y, n);
}

/* mr and nv are constants at every call, as in gemm_tile_private.h. */
INLINE void tile(const struct tile *t, const int mr, const int nv)
{
    vi acc[TF_MR][TF_NV];
#pragma GCC unroll 8
    for (int i = 0; i < mr; i++)
#pragma GCC unroll 8
        for (int j = 0; j < nv; j++)
            acc[i][j] = (vi){0} + t->row[i].start;
    const q_of_x *x = t->x;
    const uint8_t *w = t->w;
    const size_t ldx = t->ldx;
    for (size_t k = t->groups; k > 0; k--) {
        vi column[TF_NV];
#pragma GCC unroll 8
        for (int j = 0; j < nv; j++)
            column[j] = columns_at(w + j * VL * GROUP);
#pragma GCC unroll 8
        for (int i = 0; i < mr; i++) {
            int32_t group;
            memcpy(&group, x + (size_t)i * ldx, sizeof group);
            const vi all = (vi){0} + group;
#pragma GCC unroll 8
            for (int j = 0; j < nv; j++)
                acc[i][j] = dot(acc[i][j], column[j], all);
        }
        x += GROUP;
        w += TF_NR * GROUP;
    }
#pragma GCC unroll 8
    for (int i = 0; i < mr; i++)
#pragma GCC unroll 8
        for (int j = 0; j < nv; j++)
            finish(t, (size_t)i, (size_t)j * VL, acc[i][j], j < nv - 1 ? VL : t->last);
}

TF_CPU_TILES

/* The first m rows and n columns of a panel; fetch bytes of the next, which follows. t->x, row and
 * y end after these rows. */
static void multiply_panel(struct tile *t, size_t m, size_t n, size_t fetch)
{
    const int nv = (int)((n + VL - 1) / VL);
    const uint8_t *next = t->w + t->groups * TF_NR * GROUP;
    t->last = (int)n - (nv - 1) * VL;
    for (size_t i = 0; i < m; i += TF_MR) {
        for (size_t at = fetch * i / m / 64 * 64; at < fetch * (i + TF_MR) / m; at += 64)
            __builtin_prefetch(next + at, 0, 2);
        tiles[least(m - i, TF_MR) - 1][nv - 1](t);
        t->x += TF_MR * t->ldx;
        t->row += TF_MR;
        t->y += TF_MR * t->ldy;
    }
}

/* ---- for the operations ---- */

/* A: the scales of ROWS rows, and their numbers, ldx apart. */
static size_t row_length(size_t K)
{
    return whole(K, 16);
}

static void lay_out_a(struct tf_ctx *c, struct tf_cpu_gemm *g, const float *a, size_t lda,
                      bool transposed)
{
    (void)transposed; /* linear_packed never is */
    const size_t ldx = row_length(g->K);
    struct row *row = tf_host_scratch(c, TF_CPU_A, ROWS * (sizeof *row + ldx * sizeof(q_of_x)));
    q_of_x *q = (q_of_x *)(row + ROWS);
    for (size_t i = 0; i < g->M; i++)
        row[i] = quantise(q + i * ldx, a + i * lda, g->K);
    g->a = (const float *)row;
}

static void multiply_packed(struct tf_ctx *c, const struct tf_cpu_gemm *g,
                            const struct tf_packed *w)
{
    (void)c;
    const struct row *row = (const struct row *)g->a;
    struct tile t = {.groups = groups_of(g->K),
                     .ldx = row_length(g->K),
                     .ldy = g->ldc,
                     .relu = g->relu};
    const size_t panel = t.groups * TF_NR * GROUP;
    const bool fetch = VL == 8 && !OFFSET && g->M > TF_MR && g->N * g->K > CACHE;
    for (size_t n0 = 0; n0 < g->N; n0 += TF_NR) {
        t.x = (const q_of_x *)(row + ROWS);
        t.row = row;
        t.w = (const uint8_t *)w->panels + n0 / TF_NR * panel;
        t.scale = w->scale + n0;
        t.bias = g->bias != NULL ? g->bias + n0 : NULL;
        t.y = g->c + n0;
        multiply_panel(&t, g->M, least(g->N - n0, TF_NR), n0 + TF_NR < g->N && fetch ? panel : 0);
    }
}

/* ---- the weights: column j of panel p, k = GROUP g + i, at byte ((p groups + g) TF_NR + j) GROUP
 * + i. Panels are filled up with columns, and groups with k, whose q is 0. Columns that are apart
 * have their bytes in a row. ---- */

static void reserve_scratch(struct tf_ctx *c, struct tf_packed *w)
{
    const size_t padded = whole(w->N, TF_NR), column = groups_of(w->K) * GROUP;
    w->scale = tf_arena_alloc(&c->packed, padded * sizeof *w->scale);
    w->panels = tf_arena_alloc(&c->packed, padded * column);
    if (w->apart)
        return;
    /* The last panel is filled up. */
    const size_t from = w->N / TF_NR * TF_NR;
    memset((uint8_t *)w->panels + from * column, OFFSET, (padded - from) * column);
    memset(w->scale + w->N, 0, (padded - w->N) * sizeof *w->scale);
}

/* The first group of column j. */
static uint8_t *bytes_of(const struct tf_packed *p, size_t j)
{
    if (p->apart)
        return (uint8_t *)p->panels + j * groups_of(p->K) * GROUP;
    return (uint8_t *)p->panels + (j / TF_NR * groups_of(p->K) * TF_NR + j % TF_NR) * GROUP;
}

/* From a group of a column to the next. */
static size_t group_step(const struct tf_packed *p)
{
    return p->apart ? GROUP : TF_NR * GROUP;
}

/* Columns from j on, n or 16 of w [K, n], stride ld. */
static void pack_columns(struct tf_packed *p, const float *w, size_t ld, size_t j, size_t n)
{
    const size_t K = p->K;
    float max[16], factor[16];
    v16f top = v_set(0);
    for (size_t k = 0; k < K; k++)
        top = larger(top, v_load_n(w + k * ld, n));
    v_store(max, top);
    for (size_t i = 0; i < 16; i++) {
        factor[i] = factor_of(max[i]);
        p->scale[j + i] = max[i] / 127;
    }
    const v16f f = v_load(factor);
    uint8_t *to = bytes_of(p, j);
    for (size_t k = 0; k < K; k += GROUP, to += TF_NR * GROUP) {
        v16u group = u_set(0);
        for (size_t i = 0; i < GROUP; i++) {
            v16f x = k + i < K ? v_load_n(w + (k + i) * ld, n) : v_set(0);
            v16u q = u_add(quantised(x, f), u_set(OFFSET));
            if (i < GROUP - 1) /* the last byte keeps the sign */
                q = u_and(q, u_set(0xff));
            group = u_or(group, u_shl(q, (int)(8 * i)));
        }
#if GROUP == 4
        u_store((uint32_t *)to, group);
#else
        narrow((q_of_x *)to, group);
#endif
    }
}

/* Column j from its values [K]; q has room for K, filled up to a multiple of 16. */
static void pack_row(struct tf_packed *p, q_of_x *q, const float *row, size_t j)
{
    uint8_t *to = bytes_of(p, j);
    const size_t step = group_step(p);
    p->scale[j] = quantise(q, row, p->K).scale;
    for (size_t k = 0; k < p->K; k += GROUP, to += step)
        for (size_t i = 0; i < GROUP; i++)
            to[i] = (uint8_t)(q[k + i] + OFFSET);
}

static void pack_part(struct tf_ctx *c, struct tf_packed *p, const tf_mem_param *w, size_t ld,
                      bool transposed, size_t first, size_t n)
{
    q_of_x *q =
        (q_of_x *)tf_cpu_scratch(c, TF_CPU_TILE, whole(p->K, 16) * sizeof *q / sizeof(float));
    for (size_t j = 0; j < n; j += transposed ? 1 : 16)
        if (transposed)
            pack_row(p, q, in(w, j * p->K), first + j);
        else
            pack_columns(p, in(w, j), ld, first + j, n - j);
}

static void select_columns(struct tf_ctx *c, struct tf_packed *to, const struct tf_packed *from,
                           const uint32_t *ids, size_t n)
{
    (void)c;
    const size_t groups = groups_of(to->K), panel = groups * TF_NR * GROUP;
    if (n % TF_NR != 0) {
        memset((uint8_t *)to->panels + n / TF_NR * panel, OFFSET, panel);
        memset(to->scale + n, 0, (whole(n, TF_NR) - n) * sizeof *to->scale);
    }
    for (size_t j = 0; j < n; j++) {
        const uint8_t *q = bytes_of(from, ids[j]);
        uint8_t *column = bytes_of(to, j);
        for (size_t k = 0; k < groups; k++)
            memcpy(column + k * TF_NR * GROUP, q + k * GROUP, GROUP);
        to->scale[j] = from->scale[ids[j]];
    }
}

static void unpack_column(float *e, const struct tf_packed *w, size_t id)
{
    const uint8_t *from = bytes_of(w, id);
    const size_t step = group_step(w);
    const float scale = w->scale[id];
    for (size_t k = 0; k < w->K; k++) {
        const uint8_t q = (uint8_t)(from[k / GROUP * step + k % GROUP] - OFFSET);
        e[k] = (float)(int8_t)q * scale;
    }
}

const struct tf_cpu_products TF_CPU_SET(int8) = {.rows = ROWS,
                                                 .lay_out_a = lay_out_a,
                                                 .multiply_packed = multiply_packed,
                                                 .reserve = reserve_scratch,
                                                 .pack = pack_part,
                                                 .select = select_columns,
                                                 .column = unpack_column};
