/* product.cu - y = x w' + b for decoding, on the tensor cores. A row's result is a function of that row, of w and of K alone, down to its bytes: how many rows there are decides which of two
 * kernels does the work, but not the order of any sum.
 *
 * The order: K is cut into chunks of 32, and these, one after the other, into four parts of about equal length. A part is summed by mma() chunk by chunk, beginning with 0; the four sums are
 * added up from first to last; then comes the bias. For few rows, where the way from the memory decides, each part is a warp's and the four work side by side (few_kernel). For many
 * rows, where the tensor cores should, a warp walks through all parts for a larger tile, out of shared memory (many_kernel).
 *
 * In mma() w is the 16 x 16 matrix and rows of x are the columns of the other, so that 8 rows are enough to fill it. Which column of a chunk stands where is the same on both sides, and
 * so is free to choose: thread t of the four that share a row takes columns 8t to 8t + 7, 16 bytes, of which the first half serves the one mma() of a chunk and the second half the other. */
#include "product.h"

constexpr int WARP = 32, PARTS = 4, CHUNK = 32;
constexpr int TILE_N = 16;                                        /* columns of y of a block of few_kernel */
constexpr int WIDE = 128, WIDE_WARPS = 8, N_TILES = 4, M_TILES = 4; /* many_kernel: WIDE x WIDE a block; a warp 4 x 4 products of 16 columns and 8 rows */

/* What both kernels work on. w [N, K], x [M, K], y [M, N]. */
template <typename A> struct product {
    const A *w, *x;
    const float *bias; /* or NULL */
    void *y;           /* A, or float when stat */
    int M, N, K;
    bool relu, stat;
};

__device__ static inline int chunks_of(int K)
{
    return (K + CHUNK - 1) / CHUNK;
}

/* The first chunk of a part. */
__device__ static inline int part_at(int part, int chunks)
{
    return (int)((int64_t)part * chunks / PARTS);
}

/* 16 bytes of a row, from column k on, or if that is beyond the last, its last ones. */
template <typename A> __device__ static inline uint4 columns(const A *row, int k, int K)
{
    return *(const uint4 *)(row + min(k, K - 8));
}

/* The same, or zeros; without a branch. */
template <typename A> __device__ static inline uint4 columns_if(bool there, const A *row, int k, int K)
{
    uint4 v = columns(row, k, K);
    uint32_t mask = there ? 0xffffffffu : 0;
    return make_uint4(v.x & mask, v.y & mask, v.z & mask, v.w & mask);
}

/* Both products of a chunk: w0 and w1 are of columns g and g + 8 of y. */
template <typename A> __device__ static inline void multiply(float d[4], const uint4 &w0, const uint4 &w1, const uint4 &x)
{
    const uint32_t a[2][4] = {{w0.x, w1.x, w0.y, w1.y}, {w0.z, w1.z, w0.w, w1.w}}, b[2][2] = {{x.x, x.y}, {x.z, x.w}};
    mma<A>(d, a[0], b[0]);
    mma<A>(d, a[1], b[1]);
}

template <typename A> __device__ static inline void put(const struct product<A> &p, int m, int n, float sum)
{
    if (m >= p.M || n >= p.N)
        return;
    sum = p.bias != nullptr ? sum + p.bias[n] : sum;
    sum = p.relu && !(sum > 0) ? 0 : sum;
    if (p.stat)
        ((float *)p.y)[(size_t)m * p.N + n] = sum;
    else
        ((A *)p.y)[(size_t)m * p.N + n] = from_float<A>(sum);
}

/* TILE_N columns and 8 * TILES rows a block; DEPTH chunks are read at once. Rows and columns past the end are read as the last one, and not written. */
template <typename A, int TILES, int DEPTH> static __global__ void __launch_bounds__(WARP *PARTS) few_kernel(struct product<A> p)
{
    __shared__ float sums[PARTS][TILES * 4][WARP];
    int lane = threadIdx.x % WARP, part = threadIdx.x / WARP, g = lane / 4, t = lane % 4, chunks = chunks_of(p.K);
    int n0 = blockIdx.x * TILE_N, m0 = blockIdx.y * 8 * TILES;
    const A *w0 = p.w + (size_t)min(n0 + g, p.N - 1) * p.K, *w1 = p.w + (size_t)min(n0 + g + 8, p.N - 1) * p.K, *x[TILES];
    float d[TILES][4] = {};
    for (int j = 0; j < TILES; j++)
        x[j] = p.x + (size_t)min(m0 + 8 * j + g, p.M - 1) * p.K;
    for (int from = part_at(part, chunks), end = part_at(part + 1, chunks); from < end; from += DEPTH) {
        uint4 a0[DEPTH], a1[DEPTH], b[DEPTH][TILES];
#pragma unroll
        for (int i = 0; i < DEPTH; i++) {
            int k = (from + i) * CHUNK + 8 * t;
            a0[i] = columns(w0, k, p.K);
            a1[i] = columns(w1, k, p.K);
#pragma unroll
            for (int j = 0; j < TILES; j++)
                b[i][j] = columns_if(k < p.K, x[j], k, p.K); /* weights past the end count nothing */
        }
        __syncwarp(); /* or the compiler would put off each load until its mma() */
#pragma unroll
        for (int i = 0; i < DEPTH; i++)
            if (from + i < end) /* many_kernel adds no zeros either */
#pragma unroll
                for (int j = 0; j < TILES; j++)
                    multiply<A>(d[j], a0[i], a1[i], b[i][j]);
    }
    for (int j = 0; j < TILES; j++)
        for (int i = 0; i < 4; i++)
            sums[part][4 * j + i][lane] = d[j][i];
    __syncthreads();
    /* A thread a column; neighbours write side by side. */
    int n = threadIdx.x % TILE_N;
    for (int m = threadIdx.x / TILE_N; m < 8 * TILES; m += WARP * PARTS / TILE_N) {
        int at = m / 8 * 4 + n / 8 * 2 + m % 2, from = n % 8 * 4 + m % 8 / 2;
        float sum = sums[0][at][from];
        for (int i = 1; i < PARTS; i++)
            sum += sums[i][at][from];
        put(p, m0 + m, n0 + n, sum);
    }
}

/* WIDE columns and rows a block. While a chunk is multiplied, the next one is on its way. */
template <typename A> static __global__ void __launch_bounds__(WARP *WIDE_WARPS) many_kernel(struct product<A> p)
{
    constexpr int PIECES = CHUNK / 8, LOADS = WIDE * PIECES / (WARP * WIDE_WARPS); /* pieces of 16 bytes: in a row, and of each side for a thread */
    __shared__ uint4 room[2][2][WIDE * PIECES];
    int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, g = lane / 4, t = lane % 4, chunks = chunks_of(p.K);
    int n0 = blockIdx.x * WIDE, m0 = blockIdx.y * WIDE, wn = warp % 2 * (WIDE / 2), wm = warp / 2 * (WIDE / 4);
    float d[N_TILES][M_TILES][4] = {}, total[N_TILES][M_TILES][4] = {};
    uint4 next[2][LOADS];
    auto load = [&](int c) {
#pragma unroll
        for (int i = 0; i < LOADS; i++) {
            int at = threadIdx.x + i * WARP * WIDE_WARPS, row = at / PIECES, k = c * CHUNK + at % PIECES * 8;
            next[0][i] = columns(p.w + (size_t)min(n0 + row, p.N - 1) * p.K, k, p.K);
            next[1][i] = columns_if(k < p.K, p.x + (size_t)min(m0 + row, p.M - 1) * p.K, k, p.K);
        }
    };
    int part = 0;
    auto end_parts = [&](int c) { /* those that are over before chunk c */
        for (; part < PARTS && part_at(part + 1, chunks) <= c; part++)
#pragma unroll
            for (int i = 0; i < N_TILES; i++)
#pragma unroll
                for (int j = 0; j < M_TILES; j++)
#pragma unroll
                    for (int e = 0; e < 4; e++) {
                        total[i][j][e] = part == 0 ? d[i][j][e] : total[i][j][e] + d[i][j][e];
                        d[i][j][e] = 0;
                    }
    };
    load(0);
    for (int c = 0; c < chunks; c++) {
        end_parts(c);
        /* Two chunks ago this half was read from, and everybody has been at a barrier since. */
        uint4 *w = room[c % 2][0], *x = room[c % 2][1];
#pragma unroll
        for (int i = 0; i < LOADS; i++) {
            w[threadIdx.x + i * WARP * WIDE_WARPS] = next[0][i];
            x[threadIdx.x + i * WARP * WIDE_WARPS] = next[1][i];
        }
        __syncthreads();
        if (c + 1 < chunks)
            load(c + 1);
        uint4 b[M_TILES];
#pragma unroll
        for (int j = 0; j < M_TILES; j++)
            b[j] = x[(wm + 8 * j + g) * PIECES + t];
#pragma unroll
        for (int i = 0; i < N_TILES; i++) {
            uint4 a0 = w[(wn + 16 * i + g) * PIECES + t], a1 = w[(wn + 16 * i + g + 8) * PIECES + t];
#pragma unroll
            for (int j = 0; j < M_TILES; j++)
                multiply<A>(d[i][j], a0, a1, b[j]);
        }
    }
    end_parts(chunks);
#pragma unroll
    for (int i = 0; i < N_TILES; i++)
#pragma unroll
        for (int j = 0; j < M_TILES; j++)
#pragma unroll
            for (int e = 0; e < 4; e++)
                put(p, m0 + wm + 8 * j + 2 * t + e % 2, n0 + wn + 16 * i + g + e / 2 * 8, total[i][j][e]);
}

template <typename A> bool tf_cuda_product(struct tf_ctx *c, tf_mem *y, const tf_mem *x, const A *w, const tf_mem *bias, size_t rows, int N, int K, bool relu, bool stat)
{
    if (!has_mma<A>(c) || K % 8 != 0 || (uintptr_t)x % 16 != 0 || (uintptr_t)w % 16 != 0 || rows > INT32_MAX)
        return false;
    struct product<A> p = {w, (const A *)x, (const float *)bias, y, (int)rows, N, K, relu, stat};
    size_t wide = (size_t)div_up(N, WIDE) * div_up(rows, WIDE);
    if (rows > 32 && wide >= (size_t)c->sms / 4) {
        launch(c, "product: many rows", many_kernel<A>, dim3(div_up(N, WIDE), div_up(rows, WIDE)), dim3(WARP * WIDE_WARPS), 0, p);
        return true;
    }
    auto few = [&](auto *kernel, int tiles) {
        launch(c, "product: few rows", kernel, dim3(div_up(N, TILE_N), div_up(rows, 8 * tiles)), dim3(WARP * PARTS), 0, p);
    };
    bool deep = K > 4 * CHUNK * PARTS;
    if (rows <= 8)
        few(deep ? few_kernel<A, 1, 8> : few_kernel<A, 1, 4>, 1);
    else if (rows <= 16)
        few(deep ? few_kernel<A, 2, 8> : few_kernel<A, 2, 4>, 2);
    else
        few(few_kernel<A, 4, 4>, 4);
    return true;
}

template <> bool tf_cuda_product<float>(struct tf_ctx *, tf_mem *, const tf_mem *, const float *, const tf_mem *, size_t, int, int, bool, bool)
{
    return false;
}
template bool tf_cuda_product<bf16>(struct tf_ctx *, tf_mem *, const tf_mem *, const bf16 *, const tf_mem *, size_t, int, int, bool, bool);
template bool tf_cuda_product<half>(struct tf_ctx *, tf_mem *, const tf_mem *, const half *, const tf_mem *, size_t, int, int, bool, bool);
