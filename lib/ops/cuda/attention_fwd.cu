/* attention_fwd.cu - attention of packed sentences, forward, with an online softmax over tiles of
 * keys: any length works, and the matrix of weights is stored only when the caller requests it.
 * m is the largest score so far, l the sum of exp(score - m), and o the sum of exp(score - m) v;
 * a new maximum m' scales l and o by exp(m - m'). Scores are in units of log 2. */
#include "attention_private.h"
#include "ops/cuda/memory_private.h"

/* ---- tensor cores: scores by multiply() of device_private.h ---- */

/* Columns of a row of q or k in tiles: 0 from dk on. */
__host__ __device__ static inline int padded(int dk)
{
    return (dk + 31) / 32 * 32;
}

/* Factors of dropout for an 8-wide tile of weights in the layout of mma: rows (queries i, i + 8),
 * columns (keys j, j + 1), j even. Of two neighbouring threads, which share a quad of keys, one
 * draws for the upper query and one for the lower. */
__device__ static inline void drop_tile(float f[4], const struct place &p, int i, int j)
{
    bool odd = threadIdx.x & 1;
    float w[4];
    drop_keys(w, p, odd ? i + 8 : i, j / 4);
    float got0 = __shfl_xor_sync(0xffffffffu, odd ? w[0] : w[2], 1),
          got1 = __shfl_xor_sync(0xffffffffu, odd ? w[1] : w[3], 1);
    f[0] = odd ? got0 : w[0], f[1] = odd ? got1 : w[1];
    f[2] = odd ? w[2] : got0, f[3] = odd ? w[3] : got1;
}

/* A warp has 16 queries: their q and o stay in registers; a block has tiles of KEYS rows of k and v
 * in shared memory. WIDTH >= dk, dv. SHORT: these are WIDTH, and no sentence has more than KEYS
 * keys. KEYS and SHORT change no bit of a result: keys that nobody sees add zeros. Grid: sentences
 * by heads, tiles of queries; unless SHORT, blocks take turns should there be more. */
template <typename A, int WIDTH, int KEYS, bool SHORT>
static __global__ void __launch_bounds__(128) forward_mma(struct heads<A> h)
{
    TF_SHARED(A, shared);
    const struct place p = place_of(h);
    const int dk = SHORT ? WIDTH : h.dk, dv = SHORT ? WIDTH : h.dv, ldk = padded(dk) + PAD,
              ldv = dv + PAD, warp = threadIdx.x / 32, g = threadIdx.x % 32 / 4,
              t = threadIdx.x % 4, tile = blockDim.x / 2;
    const float scale = h.scale * LOG2E;
    A *k_tile = shared, *v_tile = shared + KEYS * ldk;
    struct async_copies copies;
    clear_rest(h);
    const A *q = h.q + p.row * h.ldq + p.head * dk, *k = h.k + p.key * h.ldk + p.head * dk,
            *v = h.v + p.key * h.ldv + p.head * dv;

    for (int i0 = blockIdx.y * tile; i0 < p.T; i0 += gridDim.y * tile) {
        int i = i0 + 16 * warp; /* the warp's first query; the thread's are i + g and 8 further */
        struct range mine = seen_from(h, p, i, 16, false), all = seen_from(h, p, i0, tile, false);
        const struct span seen[2] = {span_of(h, p, i + g, false), span_of(h, p, i + g + 8, false)};
        uint4 qf[WIDTH / 32][2];
        float o[WIDTH / 8][4] = {}, m[2] = {-INFINITY, -INFINITY}, l[2] = {0, 0};
#pragma unroll
        for (int c = 0; c < WIDTH / 32; c++)
#pragma unroll
            for (int r = 0; r < 2; r++) {
                int row = i + g + 8 * r, d = 32 * c + 8 * t;
                qf[c][r] = row < p.T && d < dk ? *(const uint4 *)(q + (size_t)row * h.ldq + d)
                                               : make_uint4(0, 0, 0, 0);
            }

        for (int j0 = SHORT ? 0 : all.from / KEYS * KEYS; j0 < all.to; j0 += KEYS) {
            int end = min(j0 + KEYS, p.S);
            bool live = i < p.T && j0 < mine.to && end > mine.from;
            float s[KEYS / 8][4] = {}, top[2] = {-INFINITY, -INFINITY}, base[2];
            __syncthreads();
            fill_tile(copies, k_tile, ldk, k, h.ldk, j0, end, dk, padded(dk));
            copies.commit();
            fill_tile(copies, v_tile, ldv, v, h.ldv, j0, end, dv, dv);
            copies.commit();
            copies.template wait<1>();
            __syncthreads();
            if (live) {
#pragma unroll
                for (int n = 0; n < KEYS / 8; n++)
                    if (j0 + 8 * n < end)
#pragma unroll
                        for (int c = 0; c < WIDTH / 32; c++)
                            if (32 * c < dk) {
                                const uint4 b = *(const uint4 *)(k_tile + (8 * n + g) * ldk +
                                                                 32 * c + 8 * t);
                                multiply<A>(s[n], qf[c][0], qf[c][1], b);
                            }
#pragma unroll
                for (int n = 0; n < KEYS / 8; n++)
#pragma unroll
                    for (int e = 0; e < 4; e++) {
                        if (!seen[e / 2].has(j0 + 8 * n + 2 * t + e % 2))
                            s[n][e] = -INFINITY;
                        top[e / 2] = fmaxf(top[e / 2], s[n][e]);
                    }
#pragma unroll
                for (int r = 0; r < 2; r++) {
                    for (int step = 1; step <= 2; step *= 2)
                        top[r] = fmaxf(top[r], __shfl_xor_sync(0xffffffffu, top[r], step));
                    top[r] = fmaxf(m[r], top[r] * scale);
                    base[r] = top[r] == -INFINITY ? 0 : top[r];
                    float shrink = power_of_2(m[r] - base[r]);
                    m[r] = top[r];
                    if (SHORT)
                        continue;
                    l[r] *= shrink;
#pragma unroll
                    for (int d = 0; d < WIDTH / 8; d++)
                        o[d][2 * r] *= shrink, o[d][2 * r + 1] *= shrink;
                }
#pragma unroll
                for (int n = 0; n < KEYS / 8; n++) {
                    if (j0 + 8 * n >= end)
                        continue;
#pragma unroll
                    for (int e = 0; e < 4; e++)
                        l[e / 2] += s[n][e] = power_of_2(fmaf(s[n][e], scale, -base[e / 2]));
                    if (p.dropout.on) {
                        float f[4];
                        drop_tile(f, p, i + g, j0 + 8 * n + 2 * t);
                        for (int e = 0; e < 4; e++)
                            s[n][e] *= f[e];
                    }
                }
            }
            copies.template wait<0>();
            __syncthreads();
#pragma unroll
            for (int n = 0; n < KEYS / 16; n++)
                if (live && j0 + 16 * n < end) {
                    uint32_t w[4];
                    if (j0 + 16 * n + 8 >= end) /* which the loop above left as they were */
                        for (int e = 0; e < 4; e++)
                            s[2 * n + 1][e] = 0;
                    as_a<A>(w, s + 2 * n);
#pragma unroll
                    for (int d = 0; d < WIDTH / 16; d++)
                        if (16 * d < dv) {
                            uint32_t b[4];
                            load_b<false>(b, v_tile + 16 * n * ldv + 16 * d, ldv);
                            mma2<A>(o + 2 * d, w, b);
                        }
                }
            if (SHORT)
                break;
        }

#pragma unroll
        for (int r = 0; r < 2; r++) {
            for (int step = 1; step <= 2; step *= 2)
                l[r] += __shfl_xor_sync(0xffffffffu, l[r], step);
            int row = i + g + 8 * r;
            if (row >= p.T)
                continue;
            float inverse = l[r] > 0 ? 1 / l[r] : 0;
            A *out = h.o + (p.row + row) * h.ldo + p.head * dv + 2 * t;
#pragma unroll
            for (int d = 0; d < WIDTH / 8; d++)
                if (8 * d < dv)
                    *(uint32_t *)(out + 8 * d) =
                        pair_of<A>(o[d][2 * r] * inverse, o[d][2 * r + 1] * inverse);
            if (t == 0 && h.lse != nullptr)
                h.lse[(size_t)(p.row + row) * h.n_heads + p.head] =
                    l[r] > 0 ? (m[r] + log2f(l[r])) * LN2 : -INFINITY;
        }
        if (SHORT)
            break;
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
            drop_queries(f, p, i, j0);
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
    int warps = warps_for(a);
    uint32_t keys = a->k_rows->cap_longest;
    bool exact = a->dk == 64 && a->dv == 64;
    auto run = [&](auto kernel, size_t tile) {
        size_t shared = tile * (size_t)(padded(a->dk) + a->dv + 2 * PAD) * sizeof(A);
        if (tf_cuda_allow_shared(c, "attention_fwd", (const void *)kernel, shared))
            launch(c, "attention_fwd", kernel, dim3(places_of(a), tiles_of(a->q_rows, 16 * warps)),
                   dim3(32 * warps), shared, heads_of<A>(c, a));
    };
    if (exact && keys <= 32)
        run(forward_mma<A, 64, 32, true>, 32);
    else if (exact && keys <= 64)
        run(forward_mma<A, 64, 64, true>, 64);
    else if (a->dk <= 64 && a->dv <= 64)
        run(forward_mma<A, 64, 64, false>, 64);
    else
        run(forward_mma<A, 128, 64, false>, 64);
}

template <typename A>
void tf_cuda_ops<A>::attention_fwd(struct tf_ctx *c, const struct tf_attention *a)
{
    if constexpr (sizeof(A) == 2) {
        if (fits_mma<A>(c, a) && a->probs == nullptr) {
            run_mma<A>(c, a);
            return;
        }
    }
    size_t shared;
    int warps = warps_of(a->dk + a->dv + 32, &shared);
    if (!tf_cuda_allow_shared(c, "attention_fwd", (const void *)forward_any<A>, shared))
        return;
    launch(c, "attention_fwd", forward_any<A>, dim3(places_of(a), tiles_of(a->q_rows, 4 * warps)),
           dim3(32 * warps), shared, heads_of<A>(c, a));
}

TF_CUDA_EVERY(attention_fwd)
