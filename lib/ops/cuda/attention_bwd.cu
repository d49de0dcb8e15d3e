/* attention_bwd.cu - gradients of attention. With p the weights, which come back from the scores
 * and lse, and f dropout's factors: dv = (p f)' do, ds = p (f (do v') - D) with D = sum over
 * columns of do o (which is sum_j p_j f_j (do v')_j), dq = scale ds k, dk = scale ds' q. Every sum
 * is one thread's own, in a fixed order. */
#include "attention_private.h"
#include "ops/cuda/beside_private.h"
#include "ops/cuda/memory_private.h"

/* ---- tensor cores ---- */

/* Factors of dropout for an 8-wide tile of weights in the layout of mma with keys as rows: keys j,
 * j + 8, queries i, i + 1. Of four threads, which share the quads of keys of both rows, each draws
 * for one query and one row. */
__device__ static inline void drop_tile(float f[4], const struct place &p, int i, int j)
{
    int turn = threadIdx.x % 32 / 4 % 4;
    drop_keys(f, p, i + turn % 2, (j + turn / 2 * 8) / 4);
    transpose4(f, 4);
}

/* Does any of the queries i .. i + 15 see any of the keys j .. j + 15? */
template <typename A>
__device__ static inline bool meet(const struct heads<A> &h, const struct place &p, int i, int j)
{
    struct range r = seen_from(h, p, i, 16, false);
    return i < p.T && j < r.to && j + 16 > r.from;
}

/* One block a sentence and head, 16 rows a warp: over tiles of keys, and for each over tiles of
 * queries. A warp keeps dk and dv of its 16 keys in registers; ds goes through shared memory, for
 * then a warp makes dq of 16 queries. Where a sentence has several tiles of keys, dq is summed in
 * `sums`, float [rows][heads * dk]. WIDTH >= dk, dv. SHORT: these are WIDTH, and a sentence is one
 * tile on either side.
 * Shared: tiles of k, q [dk + PAD] and v, do [dv + PAD], of ds [keys][queries + PAD]; lse and D of
 * the queries. */
template <typename A, int WIDTH, bool SHORT>
static __global__ void __launch_bounds__(128, SHORT ? 4 : WIDTH <= 64 ? 3 : 2)
    backward_mma(struct heads<A> h, float *sums)
{
    TF_SHARED(A, shared);
    const struct place p = place_of(h);
    const float scale = h.scale * LOG2E;
    const int width_k = SHORT ? WIDTH : h.dk, width_v = SHORT ? WIDTH : h.dv;
    struct async_copies copies;
    int ldk = width_k + PAD, ldv = width_v + PAD, warp = threadIdx.x / 32, lane = threadIdx.x % 32,
        g = lane / 4, t = lane % 4, tile = blockDim.x / 2, lds = tile + PAD;
    A *k_tile = shared, *q_tile = k_tile + tile * ldk, *v_tile = q_tile + tile * ldk,
      *do_tile = v_tile + tile * ldv, *ds_tile = do_tile + tile * ldv;
    float *lse = (float *)(ds_tile + tile * lds), *dot = lse + tile;
    size_t at_q = p.row * h.ldq + p.head * width_k, at_k = p.key * h.ldk + p.head * width_k,
           at_v = p.key * h.ldv + p.head * width_v, at_o = p.row * h.ldo + p.head * width_v;

    /* Queries that see nothing. */
    for (int i0 = 0; i0 < p.T; i0 += tile) {
        struct range r = seen_from(h, p, i0, tile, false);
        if (r.from >= r.to)
            for (int n = threadIdx.x; n < min(tile, p.T - i0) * width_k; n += blockDim.x)
                h.dq[at_q + (i0 + n / width_k) * h.ldq + n % width_k] = from_float<A>(0);
    }

    for (int j0 = 0; j0 < p.S; j0 += tile) {
        int j = j0 + 16 * warp, keys_end = min(j0 + tile, p.S); /* j: the warp's first key */
        struct range queries = seen_from(h, p, j0, tile, true);
        const struct span seen[2] = {span_of(h, p, j + g, true), span_of(h, p, j + g + 8, true)};
        float dk[WIDTH / 8][4] = {}, dv[WIDTH / 8][4] = {};
        auto store_gradients = [&] {
#pragma unroll
            for (int d = 0; d < WIDTH / 8; d++)
#pragma unroll
                for (int r = 0; r < 2; r++) {
                    int row = j + g + 8 * r;
                    if (row >= p.S)
                        continue;
                    if (8 * d < width_k)
                        *(uint32_t *)(h.dk_out + at_k + row * h.ldk + 8 * d + 2 * t) =
                            pair_of<A>(dk[d][2 * r] * h.scale, dk[d][2 * r + 1] * h.scale);
                    if (8 * d < width_v)
                        *(uint32_t *)(h.dv_out + at_v + row * h.ldv + 8 * d + 2 * t) =
                            pair_of<A>(dv[d][2 * r], dv[d][2 * r + 1]);
                }
        };
        __syncthreads();
        fill_tile(copies, k_tile, ldk, h.k + at_k, h.ldk, j0, keys_end, width_k, width_k);
        fill_tile(copies, v_tile, ldv, h.v + at_v, h.ldv, j0, keys_end, width_v, width_v);

        for (int i0 = SHORT ? 0 : queries.from / tile * tile; SHORT || i0 < queries.to;
             i0 += tile) {
            /* since the last barrier nobody has read what is filled now */
            int i_end = min(i0 + tile, p.T);
            fill_tile(copies, q_tile, ldk, h.q + at_q, h.ldq, i0, i_end, width_k, width_k);
            fill_tile(copies, do_tile, ldv, h.d_o + at_o, h.ldo, i0, i_end, width_v, width_v);
            copies.commit();
            copies.template wait<0>();
            __syncthreads();
            { /* lse and D: two threads a query */
                int r = threadIdx.x / 2;
                float sum = 0;
                if (i0 + r < i_end)
#pragma unroll 4
                    for (int d = threadIdx.x % 2 * 8; d < width_v; d += 16) {
                        vec<A> x = *(const vec<A> *)(h.o + at_o + (i0 + r) * h.ldo + d),
                               y = *(const vec<A> *)(do_tile + r * ldv + d);
                        for (int e = 0; e < 8; e++)
                            sum += to_float(x.v[e]) * to_float(y.v[e]);
                    }
                sum += __shfl_xor_sync(0xffffffffu, sum, 1);
                if (threadIdx.x % 2 == 0) {
                    dot[r] = sum;
                    lse[r] = i0 + r < i_end
                                 ? h.lse[(size_t)(p.row + i0 + r) * h.n_heads + p.head] * LOG2E
                                 : 0;
                }
            }
            __syncthreads();

            for (int n = 0; n < tile / 16; n++) {
                int i = i0 + 16 * n;
                if (j >= p.S || !meet(h, p, i, j))
                    continue;
                float s[2][4] = {}, dp[2][4] = {}; /* keys as rows, queries as columns */
#pragma unroll
                for (int d = 0; d < WIDTH / 16; d++) {
                    uint32_t a[4], b[4];
                    if (16 * d < width_k) {
                        load_a<false>(a, k_tile + 16 * warp * ldk + 16 * d, ldk);
                        load_b<true>(b, q_tile + 16 * n * ldk + 16 * d, ldk);
                        mma2<A>(s, a, b);
                    }
                    if (16 * d < width_v) {
                        load_a<false>(a, v_tile + 16 * warp * ldv + 16 * d, ldv);
                        load_b<true>(b, do_tile + 16 * n * ldv + 16 * d, ldv);
                        mma2<A>(dp, a, b);
                    }
                }
#pragma unroll
                for (int half_tile = 0; half_tile < 2; half_tile++) {
                    int column = 16 * n + 8 * half_tile + 2 * t;
                    float f[4] = {1, 1, 1, 1};
                    if (p.dropout.on)
                        drop_tile(f, p, i0 + column, j + g);
#pragma unroll
                    for (int e = 0; e < 4; e++) {
                        float &x = s[half_tile][e], &y = dp[half_tile][e];
                        float w = seen[e / 2].has(i0 + column + e % 2)
                                      ? power_of_2(fmaf(x, scale, -lse[column + e % 2]))
                                      : 0;
                        x = w * f[e];
                        y = w * (f[e] * y - dot[column + e % 2]);
                    }
                }
                uint32_t w[4], ds[4];
                as_a<A>(w, s);
                as_a<A>(ds, dp);
                for (int e = 0; e < 4; e++)
                    *(uint32_t *)(ds_tile + (16 * warp + g + e % 2 * 8) * lds + 16 * n + e / 2 * 8 +
                                  2 * t) = ds[e];
#pragma unroll
                for (int d = 0; d < WIDTH / 16; d++) {
                    uint32_t b[4];
                    if (16 * d < width_v) {
                        load_b<false>(b, do_tile + 16 * n * ldv + 16 * d, ldv);
                        mma2<A>(dv + 2 * d, w, b);
                    }
                    if (16 * d < width_k) {
                        load_b<false>(b, q_tile + 16 * n * ldk + 16 * d, ldk);
                        mma2<A>(dk + 2 * d, ds, b);
                    }
                }
            }
            if (SHORT) /* before dq takes registers */
                store_gradients();
            __syncthreads();

            int i = i0 + 16 * warp; /* now the warp's first query */
            if (i >= p.T) {
                if (SHORT)
                    break;
                continue;
            }
            float dq[WIDTH / 8][4] = {};
            for (int n = 0; n < tile / 16; n++) {
                if (j0 + 16 * n >= p.S || !meet(h, p, i, j0 + 16 * n))
                    continue;
                uint32_t a[4], b[4];
                load_a<true>(a, ds_tile + 16 * n * lds + 16 * warp, lds);
#pragma unroll
                for (int d = 0; d < WIDTH / 16; d++)
                    if (16 * d < width_k) {
                        load_b<false>(b, k_tile + 16 * n * ldk + 16 * d, ldk);
                        mma2<A>(dq + 2 * d, a, b);
                    }
            }
            struct range all = seen_from(h, p, i0, tile, false); /* keys of this tile of queries */
            bool first = SHORT || j0 <= all.from, last = SHORT || j0 + tile >= all.to;
#pragma unroll
            for (int d = 0; d < WIDTH / 8; d++)
#pragma unroll
                for (int r = 0; r < 2; r++) {
                    int row = i + g + 8 * r;
                    if (8 * d >= width_k || row >= p.T)
                        continue;
                    float2 *more =
                        (float2 *)(sums + ((size_t)(p.row + row) * h.n_heads + p.head) * width_k +
                                   8 * d + 2 * t);
                    float2 x = first ? make_float2(0, 0) : *more;
                    x.x += dq[d][2 * r], x.y += dq[d][2 * r + 1];
                    if (last)
                        *(uint32_t *)(h.dq + at_q + row * h.ldq + 8 * d + 2 * t) =
                            pair_of<A>(x.x * h.scale, x.y * h.scale);
                    else
                        *more = x;
                }
            if (SHORT)
                break;
        }

        if (!SHORT)
            store_gradients();
        if (SHORT)
            break;
    }
}

/* ---- any width ---- */

/* D [rows][heads]: a warp each. */
template <typename A>
static __global__ void __launch_bounds__(256) dots(float *dot, struct heads<A> h)
{
    size_t i = (size_t)blockIdx.x * 8 + threadIdx.x / 32, row = i / h.n_heads, head = i % h.n_heads;
    if (row >= h.head->rows)
        return;
    float sum = 0;
    for (int d = threadIdx.x % 32; d < h.dv; d += 32)
        sum += to_float(h.o[row * h.ldo + head * h.dv + d]) *
               to_float(h.d_o[row * h.ldo + head * h.dv + d]);
    sum = warp_sum(sum);
    if (threadIdx.x % 32 == 0)
        dot[i] = sum;
}

/* dk and dv, OF_KEYS, or dq: four rows of that side a warp, against tiles of 32 rows of the other.
 * Shared: for each warp, as float4 of its four rows, k and v (q and do) and their gradients [dk],
 * [dv], [dk], [dv], and what weights the other side's rows [32], [32]; a piece. */
template <typename A, bool OF_KEYS>
static __global__ void __launch_bounds__(128) backward_any(struct heads<A> h, const float *dots)
{
    TF_SHARED(float4, shared);
    const struct place p = place_of(h);
    int warps = blockDim.x / 32, warp = threadIdx.x / 32, lane = threadIdx.x % 32, tile = 4 * warps,
        each = 2 * h.dk + 2 * h.dv + 64, rows = OF_KEYS ? p.S : p.T, others = OF_KEYS ? p.T : p.S;
    float4 *x = shared + warp * each, *y = x + h.dk, *dx = y + h.dv, *dy = dx + h.dk,
           *ds = dy + h.dv, *weights = ds + 32;
    float *piece = (float *)(shared + warps * each);
    const A *q = h.q + p.row * h.ldq + p.head * h.dk, *k = h.k + p.key * h.ldk + p.head * h.dk,
            *v = h.v + p.key * h.ldv + p.head * h.dv, *d_o = h.d_o + p.row * h.ldo + p.head * h.dv;
    const float *lse = h.lse + (size_t)p.row * h.n_heads + p.head;
    dots += (size_t)p.row * h.n_heads + p.head;

    for (int i0 = blockIdx.y * tile; i0 < rows; i0 += gridDim.y * tile) {
        int i = i0 + 4 * warp;
        struct range range = seen_from(h, p, i0, tile, OF_KEYS);
        __syncthreads();
        load_rows(x, OF_KEYS ? k : q, OF_KEYS ? h.ldk : h.ldq, i, rows, h.dk);
        load_rows(y, OF_KEYS ? v : d_o, OF_KEYS ? h.ldv : h.ldo, i, rows, h.dv);
        for (int d = lane; d < h.dk; d += 32) /* as they are read: no barrier needed */
            dx[d] = make_float4(0, 0, 0, 0);
        for (int d = lane; d < h.dv; d += 32)
            dy[d] = make_float4(0, 0, 0, 0);
        for (int j0 = range.from / 32 * 32; j0 < range.to; j0 += 32) {
            float s[4] = {}, dp[4] = {}, f[4], w[4];
            dot_rows(s, x, piece, OF_KEYS ? q : k, OF_KEYS ? h.ldq : h.ldk, j0, others, h.dk);
            dot_rows(dp, y, piece, OF_KEYS ? d_o : v, OF_KEYS ? h.ldo : h.ldv, j0, others, h.dv);
            if (OF_KEYS)
                drop_keys(f, p, j0 + lane, i / 4);
            else
                drop_queries(f, p, i, j0);
            for (int r = 0; r < 4; r++) {
                int query = OF_KEYS ? j0 + lane : i + r, key = OF_KEYS ? i + r : j0 + lane;
                bool seen = sees(h, p, query, key);
                float weight = seen ? expf(s[r] * h.scale - lse[(size_t)query * h.n_heads]) : 0;
                w[r] = weight * f[r];
                s[r] = seen ? weight * (f[r] * dp[r] - dots[(size_t)query * h.n_heads]) : 0;
            }
            ds[lane] = make_float4(s[0], s[1], s[2], s[3]);
            weights[lane] = make_float4(w[0], w[1], w[2], w[3]);
            add_rows(dx, ds, piece, OF_KEYS ? q : k, OF_KEYS ? h.ldq : h.ldk, j0, others, h.dk);
            if (OF_KEYS)
                add_rows(dy, weights, piece, d_o, h.ldo, j0, others, h.dv);
        }
        const float scale[4] = {h.scale, h.scale, h.scale, h.scale}, one[4] = {1, 1, 1, 1};
        if (OF_KEYS) {
            store_rows(h.dk_out + p.key * h.ldk + p.head * h.dk, h.ldk, i, rows, h.dk, dx, scale);
            store_rows(h.dv_out + p.key * h.ldv + p.head * h.dv, h.ldv, i, rows, h.dv, dy, one);
        } else {
            store_rows(h.dq + p.row * h.ldq + p.head * h.dk, h.ldq, i, rows, h.dk, dx, scale);
        }
    }
}

/* ---- entry ---- */

template <typename A> static void run_mma(struct tf_ctx *c, const struct tf_attention *a)
{
    int warps = warps_for(a);
    size_t tile = 16 * (size_t)warps,
           shared = tile * (2 * (size_t)(a->dk + a->dv + 2 * PAD) + tile + PAD) * sizeof(A) +
                    2 * tile * sizeof(float);
    float *sums = (float *)tf_cuda_scratch(c, a->q_rows->cap_rows * (size_t)(a->heads * a->dk) *
                                                  sizeof *sums);
    if (sums == nullptr)
        return;
    auto run = [&](auto kernel) {
        if (tf_cuda_allow_shared(c, "attention_bwd", (const void *)kernel, shared))
            launch(c, "attention_bwd", kernel, dim3(places_of(a)), dim3(32 * warps), shared,
                   heads_of<A>(c, a), sums);
    };
    if (a->dk == 64 && a->dv == 64 && longest_of(a) <= tile)
        run(backward_mma<A, 64, true>);
    else if (a->dk <= 64 && a->dv <= 64)
        run(backward_mma<A, 64, false>);
    else
        run(backward_mma<A, 128, false>);
}

template <typename A>
void tf_cuda_ops<A>::attention_bwd(struct tf_ctx *c, const struct tf_attention *a)
{
    struct tf_cuda_writes writes(c, {a->dq, a->dk_, a->dv_});
    if constexpr (sizeof(A) == 2) {
        if (fits_mma<A>(c, a)) {
            run_mma<A>(c, a);
            return;
        }
    }
    size_t shared, n = a->q_rows->cap_rows * (size_t)a->heads;
    int warps = warps_of(2 * a->dk + 2 * a->dv + 64, &shared);
    float *dot = (float *)tf_cuda_scratch(c, n * sizeof *dot);
    if (dot == nullptr ||
        !tf_cuda_allow_shared(c, "attention_bwd", (const void *)backward_any<A, false>, shared) ||
        !tf_cuda_allow_shared(c, "attention_bwd", (const void *)backward_any<A, true>, shared))
        return;
    struct heads<A> h = heads_of<A>(c, a);
    launch(c, "attention_bwd", dots<A>, dim3(div_up(n, 8)), dim3(256), 0, dot, h);
    launch(c, "attention_bwd", backward_any<A, false>,
           dim3(places_of(a), tiles_of(a->q_rows, 4 * warps)), dim3(32 * warps), shared, h,
           (const float *)dot);
    launch(c, "attention_bwd", backward_any<A, true>,
           dim3(places_of(a), tiles_of(a->k_rows, 4 * warps)), dim3(32 * warps), shared, h,
           (const float *)dot);
}

TF_CUDA_EVERY(attention_bwd)
