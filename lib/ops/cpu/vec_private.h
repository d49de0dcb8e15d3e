/* vec_private.h - 16 lanes of float (v16f) or uint32 (v16u) on every instruction set: one 512-bit
 * register, two of 256 or four of 128 bits. Sums go through the same 16 lanes and the same tree of
 * additions everywhere; only v_fma differs (fused where the machine has it). For the sources that
 * are compiled once for each instruction set. */
#ifndef TF_OPS_CPU_VEC_PRIVATE_H
#define TF_OPS_CPU_VEC_PRIVATE_H

#include <stdint.h>
#include <string.h>

#if defined __AVX2__
#include <immintrin.h>
#elif defined TF_NEON
#include <arm_neon.h>
#endif

#define INLINE static inline __attribute__((always_inline))

#if defined __AVX512F__
#define VL 16 /* floats in a register */
#define PARTS(f) f(0)
#define FIELDS(t) t p0
#elif defined __AVX2__
#define VL 8
#define PARTS(f) f(0), f(1)
#define FIELDS(t) t p0, p1
#else
#define VL 4
#define PARTS(f) f(0), f(1), f(2), f(3)
#define FIELDS(t) t p0, p1, p2, p3
#endif

typedef float vf __attribute__((vector_size(VL * 4)));
typedef int32_t vi __attribute__((vector_size(VL * 4)));
typedef uint32_t vu __attribute__((vector_size(VL * 4)));
typedef float vf_at __attribute__((vector_size(VL * 4), aligned(4), may_alias));
typedef uint32_t vu_at __attribute__((vector_size(VL * 4), aligned(4), may_alias));

typedef struct { FIELDS(vf); } v16f;
typedef struct { FIELDS(vu); } v16u;

/* ---- one register ---- */

INLINE vf r_load(const float *p)
{
    return *(const vf_at *)p;
}
INLINE void r_store(float *p, vf a)
{
    *(vf_at *)p = a;
}
INLINE vf r_set(float x)
{
#if VL == 16
    return (vf)_mm512_set1_ps(x);
#elif VL == 8
    return (vf)_mm256_set1_ps(x);
#else
    return (vf){x, x, x, x};
#endif
}
INLINE vf r_fma(vf a, vf b, vf c)
{
#if VL == 16
    return (vf)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#elif VL == 8
    return (vf)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#elif defined TF_NEON
    return (vf)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
#else
    return a * b + c;
#endif
}
/* The second operand when either is NaN, as the machine's instruction does. */
INLINE vf r_max(vf a, vf b)
{
#if VL == 16
    return (vf)_mm512_max_ps((__m512)a, (__m512)b);
#elif VL == 8
    return (vf)_mm256_max_ps((__m256)a, (__m256)b);
#else
    vi m = a > b;
    return (vf)((m & (vi)a) | (~m & (vi)b));
#endif
}
INLINE vf r_min(vf a, vf b)
{
#if VL == 16
    return (vf)_mm512_min_ps((__m512)a, (__m512)b);
#elif VL == 8
    return (vf)_mm256_min_ps((__m256)a, (__m256)b);
#else
    vi m = a < b;
    return (vf)((m & (vi)a) | (~m & (vi)b));
#endif
}
/* The first n (0 .. VL) lanes; the others read as 0. */
INLINE vf r_load_n(const float *p, int n)
{
#if VL == 16
    return (vf)_mm512_maskz_loadu_ps((__mmask16)((1u << n) - 1), p);
#else
    vf a = {0};
    memcpy(&a, p, (size_t)n * sizeof *p);
    return a;
#endif
}
INLINE void r_store_n(float *p, vf a, int n)
{
#if VL == 16
    _mm512_mask_storeu_ps(p, (__mmask16)((1u << n) - 1), (__m512)a);
#else
    memcpy(p, &a, (size_t)n * sizeof *p);
#endif
}

/* ---- 16 lanes ---- */

#define LOAD_PART(i) r_load(p + i * VL)
INLINE v16f v_load(const float *p)
{
    return (v16f){PARTS(LOAD_PART)};
}
INLINE void v_store(float *p, v16f a)
{
#define STORE_PART(i) r_store(p + i * VL, a.p##i)
    PARTS(STORE_PART);
}
INLINE v16f v_load_n(const float *p, size_t n)
{
    if (n >= 16)
        return v_load(p);
#if VL == 16
    return (v16f){r_load_n(p, (int)n)};
#else
    float t[16] = {0};
    memcpy(t, p, n * sizeof *p);
    return v_load(t);
#endif
}
INLINE void v_store_n(float *p, v16f a, size_t n)
{
    if (n >= 16) {
        v_store(p, a);
        return;
    }
#if VL == 16
    r_store_n(p, a.p0, (int)n);
#else
    float t[16];
    v_store(t, a);
    memcpy(p, t, n * sizeof *p);
#endif
}

#define SET_PART(i) r_set(x)
INLINE v16f v_set(float x)
{
    return (v16f){PARTS(SET_PART)};
}
#define ADD_PART(i) a.p##i + b.p##i
INLINE v16f v_add(v16f a, v16f b)
{
    return (v16f){PARTS(ADD_PART)};
}
#define SUB_PART(i) a.p##i - b.p##i
INLINE v16f v_sub(v16f a, v16f b)
{
    return (v16f){PARTS(SUB_PART)};
}
#define MUL_PART(i) a.p##i * b.p##i
INLINE v16f v_mul(v16f a, v16f b)
{
    return (v16f){PARTS(MUL_PART)};
}
#define DIV_PART(i) a.p##i / b.p##i
INLINE v16f v_div(v16f a, v16f b)
{
    return (v16f){PARTS(DIV_PART)};
}
#define FMA_PART(i) r_fma(a.p##i, b.p##i, c.p##i)
INLINE v16f v_fma(v16f a, v16f b, v16f c)
{
    return (v16f){PARTS(FMA_PART)};
}
#define MAX_PART(i) r_max(a.p##i, b.p##i)
INLINE v16f v_max(v16f a, v16f b)
{
    return (v16f){PARTS(MAX_PART)};
}
#define MIN_PART(i) r_min(a.p##i, b.p##i)
INLINE v16f v_min(v16f a, v16f b)
{
    return (v16f){PARTS(MIN_PART)};
}
INLINE v16f v_sqrt(v16f a)
{
#if VL == 16
    return (v16f){(vf)_mm512_sqrt_ps((__m512)a.p0)};
#elif VL == 8
    return (v16f){(vf)_mm256_sqrt_ps((__m256)a.p0), (vf)_mm256_sqrt_ps((__m256)a.p1)};
#elif defined TF_NEON
#define SQRT_PART(i) (vf)vsqrtq_f32((float32x4_t)a.p##i)
    return (v16f){PARTS(SQRT_PART)};
#else
    float t[16];
    v_store(t, a);
    for (int i = 0; i < 16; i++)
        t[i] = __builtin_sqrtf(t[i]);
    return v_load(t);
#endif
}

/* Sum of the lanes: halves folded onto each other, 8 + 4 + 2 + 1. */
INLINE float v_sum(v16f a)
{
#if VL == 16
    __m256 h = _mm256_add_ps(_mm512_castps512_ps256((__m512)a.p0),
                             _mm512_extractf32x8_ps((__m512)a.p0, 1));
#elif VL == 8
    __m256 h = (__m256)(a.p0 + a.p1);
#endif
#if VL >= 8
    __m128 q = _mm_add_ps(_mm256_castps256_ps128(h), _mm256_extractf128_ps(h, 1));
    q = _mm_add_ps(q, _mm_movehl_ps(q, q));
    return _mm_cvtss_f32(_mm_add_ss(q, _mm_shuffle_ps(q, q, 1)));
#else
    vf q = (a.p0 + a.p2) + (a.p1 + a.p3);
    return (q[0] + q[2]) + (q[1] + q[3]);
#endif
}
/* sums[t] = v_sum(a[t]), with the same additions: the last two of each in the lanes of one. */
INLINE void v_sum_4(float *sums, const v16f *a)
{
#if VL >= 8
    __m128 q[4];
    for (int t = 0; t < 4; t++) {
#if VL == 16
        __m256 h = _mm256_add_ps(_mm512_castps512_ps256((__m512)a[t].p0),
                                 _mm512_extractf32x8_ps((__m512)a[t].p0, 1));
#else
        __m256 h = (__m256)(a[t].p0 + a[t].p1);
#endif
        q[t] = _mm_add_ps(_mm256_castps256_ps128(h), _mm256_extractf128_ps(h, 1));
    }
    /* lanes i and i + 2 of two vectors, then i and i + 1 of four */
    __m128 x = _mm_add_ps(_mm_movelh_ps(q[0], q[1]), _mm_movehl_ps(q[1], q[0])),
           y = _mm_add_ps(_mm_movelh_ps(q[2], q[3]), _mm_movehl_ps(q[3], q[2]));
    _mm_storeu_ps(sums, _mm_add_ps(_mm_shuffle_ps(x, y, 0x88), _mm_shuffle_ps(x, y, 0xdd)));
#else
    for (int t = 0; t < 4; t++)
        sums[t] = v_sum(a[t]);
#endif
}
INLINE float v_hmax(v16f a)
{
#if VL == 16
    return _mm512_reduce_max_ps((__m512)a.p0);
#else
    float t[16], m;
    v_store(t, a);
    m = t[0];
    for (int i = 1; i < 16; i++)
        m = t[i] > m ? t[i] : m;
    return m;
#endif
}

/* ---- integers ---- */

#define USET_PART(i) (vu)(vi)((vi){0} + (int32_t)x)
INLINE v16u u_set(uint32_t x)
{
    return (v16u){PARTS(USET_PART)};
}
INLINE v16u u_load(const uint32_t *p)
{
#define ULOAD_PART(i) *(const vu_at *)(p + i * VL)
    return (v16u){PARTS(ULOAD_PART)};
}
INLINE void u_store(uint32_t *p, v16u a)
{
#define USTORE_PART(i) *(vu_at *)(p + i * VL) = a.p##i
    PARTS(USTORE_PART);
}
INLINE v16u u_add(v16u a, v16u b)
{
    return (v16u){PARTS(ADD_PART)};
}
INLINE v16u u_sub(v16u a, v16u b)
{
    return (v16u){PARTS(SUB_PART)};
}
#define AND_PART(i) a.p##i & b.p##i
INLINE v16u u_and(v16u a, v16u b)
{
    return (v16u){PARTS(AND_PART)};
}
#define OR_PART(i) a.p##i | b.p##i
INLINE v16u u_or(v16u a, v16u b)
{
    return (v16u){PARTS(OR_PART)};
}
#define SHL_PART(i) a.p##i << n
INLINE v16u u_shl(v16u a, int n)
{
    return (v16u){PARTS(SHL_PART)};
}
#define SHR_PART(i) a.p##i >> n
INLINE v16u u_shr(v16u a, int n)
{
    return (v16u){PARTS(SHR_PART)};
}
#define BITS_PART(i) (vu)a.p##i
INLINE v16u u_bits(v16f a)
{
    return (v16u){PARTS(BITS_PART)};
}
#define REAL_PART(i) (vf)a.p##i
INLINE v16f v_bits(v16u a)
{
    return (v16f){PARTS(REAL_PART)};
}
#define SIGNED_PART(i) __builtin_convertvector((vi)a.p##i, vf)
INLINE v16f v_of_signed(v16u a)
{
    return (v16f){PARTS(SIGNED_PART)};
}

/* ---- masks: a register of bits on AVX-512, else lanes of all ones or zeros ---- */

#if VL == 16
typedef __mmask16 m16;
INLINE m16 m_gt(v16f a, v16f b)
{
    return _mm512_cmp_ps_mask((__m512)a.p0, (__m512)b.p0, _CMP_GT_OQ);
}
INLINE m16 m_geu(v16u a, v16u b)
{
    return _mm512_cmpge_epu32_mask((__m512i)a.p0, (__m512i)b.p0);
}
INLINE v16f v_keep(m16 m, v16f a)
{
    return (v16f){(vf)_mm512_maskz_mov_ps(m, (__m512)a.p0)};
}
INLINE v16f v_pick(m16 m, v16f a, v16f b) /* a where m, else b */
{
    return (v16f){(vf)_mm512_mask_blend_ps(m, (__m512)b.p0, (__m512)a.p0)};
}
INLINE m16 m_of_bits(unsigned bits)
{
    return (m16)bits;
}
#else
typedef v16u m16;
#define GT_PART(i) (vu)(a.p##i > b.p##i)
INLINE m16 m_gt(v16f a, v16f b)
{
    return (m16){PARTS(GT_PART)};
}
#define GEU_PART(i) (vu)~((vi)(b.p##i ^ top) > (vi)(a.p##i ^ top))
INLINE m16 m_geu(v16u a, v16u b)
{
    const vu top = (vu){0} + 0x80000000u; /* there are signed comparisons only */
    return (m16){PARTS(GEU_PART)};
}
#define KEEP_PART(i) (vf)((vu)a.p##i & m.p##i)
INLINE v16f v_keep(m16 m, v16f a)
{
    return (v16f){PARTS(KEEP_PART)};
}
#define PICK_PART(i) (vf)(((vu)a.p##i & m.p##i) | ((vu)b.p##i & ~m.p##i))
INLINE v16f v_pick(m16 m, v16f a, v16f b)
{
    return (v16f){PARTS(PICK_PART)};
}
INLINE m16 m_of_bits(unsigned bits)
{
    static const uint32_t lane[16] = {1,       1 << 1,  1 << 2,  1 << 3, 1 << 4,  1 << 5,
                                      1 << 6,  1 << 7,  1 << 8,  1 << 9, 1 << 10, 1 << 11,
                                      1 << 12, 1 << 13, 1 << 14, 1 << 15};
    v16u a = u_load(lane), b = u_and(a, u_set(bits));
#define EQ_PART(i) (vu)(a.p##i == b.p##i)
    return (m16){PARTS(EQ_PART)};
}
#endif

INLINE m16 m_first(size_t n) /* the first n lanes; n >= 16: all */
{
    return m_of_bits(n >= 16 ? 0xffff : (1u << n) - 1);
}

/* ---- double sums of float lanes ---- */

/* Eight running sums: lane i takes elements i and i + 8 of each vector. */
typedef struct { double lane[8]; } d8;

INLINE void d_add(d8 *sum, v16f a, v16f b) /* += a b, the products exact */
{
    float x[16], y[16];
    v_store(x, a);
    v_store(y, b);
    for (int i = 0; i < 8; i++)
        sum->lane[i] += (double)x[i] * (double)y[i];
    for (int i = 0; i < 8; i++)
        sum->lane[i] += (double)x[i + 8] * (double)y[i + 8];
}

/* ---- functions ---- */

/* 1.5 * 2^23: adding it rounds to an integer, ties to even, which is left in the low bits */
#define V_ROUND 12582912.0f

/* e^x to about 1 ulp (Cephes' polynomial after x = n ln 2 + r) for x < 88; 0 below -87.3; NaN stays
 * NaN. */
INLINE v16f v_exp(v16f x)
{
    const v16f magic = v_set(V_ROUND);
    v16f c = v_min(v_set(88), x);
    v16f z = v_fma(c, v_set(1.44269504088896341f), magic);
    v16f n = v_sub(z, magic);
    v16f r = v_fma(n, v_set(-0.693359375f), c);
    r = v_fma(n, v_set(2.12194440e-4f), r);
    v16f p = v_set(1.9875691500e-4f);
    p = v_fma(p, r, v_set(1.3981999507e-3f));
    p = v_fma(p, r, v_set(8.3334519073e-3f));
    p = v_fma(p, r, v_set(4.1665795894e-2f));
    p = v_fma(p, r, v_set(1.6666665459e-1f));
    p = v_fma(p, r, v_set(5.0000001201e-1f));
    p = v_fma(p, v_mul(r, r), r);
    p = v_add(p, v_set(1));
    v16f y = v_bits(u_add(u_bits(p), u_shl(u_bits(z), 23))); /* p 2^n */
    return v_pick(m_gt(v_set(-87.33f), x), v_set(0), y);
}

/* Natural logarithm (Cephes' logf): log 0 = -inf, log of a negative NaN. */
INLINE v16f v_log(v16f x)
{
    m16 small = m_gt(v_set(1.17549435e-38f), x);
    v16f y = v_pick(small, v_mul(x, v_set(8388608.0f)), x);
    v16u bits = u_bits(y);
    v16f e = v_of_signed(u_sub(u_shr(bits, 23), u_set(126)));
    e = v_sub(e, v_keep(small, v_set(23)));
    v16f m = v_bits(u_or(u_and(bits, u_set(0x007fffff)), u_set(0x3f000000))); /* [0.5, 1) */
    m16 low = m_gt(v_set(0.707106781186547524f), m);
    e = v_sub(e, v_keep(low, v_set(1)));
    m = v_add(v_sub(m, v_set(1)), v_keep(low, m));
    v16f z = v_mul(m, m), p = v_set(7.0376836292e-2f);
    p = v_fma(p, m, v_set(-1.1514610310e-1f));
    p = v_fma(p, m, v_set(1.1676998740e-1f));
    p = v_fma(p, m, v_set(-1.2420140846e-1f));
    p = v_fma(p, m, v_set(1.4249322787e-1f));
    p = v_fma(p, m, v_set(-1.6668057665e-1f));
    p = v_fma(p, m, v_set(2.0000714765e-1f));
    p = v_fma(p, m, v_set(-2.4999993993e-1f));
    p = v_fma(p, m, v_set(3.3333331174e-1f));
    p = v_mul(v_mul(p, m), z);
    p = v_fma(e, v_set(-2.12194440e-4f), p);
    p = v_fma(z, v_set(-0.5f), p);
    v16f y2 = v_fma(e, v_set(0.693359375f), v_add(m, p));
    const float inf = __builtin_inff();
    y2 = v_pick(m_gt(v_set(inf), x), y2, v_add(x, x)); /* inf and NaN */
    y2 = v_pick(m_gt(v_set(1e-45f), x), v_set(-inf), y2);
    return v_pick(m_gt(v_set(0), x), v_set(__builtin_nanf("")), y2);
}

/* 1 / (1 + exp(-x)) */
INLINE v16f v_sigmoid(v16f x)
{
    return v_div(v_set(1), v_add(v_set(1), v_exp(v_sub(v_set(0), x))));
}

#endif
