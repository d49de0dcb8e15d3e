/* attention_fwd.cu - attention of packed sentences, forward, with an online softmax over tiles of
 * keys: any length works, and the matrix of weights is stored only when the caller requests it.
 * m is the largest score so far, l the sum of exp(score - m), and o the sum of exp(score - m) v;
 * a new maximum m' scales l and o by exp(m - m'). Scores are in units of log 2. */
#include "attention.h"

/* ---- tensor cores ---- */

/* of a tile: it lies in shared memory as two arrays [KEYS][dk + PAD] and [KEYS][dv + PAD] */
enum { KEYS = 64 };

/* Rows g and g + 8, columns 2t, 2t + 1 and those 8 further of a 16 x 16 fragment of q, from its
 * rows in memory; 0 for rows from `rows` on. */
template <typename A>
__device__ static inline void load_query(uint32_t r[4], const A *q, size_t ld, int rows)
{
    int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    for (int i = 0; i < 4; i++) {
        int row = g + i % 2 * 8;
        r[i] = row < rows ? *(const uint32_t *)(q + (size_t)row * ld + 2 * t + i / 2 * 8) : 0;
    }
}

/* Factors of dropout for an 8-wide tile of weights in the layout of mma: rows (queries i, i + 8),
 * columns (keys j, j + 1), j even. Of two neighbouring threads, which share a quad of keys, one
 * draws for the upper query and one for the lower. */
template <typename A>
__device__ static inline void drop_tile(float f[4], const struct heads<A> &h, const struct place &p,
                                        int i, int j)
{
    bool odd = threadIdx.x & 1;
    float w[4];
    drop_keys(w, h, p, odd ? i + 8 : i, j / 4);
    float got0 = __shfl_xor_sync(0xffffffffu, odd ? w[0] : w[2], 1),
          got1 = __shfl_xor_sync(0xffffffffu, odd ? w[1] : w[3], 1);
    f[0] = odd ? got0 : w[0], f[1] = odd ? got1 : w[1];
    f[2] = odd ? w[2] : got0, f[3] = odd ? w[3] : got1;
}

/* A warp has 16 queries: their q and o stay in registers. WIDTH >= dk, dv. Grid: sentences * heads,
 * tiles of queries (blocks take turns, should there be more). */
template <typename A, int WIDTH>
static __global__ void __launch_bounds__(128) forward_mma(struct heads<A> h)
{
    TF_SHARED(A, shared);
    const struct place p = place_of(h);
    int ldk = h.dk + PAD, ldv = h.dv + PAD, warp = threadIdx.x / 32, g = threadIdx.x % 32 / 4,
        t = threadIdx.x % 4, tile = blockDim.x / 2;
    A *k_tile = shared, *v_tile = shared + KEYS * ldk;
    clear_rest(h);
    const A *q = h.q + p.row * h.ldq + p.head * h.dk, *k = h.k + p.key * h.ldk + p.head * h.dk,
            *v = h.v + p.key * h.ldv + p.head * h.dv;

    for (int i0 = blockIdx.y * tile; i0 < p.T; i0 += gridDim.y * tile) {
        int i = i0 + 16 * warp; /* the warp's first query */
        struct range mine = seen_from(h, p, i, 16, false), all = seen_from(h, p, i0, tile, false);
        uint32_t qf[WIDTH / 16][4];
        float o[WIDTH / 8][4] = {}, m[2] = {-INFINITY, -INFINITY}, l[2] = {0, 0};
#pragma unroll
        for (int d = 0; d < WIDTH / 16; d++)
            if (16 * d < h.dk)
                load_query(qf[d], q + (size_t)i * h.ldq + 16 * d, h.ldq, p.T - i);

        for (int j0 = all.from / KEYS * KEYS; j0 < all.to; j0 += KEYS) {
            int end = min(j0 + KEYS, p.S);
            __syncthreads();
            fill_tile(k_tile, ldk, k, h.ldk, j0, end, h.dk);
            fill_tile(v_tile, ldv, v, h.ldv, j0, end, h.dv);
            __syncthreads();
            if (i >= p.T || j0 >= mine.to || end <= mine.from)
                continue;
            float s[KEYS / 8][4] = {}, top[2] = {m[0], m[1]};
#pragma unroll
            for (int n = 0; n < KEYS / 16; n++)
                if (j0 + 16 * n < end)
#pragma unroll
                    for (int d = 0; d < WIDTH / 16; d++)
                        if (16 * d < h.dk) {
                            uint32_t b[4];
                            load_b<true>(b, k_tile + 16 * n * ldk + 16 * d, ldk);
                            mma2<A>(s + 2 * n, qf[d], b);
                        }
#pragma unroll
            for (int n = 0; n < KEYS / 8; n++)
#pragma unroll
                for (int e = 0; e < 4; e++) {
                    bool seen = sees(h, p, i + g + e / 2 * 8, j0 + 8 * n + 2 * t + e % 2);
                    s[n][e] = seen ? s[n][e] * (h.scale * LOG2E) : -INFINITY;
                    top[e / 2] = fmaxf(top[e / 2], s[n][e]);
                }
            float base[2];
#pragma unroll
            for (int r = 0; r < 2; r++) {
                for (int step = 1; step <= 2; step *= 2)
                    top[r] = fmaxf(top[r], __shfl_xor_sync(0xffffffffu, top[r], step));
                base[r] = top[r] == -INFINITY ? 0 : top[r];
                float shrink = exp2f(m[r] - base[r]);
                m[r] = top[r];
                l[r] *= shrink;
#pragma unroll
                for (int d = 0; d < WIDTH / 8; d++)
                    o[d][2 * r] *= shrink, o[d][2 * r + 1] *= shrink;
            }
#pragma unroll
            for (int n = 0; n < KEYS / 8; n++) {
                if (j0 + n / 2 * 16 >= end)
                    continue;
#pragma unroll
                for (int e = 0; e < 4; e++)
                    l[e / 2] += s[n][e] = exp2f(s[n][e] - base[e / 2]);
                if (h.dropout.threshold != 0) {
                    float f[4];
                    drop_tile(f, h, p, i + g, j0 + 8 * n + 2 * t);
                    for (int e = 0; e < 4; e++)
                        s[n][e] *= f[e];
                }
            }
#pragma unroll
            for (int n = 0; n < KEYS / 16; n++)
                if (j0 + 16 * n < end) {
                    uint32_t w[4];
                    as_a<A>(w, s + 2 * n);
#pragma unroll
                    for (int d = 0; d < WIDTH / 16; d++)
                        if (16 * d < h.dv) {
                            uint32_t b[4];
                            load_b<false>(b, v_tile + 16 * n * ldv + 16 * d, ldv);
                            mma2<A>(o + 2 * d, w, b);
                        }
                }
        }

#pragma unroll
        for (int r = 0; r < 2; r++) {
            for (int step = 1; step <= 2; step *= 2)
                l[r] += __shfl_xor_sync(0xffffffffu, l[r], step);
            int row = i + g + 8 * r;
            if (row >= p.T)
                continue;
            float inverse = l[r] > 0 ? 1 / l[r] : 0;
            A *out = h.o + (p.row + row) * h.ldo + p.head * h.dv + 2 * t;
#pragma unroll
            for (int d = 0; d < WIDTH / 8; d++)
                if (8 * d < h.dv)
                    *(uint32_t *)(out + 8 * d) =
                        pair_of<A>(o[d][2 * r] * inverse, o[d][2 * r + 1] * inverse);
            if (t == 0 && h.lse != nullptr)
                h.lse[(size_t)(p.row + row) * h.n_heads + p.head] =
                    l[r] > 0 ? (m[r] + log2f(l[r])) * LN2 : -INFINITY;
        }
    }
}

/* ---- any width ---- */

/* Where the weights of a sentence and head begin in probs. */
template <typename A>
__device__ static inline float *probs_of(const struct heads<A> &h, const struct place &p)
{
    size_t cells = 0;
    for (int s = 0; s < p.sentence; s++)
        cells += (size_t)(h.q_off[s + 1] - h.q_off[s]) * (h.k_off[s + 1] - h.k_off[s]);
    return h.probs + cells * h.n_heads + (size_t)p.head * p.T * p.S;
}

/* Shared: for each warp, as float4 of its four queries, q [dk], o [dv] and the weights of a tile
 * [32]; a piece. */
template <typename A> static __global__ void __launch_bounds__(128) forward_any(struct heads<A> h)
{
    TF_SHARED(float4, shared);
    const struct place p = place_of(h);
    int warps = blockDim.x / 32, warp = threadIdx.x / 32, lane = threadIdx.x % 32, tile = 4 * warps,
        each = h.dk + h.dv + 32;
    float4 *q = shared + warp * each, *o = q + h.dk, *weights = o + h.dv;
    float *piece = (float *)(shared + warps * each);
    const A *k = h.k + p.key * h.ldk + p.head * h.dk, *v = h.v + p.key * h.ldv + p.head * h.dv;
    clear_rest(h);

    for (int i0 = blockIdx.y * tile; i0 < p.T; i0 += gridDim.y * tile) {
        int i = i0 + 4 * warp;
        struct range keys = seen_from(h, p, i0, tile, false);
        float m[4] = {-INFINITY, -INFINITY, -INFINITY, -INFINITY}, l[4] = {};
        __syncthreads();
        load_rows(q, h.q + p.row * h.ldq + p.head * h.dk, h.ldq, i, p.T, h.dk);
        for (int d = lane; d < h.dv; d += 32)
            o[d] = make_float4(0, 0, 0, 0);
        for (int j0 = keys.from / 32 * 32; j0 < keys.to; j0 += 32) {
            float s[4] = {}, shrink[4], f[4];
            dot_rows(s, q, piece, k, h.ldk, j0, p.S, h.dk);
            drop_queries(f, h, p, i, j0);
            for (int r = 0; r < 4; r++) {
                s[r] = sees(h, p, i + r, j0 + lane) ? s[r] * (h.scale * LOG2E) : -INFINITY;
                float top = fmaxf(m[r], warp_max(s[r])), base = top == -INFINITY ? 0 : top;
                shrink[r] = exp2f(m[r] - base);
                m[r] = top;
                s[r] = exp2f(s[r] - base);
                l[r] = l[r] * shrink[r] + warp_sum(s[r]);
            }
            weights[lane] = make_float4(s[0] * f[0], s[1] * f[1], s[2] * f[2], s[3] * f[3]);
            for (int d = lane; d < h.dv; d += 32)
                o[d] = make_float4(o[d].x * shrink[0], o[d].y * shrink[1], o[d].z * shrink[2],
                                   o[d].w * shrink[3]);
            add_rows(o, weights, piece, v, h.ldv, j0, p.S, h.dv);
        }
        float inverse[4];
        for (int r = 0; r < 4; r++) {
            inverse[r] = l[r] > 0 ? 1 / l[r] : 0;
            if (i + r < p.T && lane == 0 && h.lse != nullptr)
                h.lse[(size_t)(p.row + i + r) * h.n_heads + p.head] =
                    l[r] > 0 ? (m[r] + log2f(l[r])) * LN2 : -INFINITY;
        }
        store_rows(h.o + p.row * h.ldo + p.head * h.dv, h.ldo, i, p.T, h.dv, o, inverse);
        if (h.probs == nullptr)
            continue;
        float *probs = probs_of(h, p);
        for (int j0 = 0; j0 < p.S; j0 += 32) {
            float s[4] = {};
            dot_rows(s, q, piece, k, h.ldk, j0, p.S, h.dk);
            for (int r = 0; r < 4; r++)
                if (i + r < p.T && j0 + lane < p.S)
                    probs[(size_t)(i + r) * p.S + j0 + lane] =
                        sees(h, p, i + r, j0 + lane)
                            ? exp2f(s[r] * (h.scale * LOG2E) - m[r]) * inverse[r]
                            : 0;
        }
    }
}

/* ---- entry ---- */

template <typename A> static void run_mma(struct tf_ctx *c, const struct tf_attention *a)
{
    size_t shared = (size_t)KEYS * (a->dk + a->dv + 2 * PAD) * sizeof(A);
    int warps = warps_for(a);
    auto run = [&](auto kernel) {
        if (tf_cuda_allow_shared(c, "attention_fwd", (const void *)kernel, shared))
            launch(c, "attention_fwd", kernel, dim3(places_of(a), tiles_of(a->q_rows, 16 * warps)),
                   dim3(32 * warps), shared, heads_of<A>(c, a));
    };
    if (a->dk <= 64 && a->dv <= 64)
        run(forward_mma<A, 64>);
    else
        run(forward_mma<A, 128>);
}

template <typename A>
void tf_cuda_ops<A>::attention_fwd(struct tf_ctx *c, const struct tf_attention *a)
{
    if constexpr (sizeof(A) == 2)
        if (fits_mma<A>(c, a) && a->probs == nullptr) {
            run_mma<A>(c, a);
            return;
        }
    size_t shared;
    int warps = warps_of(a->dk + a->dv + 32, &shared);
    if (!tf_cuda_allow_shared(c, "attention_fwd", (const void *)forward_any<A>, shared))
        return;
    launch(c, "attention_fwd", forward_any<A>, dim3(places_of(a), tiles_of(a->q_rows, 4 * warps)),
           dim3(32 * warps), shared, heads_of<A>(c, a));
}

TF_CUDA_EVERY(attention_fwd)
