/* decode.cu - the layers of decoding, over plain rows. Each row's result is a function of that row
 * (and of what its keys hold) alone: every sum has one order, fixed by the widths and by the number
 * of keys, and a row is never split over a number of blocks that depends on how many rows there
 * are. */
#include "blas.h"
#include "product.h"

enum { WARP = 32, WARPS = 4 }; /* a block of the kernels that give a warp to a row */

/* N elements as floats and back: one, or the 16 bytes of a vec<A>, or as many floats beside
 * them. */
template <int N, typename A> __device__ static inline void load(float v[N], const A *p)
{
    if constexpr (N == 1) {
        v[0] = to_float(*p);
    } else {
        static_assert(N % vec<A>::N == 0, "whole vectors");
        for (int j = 0; j < N; j += vec<A>::N) {
            vec<A> x = *(const vec<A> *)(p + j);
            for (int i = 0; i < vec<A>::N; i++)
                v[j + i] = to_float(x.v[i]);
        }
    }
}
template <int N, typename A> __device__ static inline void store(A *p, const float v[N])
{
    if constexpr (N == 1) {
        *p = from_float<A>(v[0]);
    } else {
        vec<A> x;
        for (int i = 0; i < N; i++)
            x.v[i] = from_float<A>(v[i]);
        *(vec<A> *)p = x;
    }
}

/* Are these addresses (NULL is) and byte strides all multiples of 16? */
template <typename... P> static bool aligned(P... p)
{
    return (... && ((uintptr_t)p % 16 == 0));
}

/* ---- weights ---- */

/* w of linear_packed as [N, K] in A: rows of x and of w are then read along k, as the tensor cores
 * like it. */
struct tf_packed {
    int K, N;
    void *w;
};

/* dst [N, K] = transpose of src [K, N], 32 x 32 a block of 32 x 8 threads. */
template <typename A>
static __global__ void transpose_kernel(A *dst, const float *src, int K, int N)
{
    __shared__ float tile[32][33];
    int k0 = blockIdx.x * 32, n0 = blockIdx.y * 32, x = threadIdx.x;
    for (int y = threadIdx.y; y < 32; y += blockDim.y)
        if (k0 + y < K && n0 + x < N)
            tile[y][x] = src[(size_t)(k0 + y) * N + n0 + x];
    __syncthreads();
    for (int y = threadIdx.y; y < 32; y += blockDim.y)
        if (n0 + y < N && k0 + x < K)
            dst[(size_t)(n0 + y) * K + k0 + x] = from_float<A>(tile[x][y]);
}

template <typename A>
struct tf_packed *tf_cuda_ops<A>::pack(struct tf_ctx *c, const tf_mem *w, int K, int N,
                                       bool transposed, struct tf_err *err)
{
    size_t n = (size_t)K * (size_t)N;
    void *room = nullptr;
    cudaError_t e = tf_cuda_malloc(c, &room, n * sizeof(A) + 1);
    if (e != cudaSuccess) {
        cudaGetLastError();
        tf_fail(err, "a weight of %d x %d: %s", K, N, cudaGetErrorString(e));
        return nullptr;
    }
    if (transposed)
        tf_cuda_convert(c, "pack", (A *)room, (const float *)w, n);
    else
        launch(c, "pack", transpose_kernel<A>, dim3(div_up(K, 32), div_up(N, 32)), dim3(32, 8), 0,
               (A *)room, (const float *)w, K, N);
    return new tf_packed{K, N, room};
}

template <typename A> void tf_cuda_ops<A>::pack_free(struct tf_ctx *c, struct tf_packed *p)
{
    if (p == nullptr)
        return;
    tf_cuda_graphs_forget(c);
    cudaFree(p->w);
    delete p;
}

template <typename A>
void tf_cuda_ops<A>::linear_packed(struct tf_ctx *c, tf_mem *y, const tf_mem *x,
                                   const struct tf_packed *w, const tf_mem *b, size_t rows,
                                   unsigned flags)
{
    bool stat = (flags & TF_LIN_STAT) != 0, relu = (flags & TF_LIN_RELU) != 0;
    if (rows == 0 || tf_cuda_product<A>(c, y, x, (const A *)w->w, b, rows, w->N, w->K, relu, stat))
        return;
    struct tf_gemm g = {};
    g.M = (int)rows, g.N = w->N, g.K = w->K;
    g.a = x, g.b = w->w, g.d = y;
    g.lda = g.ldb = (size_t)w->K, g.ldd = (size_t)w->N;
    g.tb = true;
    g.relu = relu;
    g.ab = tf_blas_elem_of<A>();
    g.out = stat ? TF_BLAS_F32 : g.ab;
    g.bias = b == nullptr || stat ? b : (const void *)tf_cuda_shadow<A>(c, b);
    if (b != nullptr && g.bias == nullptr)
        return; /* no memory for its copy: noted */
    g.any_rows = true;
    tf_blas_gemm(c, &g);
}

/* ---- rows in, rows out ---- */

/* A thread an element. */
template <typename A>
static __global__ void embed_kernel(A *x, const uint32_t *ids, const uint32_t *at,
                                    const float *table, const float *pos, size_t n, int D,
                                    float scale)
{
    wait_for_previous();
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    size_t r = i / D, d = i % D;
    float v = ids[r] == TF_NO_ID ? 0 : table[(size_t)ids[r] * D + d] * scale;
    x[i] = from_float<A>(pos == nullptr ? v : v + pos[(size_t)at[r] * D + d]);
}

template <typename A>
void tf_cuda_ops<A>::embed_rows(struct tf_ctx *c, tf_mem *x, const tf_mem *ids, const tf_mem *at,
                                const tf_mem *table, const tf_mem *pos, size_t rows, int D,
                                float scale)
{
    size_t n = rows * (size_t)D;
    launch_early(c, "embed_rows", embed_kernel<A>, dim3(div_up(n, 256)), dim3(256), 0, (A *)x,
           (const uint32_t *)ids, (const uint32_t *)at, (const float *)table, (const float *)pos, n,
           D, scale);
}

/* U: vec<A> or A; ld and n count in it. Dead rows of a search are alike and share a slot: the first
 * of them writes it. */
template <typename U>
static __global__ void scatter_kernel(U *dst, size_t ld_dst, const U *src, size_t ld_src,
                                      const uint32_t *slot, size_t rows, size_t n)
{
    wait_for_previous();
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    size_t r = i / n;
    if (r < rows && (r == 0 || slot[r] != slot[r - 1]))
        dst[slot[r] * ld_dst + i % n] = src[r * ld_src + i % n];
}

template <typename A>
void tf_cuda_ops<A>::scatter_rows(struct tf_ctx *c, tf_mem *dst, size_t ld_dst, const tf_mem *src,
                                  size_t ld_src, const tf_mem *slot, size_t rows, size_t n)
{
    enum { N = vec<A>::N };
    const uint32_t *at = (const uint32_t *)slot;
    if (aligned(dst, src, ld_dst * sizeof(A), ld_src * sizeof(A), n * sizeof(A)))
        launch_early(c, "scatter_rows", scatter_kernel<vec<A>>, dim3(div_up(rows * n / N, 256)),
               dim3(256), 0, (vec<A> *)dst, ld_dst / N, (const vec<A> *)src, ld_src / N, at, rows,
               n / N);
    else
        launch_early(c, "scatter_rows", scatter_kernel<A>, dim3(div_up(rows * n, 256)), dim3(256),
                     0, (A *)dst, ld_dst, (const A *)src, ld_src, at, rows, n);
}

/* s = x + res; y = (s - mean) rstd gain + bias. A warp a row, N columns a load; the row is read
 * three times (mean, variance, result), the second and third time from the nearest cache, so that
 * any D is served without registers or shared memory for it. s is written in the last pass, by the
 * thread that reads the same place of res and x. */
template <typename A, int N>
static __global__ void add_norm_kernel(A *s, A *y, const A *x, const A *res, const float *gain,
                                       const float *bias, size_t rows, int D, float eps)
{
    wait_for_previous();
    size_t r = (size_t)blockIdx.x * WARPS + threadIdx.x / WARP;
    int lane = threadIdx.x % WARP;
    if (r >= rows)
        return;
    res += r * D;
    x = x == nullptr ? nullptr : x + r * D;
    auto sum_at = [=](float v[N], int d) {
        load<N>(v, res + d);
        if (x != nullptr) {
            float more[N];
            load<N>(more, x + d);
            for (int i = 0; i < N; i++)
                v[i] += more[i];
        }
    };
    float v[N], sum = 0, squares = 0;
    for (int d = lane * N; d < D; d += WARP * N) {
        sum_at(v, d);
        for (int i = 0; i < N; i++)
            sum += v[i];
    }
    float mean = warp_sum(sum) / D;
    for (int d = lane * N; d < D; d += WARP * N) {
        sum_at(v, d);
        for (int i = 0; i < N; i++)
            squares += (v[i] - mean) * (v[i] - mean);
    }
    float rstd = 1 / sqrtf(warp_sum(squares) / D + eps);
    for (int d = lane * N; d < D; d += WARP * N) {
        float g[N], b[N];
        sum_at(v, d);
        load<N>(g, gain + d);
        load<N>(b, bias + d);
        if (s != nullptr)
            store<N>(s + r * D + d, v);
        for (int i = 0; i < N; i++)
            v[i] = (v[i] - mean) * rstd * g[i] + b[i];
        store<N>(y + r * D + d, v);
    }
}

template <typename A>
void tf_cuda_ops<A>::add_norm_rows(struct tf_ctx *c, tf_mem *s, tf_mem *y, const tf_mem *x,
                                   const tf_mem *res, const tf_mem *gain, const tf_mem *bias,
                                   size_t rows, int D, float eps)
{
    bool wide = aligned(s, y, x, res, gain, bias, D * sizeof(A));
    launch_early(c, "add_norm_rows", wide ? add_norm_kernel<A, vec<A>::N> : add_norm_kernel<A, 1>,
           dim3(div_up(rows, WARPS)), dim3(WARPS * WARP), 0, (A *)s, (A *)y, (const A *)x,
           (const A *)res, (const float *)gain, (const float *)bias, rows, D, eps);
}

/* ---- attention over cached keys ---- */

/* o = softmax(q k' / sqrt(dk)) v, the softmax online over tiles of 32 keys.
 *
 * One warp computes one (row, head); a block has four neighbouring rows of one head, because the
 * beams of a sentence read the same encoder keys at about the same time. In a tile, G threads share
 * a key, N columns each: 32 / G keys at once, four times without a branch in between so that the
 * loads overlap. Lane j then holds the weight of key j of the tile. For the weighted sum, G threads
 * share a row of v, and the sums of the groups are added at the end. Keys and columns past the last
 * are clamped to a valid one and get no weight. Columns of v past G N belong to further blocks
 * (grid.y), which compute the weights again; where dk exceeds G N, G is 32 and a loop covers it. */
template <typename A, int N, int G>
static __global__ void cached_attention_kernel(struct tf_cached_attention a, size_t rows,
                                               float scale)
{
    constexpr int GROUPS = WARP / G, AT_ONCE = 4;
    wait_for_previous();
    const uint32_t *table = (const uint32_t *)a.table;
    int lane = threadIdx.x % WARP, sub = lane % G, group = lane / G, h = blockIdx.x % a.heads,
        col = (blockIdx.y * G + sub) * N;
    size_t r = (size_t)(blockIdx.x / a.heads) * WARPS + threadIdx.x / WARP;
    if (r >= rows)
        return;
    const A *q = (const A *)a.q + r * a.ldq + h * a.dk,
            *k = (const A *)a.k + h * a.dk + (sub * N < a.dk ? sub * N : 0),
            *v = (const A *)a.v + h * a.dv + (col < a.dv ? col : 0);
    uint32_t keys = ((const uint32_t *)a.n_keys)[r], seen = a.window > 0 ? a.window + 1 : keys,
             start = keys > seen ? keys - seen : 0,
             first = table == nullptr ? ((const uint32_t *)a.first)[r] : 0;

    float q0[N] = {}, acc[N] = {}, top = -INFINITY, total = 0;
    if (sub * N < a.dk)
        load<N>(q0, q + sub * N);
    for (uint32_t from = start; from < keys; from += WARP) {
        int n = keys - from < WARP ? (int)(keys - from) : WARP;
        uint32_t at = from + (lane < n ? lane : n - 1),
                 key = table == nullptr ? first + at : table[r * a.table_ld + at];
        float score = -INFINITY;
        for (int i0 = 0; i0 * GROUPS < n; i0 += AT_ONCE)
#pragma unroll
            for (int i = i0; i < i0 + AT_ONCE; i++) {
                const A *row = k + __shfl_sync(0xffffffffu, key, i * GROUPS + group) * a.ldk;
                float dot = 0, x[N];
                load<N>(x, row);
                for (int l = 0; l < N; l++)
                    dot += q0[l] * x[l];
                if constexpr (G == WARP)
                    for (int d = WARP * N; sub * N + d < a.dk; d += WARP * N) {
                        float y[N];
                        load<N>(x, row + d);
                        load<N>(y, q + sub * N + d);
                        for (int l = 0; l < N; l++)
                            dot += y[l] * x[l];
                    }
                for (int d = G / 2; d > 0; d /= 2)
                    dot += __shfl_xor_sync(0xffffffffu, dot, d);
                dot = __shfl_sync(0xffffffffu, dot, lane % GROUPS * G);
                score = lane / GROUPS == i ? dot * scale : score;
            }
        if (lane >= n)
            score = -INFINITY;
        float next = fmaxf(top, warp_max(score)), shrink = top == next ? 1 : expf(top - next),
              p = lane < n ? expf(score - next) : 0;
        total = total * shrink + warp_sum(p);
        top = next;
        for (int l = 0; l < N; l++)
            acc[l] *= shrink;
        for (int i0 = 0; i0 * GROUPS < n; i0 += AT_ONCE)
#pragma unroll
            for (int i = i0; i < i0 + AT_ONCE; i++) {
                int j = i * GROUPS + group;
                float weight = __shfl_sync(0xffffffffu, p, j), x[N];
                load<N>(x, v + __shfl_sync(0xffffffffu, key, j) * a.ldv);
                for (int l = 0; l < N; l++)
                    acc[l] += weight * x[l];
            }
    }
    float share = total > 0 ? 1 / total : 0;
    for (int l = 0; l < N; l++) {
        for (int d = G; d < WARP; d *= 2)
            acc[l] += __shfl_xor_sync(0xffffffffu, acc[l], d);
        acc[l] *= share;
    }
    if (group == 0 && col < a.dv)
        store<N>((A *)a.o + r * a.ldo + h * a.dv + col, acc);
}

template <typename A>
void tf_cuda_ops<A>::cached_attention(struct tf_ctx *c, const struct tf_cached_attention *a,
                                      size_t rows)
{
    constexpr int N = vec<A>::N;
    size_t size = sizeof(A);
    bool wide = aligned(a->q, a->k, a->v, a->o, a->ldq * size, a->ldk * size, a->ldv * size,
                        a->ldo * size, a->dk * size, a->dv * size);
    int width = a->dk > a->dv ? a->dk : a->dv, threads = wide ? (width + N - 1) / N : WARP;
    auto run = [&](auto *kernel, int columns) {
        launch_early(c, "cached_attention", kernel,
               dim3(div_up(rows, WARPS) * (unsigned)a->heads, div_up(a->dv, columns)),
               dim3(WARPS * WARP), 0, *a, rows, 1 / sqrtf((float)a->dk));
    };
    if (!wide)
        run(cached_attention_kernel<A, 1, WARP>, WARP);
    else if (threads <= 4)
        run(cached_attention_kernel<A, N, 4>, 4 * N);
    else if (threads <= 8)
        run(cached_attention_kernel<A, N, 8>, 8 * N);
    else if (threads <= 16)
        run(cached_attention_kernel<A, N, 16>, 16 * N);
    else
        run(cached_attention_kernel<A, N, WARP>, WARP * N);
}

TF_CUDA_EVERY(pack)
TF_CUDA_EVERY(pack_free)
TF_CUDA_EVERY(linear_packed)
TF_CUDA_EVERY(embed_rows)
TF_CUDA_EVERY(add_norm_rows)
TF_CUDA_EVERY(cached_attention)
TF_CUDA_EVERY(scatter_rows)
