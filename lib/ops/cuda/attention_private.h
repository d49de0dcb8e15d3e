/* attention_private.h - what both directions of attention share: the kernels' view of a struct
 * tf_attention, what a query sees, dropout of weights, and fragments of tiles for mma().
 *
 * There are two families of kernels. Those with tensor cores take tiles of 16 rows a warp, for bf16
 * and half with head widths of 16, 32, ... 128 and rows that are multiples of 16 bytes; the others
 * take any width, stride and element, four rows a warp. A block has one sentence and head:
 * blockIdx.x = sentence * heads + head. In both, what becomes of a query depends on its sentence
 * alone. */
#ifndef TF_OPS_CUDA_ATTENTION_PRIVATE_H
#define TF_OPS_CUDA_ATTENTION_PRIVATE_H

#include "device_private.h"

/* struct tf_attention by value, with addresses that kernels can read. */
template <typename A> struct heads {
    const struct tf_rows_head *head; /* of the queries */
    const uint32_t *q_off, *k_off;
    const A *q, *k, *v, *d_o;
    A *o, *dq, *dk_out, *dv_out;
    float *lse, *probs;
    size_t ldq, ldk, ldv, ldo, cap; /* cap: rows of the queries' buffers */
    int n_heads, dk, dv, window;
    bool causal;
    float scale; /* 1 / sqrt(dk) */
    struct dropout_args dropout;
};

template <typename A>
static struct heads<A> heads_of(const struct tf_ctx *c, const struct tf_attention *a) {
    struct heads<A> h = {};
    h.head = a->q_rows->head;
    h.q_off = a->q_rows->off, h.k_off = a->k_rows->off;
    h.q = (const A *)a->q, h.k = (const A *)a->k, h.v = (const A *)a->v, h.d_o = (const A *)a->d_o;
    h.o = (A *)a->o, h.dq = (A *)a->dq, h.dk_out = (A *)a->dk_, h.dv_out = (A *)a->dv_;
    h.lse = (float *)a->lse, h.probs = (float *)a->probs;
    h.ldq = a->ldq, h.ldk = a->ldk, h.ldv = a->ldv, h.ldo = a->ldo, h.cap = a->q_rows->cap_rows;
    h.n_heads = a->heads, h.dk = a->dk, h.dv = a->dv, h.causal = a->causal;
    h.window = a->window < 1 << 30 ? a->window : 0; /* sentences are shorter than that */
    h.scale = 1 / sqrtf((float)a->dk);
    h.dropout = tf_cuda_dropout(c, a->dropout);
    return h;
}

/* A block's sentence and head: T queries and S keys, from these rows of the buffers on; the packed
 * row of the first query. */
struct place {
    int sentence, head, T, S;
    uint32_t row, key, packed;
    bool live;
    struct dropout dropout;
};

template <typename A> __device__ static inline struct place place_of(const struct heads<A> &h)
{
    struct place p = {};
    p.sentence = blockIdx.x / h.n_heads;
    p.head = blockIdx.x % h.n_heads;
    p.live = (uint32_t)p.sentence < h.head->n;
    p.dropout = dropout_of(h.dropout);
    if (p.live) {
        p.row = h.q_off[p.sentence];
        p.packed = h.head->first + p.row;
        p.key = h.k_off[p.sentence];
        p.T = (int)(h.q_off[p.sentence + 1] - p.row);
        p.S = (int)(h.k_off[p.sentence + 1] - p.key);
    }
    return p;
}

/* Rows of o past the last become 0: each block takes some. */
template <typename A> __device__ static inline void clear_rest(const struct heads<A> &h)
{
    for (size_t row = h.head->rows + blockIdx.x + (size_t)blockIdx.y * gridDim.x; row < h.cap;
         row += (size_t)gridDim.x * gridDim.y)
        for (int d = threadIdx.x; d < h.n_heads * h.dv; d += blockDim.x)
            h.o[row * h.ldo + d] = from_float<A>(0);
}

/* Does query i see key j? */
template <typename A>
__device__ static inline bool sees(const struct heads<A> &h, const struct place &p, int i, int j)
{
    return i < p.T && j < p.S && !(h.causal && j > i) && (h.window == 0 || abs(i - j) <= h.window);
}

/* [from, to): keys that some query of [i, i + n) sees, or, `of_keys`, queries that see some key of
 * [i, i + n). Empty where from >= to. */
struct range {
    int from, to;
};
template <typename A>
__device__ static inline struct range seen_from(const struct heads<A> &h, const struct place &p,
                                                int i, int n, bool of_keys)
{
    struct range r = {0, of_keys ? p.T : p.S};
    if (h.window > 0) {
        r.from = max(r.from, i - h.window);
        r.to = min(r.to, i + n + h.window);
    }
    if (h.causal && of_keys)
        r.from = max(r.from, i);
    if (h.causal && !of_keys)
        r.to = min(r.to, i + n);
    return r;
}

/* The keys that query i sees, or, `of_keys`, the queries that see key i: from `from` on, n of them,
 * so that one comparison decides. */
struct span {
    int from;
    unsigned n;
    __device__ bool has(int j) const { return (unsigned)(j - from) < n; }
};
template <typename A>
__device__ static inline struct span span_of(const struct heads<A> &h, const struct place &p, int i,
                                             bool of_keys)
{
    struct range r = seen_from(h, p, i, 1, of_keys);
    bool none = i >= (of_keys ? p.S : p.T) || r.from >= r.to;
    return {r.from, none ? 0 : (unsigned)(r.to - r.from)};
}

/* 2^x within 2 ulp; 0 below 2^-126. */
__device__ static inline float power_of_2(float x)
{
#ifdef TF_EMULATE
    return exp2f(x);
#else
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
#endif
}

/* Factors of the weights of query i for keys 4 * quad and the three after it. */
__device__ static inline void drop_keys(float f[4], const struct place &p, int i, int quad)
{
    dropout4(f, p.dropout, (uint32_t)quad, p.packed + (uint32_t)i,
             p.dropout.site | (uint32_t)p.head << 16);
}

/* x[k] of four threads, those whose numbers differ in the bits `step` and 2 * `step` alone, becomes
 * the transpose: thread j's x[i] is what thread i's x[j] was. */
__device__ static inline void transpose4(float x[4], int step)
{
    int lane = threadIdx.x % 32;
#pragma unroll
    for (int s = 1; s <= 2; s *= 2) {
        bool upper = (lane / step & s) != 0;
#pragma unroll
        for (int i = 0; i < 4; i++)
            if (!(i & s)) {
                float got = __shfl_xor_sync(0xffffffffu, upper ? x[i] : x[i | s], s * step);
                x[i] = upper ? got : x[i];
                x[i | s] = upper ? x[i | s] : got;
            }
    }
}

/* ---- tiles in shared memory for the tensor cores ---- */

/* Columns that a row of a tile has beyond its own: 8 rows then begin in different banks. */
enum { PAD = 8 };

/* Four 8 x 8 matrices of 2-byte elements: thread i names row i % 8 of matrix i / 8, 16-byte
 * aligned; r[m] gets the elements (lane / 4, 2 * (lane % 4)) and the one to the right of it of
 * matrix m, or with TRANSPOSED (2 * (lane % 4), lane / 4) and the one below. */
template <bool TRANSPOSED>
__device__ static inline void load_matrices(uint32_t r[4], const void *row)
{
#ifdef TF_EMULATE
    uint4 mine = *(const uint4 *)row; /* each thread reads the row that it names */
    emulate::warp([](emulate::lane l[32], unsigned) {
        for (int lane = 0; lane < 32; lane++)
            for (int m = 0; m < 4; m++) {
                uint16_t pair[2];
                for (int i = 0; i < 2; i++) {
                    int y = lane / 4, x = 2 * (lane % 4) + i;
                    pair[i] = ((const uint16_t *)l[8 * m + (TRANSPOSED ? x : y)]
                                   .in[0])[TRANSPOSED ? y : x];
                }
                ((uint32_t *)l[lane].out)[m] = pair[0] | (uint32_t)pair[1] << 16;
            }
    }, 0xffffffffu, &mine, nullptr, r);
#else
    uint32_t at = (uint32_t)__cvta_generic_to_shared(row);
    if (TRANSPOSED)
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                     : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                     : "r"(at)
                     : "memory");
    else
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                     : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                     : "r"(at)
                     : "memory");
#endif
}

/* Fragments of 16 x 16 elements from t on, in rows of ld. As an operand a of mma() where the tile
 * holds it as it is, or with TRANSPOSED its transpose; as two operands b (columns 0 to 7 and 8 to
 * 15 of the product), where the tile holds [k, n], or with TRANSPOSED [n, k]. */
template <bool TRANSPOSED, typename A>
__device__ static inline void load_a(uint32_t r[4], const A *t, int ld)
{
    int lane = threadIdx.x % 32, low = lane % 8, bit0 = lane / 8 % 2 * 8, bit1 = lane / 16 * 8;
    load_matrices<TRANSPOSED>(r, TRANSPOSED ? t + (bit1 + low) * ld + bit0
                                            : t + (bit0 + low) * ld + bit1);
}
template <bool TRANSPOSED, typename A>
__device__ static inline void load_b(uint32_t r[4], const A *t, int ld)
{
    int lane = threadIdx.x % 32, low = lane % 8, bit0 = lane / 8 % 2 * 8, bit1 = lane / 16 * 8;
    load_matrices<!TRANSPOSED>(r, TRANSPOSED ? t + (bit1 + low) * ld + bit0
                                             : t + (bit0 + low) * ld + bit1);
}

/* d (two products side by side, 16 x 16) += a b */
template <typename A>
__device__ static inline void mma2(float d[2][4], const uint32_t a[4], const uint32_t b[4])
{
    mma<A>(d[0], a, b);
    mma<A>(d[1], a, b + 2);
}

template <typename A> __device__ static inline uint32_t pair_of(float low, float high)
{
    union {
        A x[2];
        uint32_t bits;
    } u = {{from_float<A>(low), from_float<A>(high)}};
    return u.bits;
}

/* The result of mma2, rounded to A, as operand a of the next product. */
template <typename A> __device__ static inline void as_a(uint32_t a[4], const float d[2][4])
{
    a[0] = pair_of<A>(d[0][0], d[0][1]);
    a[1] = pair_of<A>(d[0][2], d[0][3]);
    a[2] = pair_of<A>(d[1][0], d[1][1]);
    a[3] = pair_of<A>(d[1][2], d[1][3]);
}

/* Copy rows [from, to) of `width` elements, a multiple of 8, into a tile whose first row is `from`;
 * 0 in the rest of its last 16, and in columns from `width` to `wide`. By the whole block,
 * asynchronously. */
template <typename A>
__device__ static inline void fill_tile(struct async_copies &copies, A *tile, int ld_tile,
                                        const A *rows, size_t ld, int from, int to, int width,
                                        int wide)
{
    int me = threadIdx.x, vecs = wide / 8, step = (int)blockDim.x / vecs, r = me / vecs,
        d = me % vecs * 8, n = to - from, end = (n + 15) / 16 * 16;
    const A *source = rows + (size_t)(from + r) * ld + d;
    tile += r * ld_tile + d;
    for (r = r < step ? r : end; r < end; r += step) {
        bool there = r < n && d < width;
        copies.copy((uint4 *)tile, (const uint4 *)(there ? source : rows), there);
        source += step * ld;
        tile += step * ld_tile;
    }
}

/* Can the kernels with tensor cores take these? Heads wider than 64 need more shared memory than 64
 * KiB: only devices with bf16 have that. */
template <typename A> static bool fits_mma(const struct tf_ctx *c, const struct tf_attention *a)
{
    if constexpr (sizeof(A) == 2) {
        bool widths = a->dk % 16 == 0 && a->dv % 16 == 0 && a->dk <= 128 && a->dv <= 128 &&
                      (has_mma<bf16>(c) || (a->dk <= 64 && a->dv <= 64));
        bool strides = (a->ldq | a->ldk | a->ldv | a->ldo) % 8 == 0;
        uintptr_t at = (uintptr_t)a->q | (uintptr_t)a->k | (uintptr_t)a->v | (uintptr_t)a->o |
                       (uintptr_t)a->d_o | (uintptr_t)a->dq | (uintptr_t)a->dk_ | (uintptr_t)a->dv_;
        return has_mma<A>(c) && widths && strides && at % 16 == 0;
    }
    return false;
}

/* Of both sides. */
static inline uint32_t longest_of(const struct tf_attention *a)
{
    return a->q_rows->cap_longest > a->k_rows->cap_longest ? a->q_rows->cap_longest
                                                           : a->k_rows->cap_longest;
}
/* Warps of a block: as many tiles of 16 as the longest sentence needs, up to 4. */
static inline int warps_for(const struct tf_attention *a)
{
    uint32_t longest = longest_of(a);
    return longest <= 16 ? 1 : longest <= 32 ? 2 : longest <= 48 ? 3 : 4;
}

/* ---- any width: four rows of one side a warp, tiles of 32 rows of the other side ---- */

/* of a piece of a tile in shared memory, and its floats */
enum { COLUMNS = 64, PIECE = 32 * (COLUMNS + 1) };

/* x[d] = column d of the rows i .. i + 3, 0 for rows from `end` on. By a warp, seen by it after the
 * next barrier. */
template <typename A>
__device__ static inline void load_rows(float4 *x, const A *rows, size_t ld, int i, int end,
                                        int width)
{
    for (int d = threadIdx.x % 32; d < width; d += 32) {
        float v[4];
        for (int r = 0; r < 4; r++)
            v[r] = i + r < end ? to_float(rows[(size_t)(i + r) * ld + d]) : 0;
        x[d] = make_float4(v[0], v[1], v[2], v[3]);
    }
}

/* Columns d .. d + COLUMNS of the rows j .. j + 31, 0 from `end` and `width` on. By the whole
 * block, with a barrier before and after. */
template <typename A>
__device__ static inline void load_piece(float *piece, const A *rows, size_t ld, int j, int end,
                                         int d, int width)
{
    __syncthreads();
    for (int i = threadIdx.x; i < 32 * COLUMNS; i += blockDim.x) {
        int r = i / COLUMNS, col = i % COLUMNS;
        piece[r * (COLUMNS + 1) + col] =
            j + r < end && d + col < width ? to_float(rows[(size_t)(j + r) * ld + d + col]) : 0;
    }
    __syncthreads();
}

/* s[r] += the warp's row r times row j + lane. By the whole block. */
template <typename A>
__device__ static inline void dot_rows(float s[4], const float4 *x, float *piece, const A *rows,
                                       size_t ld, int j, int end, int width)
{
    for (int d = 0; d < width; d += COLUMNS) {
        load_piece(piece, rows, ld, j, end, d, width);
        const float *y = piece + threadIdx.x % 32 * (COLUMNS + 1);
        for (int k = 0; k < COLUMNS && d + k < width; k++) {
            float4 v = x[d + k];
            s[0] += v.x * y[k], s[1] += v.y * y[k], s[2] += v.z * y[k], s[3] += v.w * y[k];
        }
    }
}

/* out[column] += sum over 32 rows from j on of the warp's weights for them times the row; a lane
 * has the columns lane, lane + 32, ... By the whole block. */
template <typename A>
__device__ static inline void add_rows(float4 *out, const float4 *weights, float *piece,
                                       const A *rows, size_t ld, int j, int end, int width)
{
    for (int d = 0; d < width; d += COLUMNS) {
        load_piece(piece, rows, ld, j, end, d, width);
        for (int k = threadIdx.x % 32; k < COLUMNS && d + k < width; k += 32) {
            float4 sum = out[d + k];
            for (int r = 0; r < 32; r++) {
                float4 w = weights[r];
                float y = piece[r * (COLUMNS + 1) + k];
                sum.x += w.x * y, sum.y += w.y * y, sum.z += w.z * y, sum.w += w.w * y;
            }
            out[d + k] = sum;
        }
    }
}

/* Rows i .. i + 3 of the result, less those from `end` on. */
template <typename A>
__device__ static inline void store_rows(A *rows, size_t ld, int i, int end, int width,
                                         const float4 *x, const float factor[4])
{
    for (int d = threadIdx.x % 32; d < width; d += 32) {
        float v[4] = {x[d].x, x[d].y, x[d].z, x[d].w};
        for (int r = 0; r < 4; r++)
            if (i + r < end)
                rows[(size_t)(i + r) * ld + d] = from_float<A>(v[r] * factor[r]);
    }
}

/* Factors of the weights of the queries i .. i + 3 for key j + lane. Of four threads, which share a
 * quad of keys, each draws for one query. */
__device__ static inline void drop_queries(float f[4], const struct place &p, int i, int j)
{
    drop_keys(f, p, i + threadIdx.x % 4, (j + (int)(threadIdx.x % 32)) / 4);
    if (p.dropout.on)
        transpose4(f, 1);
}

/* Warps of a block whose shared memory is `each` float4 for a warp and a piece: 4 unless that is
 * much. */
static inline int warps_of(int each, size_t *shared)
{
    int warps = 4;
    while (warps > 1 && warps * each * sizeof(float4) + PIECE * sizeof(float) > 48 * 1024)
        warps /= 2;
    *shared = warps * each * sizeof(float4) + PIECE * sizeof(float);
    return warps;
}

/* Tiles of n rows in the longest sentence, at least 1: blocks of a grid. */
static inline unsigned tiles_of(const struct tf_rows *r, int n)
{
    return r->cap_longest > 0 ? div_up(r->cap_longest, n) : 1;
}
static inline unsigned places_of(const struct tf_attention *a)
{
    return (unsigned)((a->q_rows->cap_used > 0 ? a->q_rows->cap_used : 1) * a->heads);
}

#endif
