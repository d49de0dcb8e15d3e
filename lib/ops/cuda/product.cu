/* product.cu - y = x w' + b for decoding, on the tensor cores. A row's result is a function of that
 * row, of w and of K alone, down to its bytes: how many rows there are decides which of two kernels
 * does the work, but not the order of any sum.
 *
 * The order: K is cut into chunks of 32, and these, one after the other, into four parts of about
 * equal length. A part is summed by mma() chunk by chunk, beginning with 0; the four sums are added
 * up from first to last; then comes the bias. For few rows, where the way from the memory decides,
 * each part is a warp's and the four work side by side (few_kernel). For many rows, where the
 * tensor cores should, a warp walks through all parts for a larger tile, out of shared memory
 * (many_kernel), or four warps by wgmma, if TF_CUDA_WITH says so: the same sums in the same order,
 * but whether a device rounds them alike only tests/bench/wgmma.cu there can say.
 *
 * In multiply() (device_private.h) w is the matrix of 16 rows, and rows of x are the columns of the
 * other, so that 8 rows are enough to fill it. */
#include "product_private.h"
#include "ops/cuda/memory_private.h"

#include <type_traits>

constexpr int WARP = 32, PARTS = 4, CHUNK = 32;
/* columns of y of a block of few_kernel */
constexpr int TILE_N = 16;
/* many_kernel: WIDE columns and TALL rows a block; a warp 2 x 4 products of 16 columns and 8 rows.
 * TOGETHER chunks are copied and multiplied between two barriers. */
constexpr int WIDE = 128, TALL = 64, WIDE_WARPS = 8, N_TILES = 2, M_TILES = 4, TOGETHER = 2;
/* bytes of shared memory for so many stages, on their way or at work; in the end for the results,
 * whose rows are LD apart: the threads of a warp write to 32 banks */
constexpr size_t shared_of(int stages)
{
    return (size_t)stages * TOGETHER * (WIDE + TALL) * (CHUNK / 8) * sizeof(uint4);
}
constexpr int LD = WIDE + 4;
static_assert(shared_of(2) >= TALL * LD * sizeof(float), "room for the results");

/* With wgmma: x once more, in the order of multiply_wide(), of two stages. */
constexpr size_t WGMMA_ROOM = (size_t)2 * TOGETHER * TALL * CHUNK * 2;

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
template <typename A>
__device__ static inline uint4 columns_if(bool there, const A *row, int k, int K)
{
    uint4 v = columns(row, k, K);
    uint32_t mask = there ? 0xffffffffu : 0;
    return make_uint4(v.x & mask, v.y & mask, v.z & mask, v.w & mask);
}

template <typename A>
__device__ static inline float ended(const struct product<A> &p, int n, float sum)
{
    sum = p.bias != nullptr ? sum + p.bias[n] : sum;
    return p.relu && !(sum > 0) ? 0 : sum;
}

template <typename A>
__device__ static inline void put(const struct product<A> &p, int m, int n, float sum)
{
    if (m >= p.M || n >= p.N)
        return;
    sum = ended(p, n, sum);
    if (p.stat)
        ((float *)p.y)[(size_t)m * p.N + n] = sum;
    else
        ((A *)p.y)[(size_t)m * p.N + n] = from_float<A>(sum);
}

/* TILE_N columns and 8 * TILES rows a block; DEPTH chunks are read at once. Rows and columns past
 * the end are read as the last one, and not written. */
template <typename A, int TILES, int DEPTH>
static __global__ void __launch_bounds__(WARP *PARTS) few_kernel(struct product<A> p)
{
    __shared__ float sums[PARTS][TILES * 4][WARP];
    int lane = threadIdx.x % WARP, part = threadIdx.x / WARP, g = lane / 4, t = lane % 4,
        chunks = chunks_of(p.K);
    int n0 = blockIdx.x * TILE_N, m0 = blockIdx.y * 8 * TILES;
    const A *w0 = p.w + (size_t)min(n0 + g, p.N - 1) * p.K,
            *w1 = p.w + (size_t)min(n0 + g + 8, p.N - 1) * p.K, *x[TILES];
    float d[TILES][4] = {};
    for (int j = 0; j < TILES; j++)
        x[j] = p.x + (size_t)min(m0 + 8 * j + g, p.M - 1) * p.K;
    uint4 a0[DEPTH], a1[DEPTH], b[DEPTH][TILES];
    auto load_weights = [&](int from) {
#pragma unroll
        for (int i = 0; i < DEPTH; i++) {
            int k = (from + i) * CHUNK + 8 * t;
            a0[i] = columns(w0, k, p.K);
            a1[i] = columns(w1, k, p.K);
        }
    };
    int from = part_at(part, chunks), end = part_at(part + 1, chunks);
    load_weights(from);
    wait_for_previous();
    while (from < end) {
#pragma unroll
        for (int i = 0; i < DEPTH; i++) {
            int k = (from + i) * CHUNK + 8 * t;
#pragma unroll
            for (int j = 0; j < TILES; j++)
                /* weights past the end count nothing */
                b[i][j] = columns_if(k < p.K, x[j], k, p.K);
        }
        __syncwarp(); /* or the compiler would put off each load until its mma() */
#pragma unroll
        for (int i = 0; i < DEPTH; i++)
            if (from + i < end) /* many_kernel adds no zeros either */
#pragma unroll
                for (int j = 0; j < TILES; j++)
                    multiply<A>(d[j], a0[i], a1[i], b[i][j]);
        from += DEPTH;
        if (from < end)
            load_weights(from);
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

/* Eight neighbours of a row, which is a multiple of 16 bytes. */
template <typename A>
__device__ static inline void put8(const struct product<A> &p, int m, int n, const float sums[8])
{
    if (p.stat) {
        vec<float> v[2];
        for (int i = 0; i < 8; i++)
            v[i / 4].v[i % 4] = ended(p, n + i, sums[i]);
        vec<float> *to = (vec<float> *)((float *)p.y + (size_t)m * p.N + n);
        to[0] = v[0], to[1] = v[1];
    } else {
        vec<A> v;
        for (int i = 0; i < 8; i++)
            v.v[i] = from_float<A>(ended(p, n + i, sums[i]));
        *(vec<A> *)((A *)p.y + (size_t)m * p.N + n) = v;
    }
}

/* d (16 x 64 of a warp, 64 x 64 of four) += a b over 32 columns by wgmma, in the order of
 * multiply(): a0 and a1 as there; x, in shared memory, has of all 64 rows the first 4 bytes of each
 * thread's 16 side by side, then the second, and so on, each of which is 8 columns of a wgmma. */
template <typename A>
__device__ static inline void multiply_wide(float d[8][4], const uint4 &a0, const uint4 &a1,
                                            const void *x)
{
    /* from the first 8 columns to the others TALL * 16 bytes, from 8 rows to the next 128 */
    [[maybe_unused]] const uint64_t layout = (uint64_t)TALL << 16 | 8ull << 32,
                                    at = (uint64_t)__cvta_generic_to_shared(x),
                                    b[2] = {at >> 4 | layout, (at + 2 * TALL * 16) >> 4 | layout};
#ifdef TF_EMULATE
    const uint32_t a[2][4] = {{a0.x, a1.x, a0.y, a1.y}, {a0.z, a1.z, a0.w, a1.w}};
    void *sums[32];
    for (int i = 0; i < 32; i++)
        sums[i] = &d[i / 4][i % 4];
    struct async_products products;
    products.fence();
    products.multiply<A, 64>(sums, a[0], b[0], true);
    products.multiply<A, 64>(sums, a[1], b[1], true);
    products.commit();
    products.wait<0>();
#elif defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define SUMS                                                                                      \
    "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24," \
    "%25,%26,%27,%28,%29,%30,%31}"
#define FOUR(n) "+f"(d[n][0]), "+f"(d[n][1]), "+f"(d[n][2]), "+f"(d[n][3])
#define BY(kind)                                                                             \
    asm volatile("{ .reg .pred %%add; setp.eq.u32 %%add, 0, 0; wgmma.fence.sync.aligned;"    \
                 "wgmma.mma_async.sync.aligned.m64n64k16.f32." kind "." kind " " SUMS        \
                 ", {%32,%33,%34,%35}, %40, %%add, 1, 1, 0;"                                 \
                 "wgmma.mma_async.sync.aligned.m64n64k16.f32." kind "." kind " " SUMS        \
                 ", {%36,%37,%38,%39}, %41, %%add, 1, 1, 0;"                                 \
                 "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0; }"       \
                 : FOUR(0), FOUR(1), FOUR(2), FOUR(3), FOUR(4), FOUR(5), FOUR(6), FOUR(7)    \
                 : "r"(a0.x), "r"(a1.x), "r"(a0.y), "r"(a1.y), "r"(a0.z), "r"(a1.z),         \
                   "r"(a0.w), "r"(a1.w), "l"(b[0]), "l"(b[1])                                \
                 : "memory")
    if constexpr (std::is_same_v<A, half>) {
        BY("f16");
    } else {
        BY("bf16");
    }
#undef BY
#undef FOUR
#undef SUMS
#else
    __trap(); /* the host keeps away from here */
#endif
}

/* WIDE columns and TALL rows a block; rows_first: blocks that follow each other have the same
 * columns, else the same rows. While a stage is multiplied, the next ones are on their way: with
 * four of them, two blocks have room on a multiprocessor of an H100. WGMMA: a warp has 16 columns
 * and all rows, the same sums in the same order. */
template <typename A, int STAGES, bool WGMMA>
static __global__ void __launch_bounds__(WARP *WIDE_WARPS, 2)
    many_kernel(struct product<A> p, bool rows_first)
{
    /* pieces of 16 bytes in a row's chunk; rows that the block copies at once */
    constexpr int THREADS = WARP * WIDE_WARPS, PIECES = CHUNK / 8, ROWS = THREADS / PIECES;
    constexpr int EACH = (WIDE + TALL) * PIECES; /* of a chunk */
    constexpr int N_TILES = WGMMA ? 1 : ::N_TILES, M_TILES = WGMMA ? TALL / 8 : ::M_TILES;
    TF_SHARED(uint4, room);
    static_assert(TALL == ROWS && WIDE % ROWS == 0, "see below");
    int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, g = lane / 4, t = lane % 4,
        chunks = chunks_of(p.K);
    int n0 = (rows_first ? blockIdx.y : blockIdx.x) * WIDE,
        m0 = (rows_first ? blockIdx.x : blockIdx.y) * TALL,
        across = WGMMA ? WIDE_WARPS : 4, wn = warp % across * (16 * N_TILES),
        wm = warp / across * (8 * M_TILES), row = threadIdx.x / PIECES;
    float d[N_TILES][M_TILES][4] = {}, total[N_TILES][M_TILES][4] = {};
    struct async_copies copies;
    auto place = [&](int c) { return room + c % (STAGES * TOGETHER) * EACH; };
    auto load = [&](int c) {
        if (c >= chunks)
            return;
        uint4 *to = place(c) + threadIdx.x;
        int k = c * CHUNK + threadIdx.x % PIECES * 8, at = min(k, p.K - 8);
#pragma unroll
        for (int i = 0; i < WIDE / ROWS; i++)
            copies.copy(to + i * THREADS,
                        (const uint4 *)(p.w + (size_t)min(n0 + row + i * ROWS, p.N - 1) * p.K + at),
                        true);
        /* weights past the end count nothing */
        copies.copy(to + WIDE * PIECES,
                    (const uint4 *)(p.x + (size_t)min(m0 + row, p.M - 1) * p.K + at), k < p.K);
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
    auto arranged = [&](int c) {
        return (uint32_t *)(room + STAGES * TOGETHER * EACH) +
               c % (2 * TOGETHER) * (TALL * CHUNK / 2);
    };
    /* What this thread copied of x, for wgmma; nobody multiplies the stage before the last now. */
    auto arrange = [&](int first) {
        for (int c = first; c < first + TOGETHER && c < chunks; c++) {
            const uint4 v = place(c)[WIDE * PIECES + threadIdx.x];
            uint32_t *to = arranged(c) + threadIdx.x;
            to[0] = v.x, to[THREADS] = v.y, to[2 * THREADS] = v.z, to[3 * THREADS] = v.w;
        }
#ifndef TF_EMULATE
        asm volatile("fence.proxy.async;" ::: "memory");
#endif
    };
    auto load_stage = [&](int first) {
        for (int c = first; c < first + TOGETHER; c++)
            load(c);
        copies.commit();
    };
    for (int s = 0; s < STAGES - 1; s++)
        load_stage(s * TOGETHER);
    for (int first = 0; first < chunks; first += TOGETHER) {
        copies.template wait<STAGES - 2>();
        if constexpr (WGMMA) {
            arrange(first);
        }
        /* the stage is there, and everybody is done with the one before, whose place is that of the
         * next one to be copied */
        __syncthreads();
        load_stage(first + (STAGES - 1) * TOGETHER);
#pragma unroll
        for (int c = first; c < first + TOGETHER; c++) {
            if (c >= chunks)
                break;
            end_parts(c);
            const uint4 *w = place(c), *x = w + WIDE * PIECES;
            uint4 b[M_TILES];
#pragma unroll
            for (int j = 0; j < M_TILES && !WGMMA; j++)
                b[j] = x[(wm + 8 * j + g) * PIECES + t];
#pragma unroll
            for (int i = 0; i < N_TILES; i++) {
                uint4 a0 = w[(wn + 16 * i + g) * PIECES + t],
                      a1 = w[(wn + 16 * i + g + 8) * PIECES + t];
                if constexpr (WGMMA) {
                    multiply_wide<A>(d[i], a0, a1, arranged(c));
                } else {
#pragma unroll
                    for (int j = 0; j < M_TILES; j++)
                        multiply<A>(d[i][j], a0, a1, b[j]);
                }
            }
        }
    }
    end_parts(chunks);
    __syncthreads();
    /* By way of shared memory, so that neighbours are stored together. */
    float *sums = (float *)room;
#pragma unroll
    for (int i = 0; i < N_TILES; i++)
#pragma unroll
        for (int j = 0; j < M_TILES; j++)
#pragma unroll
            for (int e = 0; e < 4; e++)
                sums[(wm + 8 * j + 2 * t + e % 2) * LD + wn + 16 * i + g + e / 2 * 8] =
                    total[i][j][e];
    __syncthreads();
    bool whole = p.N % 8 == 0 && (uintptr_t)p.y % 16 == 0;
    for (int at = threadIdx.x; at < TALL * WIDE / 8; at += THREADS) {
        int m = at / (WIDE / 8), n = at % (WIDE / 8) * 8;
        alignas(16) float v[8];
        *(float4 *)v = *(const float4 *)(sums + m * LD + n);
        *(float4 *)(v + 4) = *(const float4 *)(sums + m * LD + n + 4);
        if (whole && m0 + m < p.M && n0 + n < p.N)
            put8(p, m0 + m, n0 + n, v);
        else
            for (int i = 0; i < 8; i++)
                put(p, m0 + m, n0 + n + i, v[i]);
    }
}

/* Its code is that of this one architecture. */
static bool has_wgmma(const struct tf_ctx *c)
{
#if defined(TF_WGMMA) || defined(TF_EMULATE)
    return c->arch == 90 && tf_cuda_uses(TF_CUDA_WGMMA);
#else
    (void)c;
    return false;
#endif
}

template <typename A>
bool tf_cuda_product(struct tf_ctx *c, tf_mem *y, const tf_mem *x, const A *w, const tf_mem *bias,
                     size_t rows, int N, int K, bool relu, bool stat)
{
    if (!has_mma<A>(c) || !tf_cuda_uses(TF_CUDA_PRODUCT) || K % 8 != 0 || (uintptr_t)x % 16 != 0 ||
        (uintptr_t)w % 16 != 0 || rows > INT32_MAX)
        return false;
    struct product<A> p = {w, (const A *)x, (const float *)bias, y, (int)rows, N, K, relu, stat};
    unsigned wide = div_up(N, WIDE), tall = div_up(rows, TALL);
    if (rows > 32 && (size_t)wide * tall >= (size_t)c->sms / 2) {
        /* So the smaller matrix stays in the cache, and the larger one comes from memory once. No
         * more than 65535 blocks may lie above each other. */
        bool rows_first = (size_t)N > rows && wide <= 65535;
        auto many = [&](auto *kernel, size_t shared) {
            if (tf_cuda_allow_shared(c, "product", (const void *)kernel, shared))
                launch(c, "product: many rows", kernel,
                       rows_first ? dim3(tall, wide) : dim3(wide, tall), dim3(WARP * WIDE_WARPS),
                       shared, p, rows_first);
        };
        if (has_wgmma(c) && shared_of(4) + WGMMA_ROOM <= c->shared)
            many(many_kernel<A, 4, true>, shared_of(4) + WGMMA_ROOM);
        else if (shared_of(4) <= c->shared)
            many(many_kernel<A, 4, false>, shared_of(4));
        else
            many(many_kernel<A, 2, false>, shared_of(2));
        return true;
    }
    auto few = [&](auto *kernel, int tiles) {
        launch_early(c, "product: few rows", kernel,
                     dim3(div_up(N, TILE_N), div_up(rows, 8 * tiles)), dim3(WARP * PARTS), 0, p);
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

template <>
bool tf_cuda_product<float>(struct tf_ctx *, tf_mem *, const tf_mem *, const float *,
                            const tf_mem *, size_t, int, int, bool, bool)
{
    return false;
}
template bool tf_cuda_product<bf16>(struct tf_ctx *, tf_mem *, const tf_mem *, const bf16 *,
                                    const tf_mem *, size_t, int, int, bool, bool);
template bool tf_cuda_product<half>(struct tf_ctx *, tf_mem *, const tf_mem *, const half *,
                                    const tf_mem *, size_t, int, int, bool, bool);
