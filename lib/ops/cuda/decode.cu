/* decode.cu - the layers of decoding, over plain rows. Each row's result is a function of that row
 * (and of what its keys hold) alone: every sum has one order, fixed by the widths and by the number
 * of keys, and a row is never split over a number of blocks that depends on how many rows there
 * are. */
#include "blas_private.h"
#include "ops/cuda/graphs_private.h"
#include "ops/cuda/memory_private.h"
#include "ops/cuda/weights_private.h"
#include "product_private.h"

#include <type_traits>

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
    bool halves; /* pack is given them */
    void *w;
};

/* dst [N, K] = transpose of src [K, N], stride ld, 32 x 32 a block of 32 x 8 threads. */
template <typename A, typename T>
static __global__ void transpose_kernel(A *dst, const T *src, size_t ld, int K, int N)
{
    __shared__ T tile[32][33];
    int k0 = blockIdx.x * 32, n0 = blockIdx.y * 32, x = threadIdx.x;
    for (int y = threadIdx.y; y < 32; y += blockDim.y)
        if (k0 + y < K && n0 + x < N)
            tile[y][x] = src[(size_t)(k0 + y) * ld + n0 + x];
    __syncthreads();
    for (int y = threadIdx.y; y < 32; y += blockDim.y)
        if (n0 + y < N && k0 + x < K)
            dst[(size_t)(n0 + y) * K + k0 + x] = from_float<A>(to_float(tile[x][y]));
}

template <typename A, typename T>
static void transpose(struct tf_ctx *c, A *dst, const T *src, size_t ld, int K, int N)
{
    launch(c, "pack", transpose_kernel<A, T>, dim3(div_up(K, 32), div_up(N, 32)), dim3(32, 8), 0,
           dst, src, ld, K, N);
}

template <typename A>
struct tf_packed *tf_cuda_ops<A>::pack_new(struct tf_ctx *c, int K, int N, unsigned flags,
                                           struct tf_err *err)
{
    size_t n = (size_t)K * (size_t)N;
    void *room = nullptr;
    cudaError_t e = tf_cuda_malloc(c, &room, n * sizeof(A) + 1);
    if (e != cudaSuccess) {
        cudaGetLastError();
        tf_fail(err, "a weight of %d x %d: %s", K, N, cudaGetErrorString(e));
        return nullptr;
    }
    return new tf_packed{K, N, (flags & TF_PACK_HALVES) != 0, room};
}

template <typename A>
void tf_cuda_ops<A>::pack(struct tf_ctx *c, struct tf_packed *p, const tf_mem *w, size_t ld,
                          bool transposed, size_t first, size_t n)
{
    A *to = (A *)p->w + first * (size_t)p->K;
    if constexpr (std::is_same_v<A, half>) {
        if (p->halves && transposed)
            tf_cuda_copy(c, to, TF_ELEM_ACT, w, n * (size_t)p->K);
        else if (p->halves)
            transpose(c, to, (const half *)w, ld, p->K, (int)n);
        if (p->halves)
            return;
    }
    if (transposed)
        tf_cuda_convert(c, "pack", to, (const float *)w, n * (size_t)p->K);
    else
        transpose(c, to, (const float *)w, ld, p->K, (int)n);
}

void tf_cuda_pack_free(struct tf_ctx *c, struct tf_packed *p)
{
    if (p == nullptr)
        return;
    tf_cuda_select(c);
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

/* z[r][j] = sum over k of x[r][k] w[ids[j]][k], + b[ids[j]], for the rows and the list of sentence
 * blockIdx.x; a warp a column, up to LISTED_ROWS rows at once. A lane adds up every WARP-th group
 * of N products, and their sums meet: an order that depends on K alone. */
enum { LISTED_ROWS = 4, LISTED_COLUMNS = 32 /* of a block, 8 of a warp */ };

template <typename A, int N>
static __global__ void __launch_bounds__(WARP *WARPS)
    listed_kernel(float *z, const A *x, const A *w, const float *b, int K, struct tf_lists l)
{
    wait_for_previous();
    const uint32_t *off = (const uint32_t *)l.off, i = blockIdx.x,
                   live = ((const uint32_t *)l.live)[i], n = off[i + 1] - off[i],
                   *ids = (const uint32_t *)l.ids + off[i];
    const size_t row0 = ((const uint32_t *)l.row0)[i];
    const int lane = threadIdx.x % WARP;
    for (uint32_t j = blockIdx.y * WARPS + threadIdx.x / WARP; j < n; j += gridDim.y * WARPS)
        for (uint32_t from = 0; from < live; from += LISTED_ROWS) {
            const A *column = w + (size_t)ids[j] * K, *rows = x + (row0 + from) * K;
            float sum[LISTED_ROWS] = {};
            for (int k = lane * N; k < K; k += WARP * N) {
                float c[N];
                load<N>(c, column + k);
#pragma unroll
                for (int m = 0; m < LISTED_ROWS; m++) {
                    float v[N];
                    /* a row that is not there counts nothing */
                    load<N>(v, rows + (from + m < live ? (size_t)m * K : 0) + k);
                    for (int e = 0; e < N; e++)
                        sum[m] += v[e] * c[e];
                }
            }
#pragma unroll
            for (int m = 0; m < LISTED_ROWS; m++) {
                const float whole = warp_sum(sum[m]);
                if (lane == 0 && from + m < live)
                    z[(row0 + from + m) * l.ld + j] = whole + (b == nullptr ? 0 : b[ids[j]]);
            }
        }
}

template <typename A>
void tf_cuda_ops<A>::linear_listed(struct tf_ctx *c, tf_mem *z, const tf_mem *x,
                                   const struct tf_packed *w, const tf_mem *b,
                                   const struct tf_lists *l)
{
    enum { N = vec<A>::N };
    const bool wide = aligned(x, w->w, (size_t)w->K * sizeof(A));
    const unsigned blocks = div_up(l->ld, LISTED_COLUMNS);
    launch_early(c, "linear_listed", wide ? listed_kernel<A, N> : listed_kernel<A, 1>,
                 dim3((unsigned)l->n, blocks < 65535 ? blocks : 65535), dim3(WARP * WARPS), 0,
                 (float *)z, (const A *)x, (const A *)w->w, (const float *)b, w->K, *l);
}

/* ---- rows in, rows out ---- */

/* A thread an element; T: of the table. */
template <typename A, typename T>
static __global__ void embed_kernel(A *x, const uint32_t *ids, const uint32_t *at, const T *table,
                                    const float *pos, size_t n, int D, float scale)
{
    wait_for_previous();
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    size_t r = i / D, d = i % D;
    float v = ids[r] == TF_NO_ID ? 0 : to_float(table[(size_t)ids[r] * D + d]) * scale;
    x[i] = from_float<A>(pos == nullptr ? v : v + pos[(size_t)at[r] * D + d]);
}

template <typename A, typename T>
static void embed(struct tf_ctx *c, const char *name, tf_mem *x, const tf_mem *ids,
                  const tf_mem *at, const T *table, const tf_mem *pos, size_t rows, int D,
                  float scale)
{
    size_t n = rows * (size_t)D;
    launch_early(c, name, embed_kernel<A, T>, dim3(div_up(n, 256)), dim3(256), 0, (A *)x,
                 (const uint32_t *)ids, (const uint32_t *)at, table, (const float *)pos, n, D,
                 scale);
}

template <typename A>
void tf_cuda_ops<A>::embed_rows(struct tf_ctx *c, tf_mem *x, const tf_mem *ids, const tf_mem *at,
                                const tf_mem *table, const tf_mem *pos, size_t rows, int D,
                                float scale)
{
    embed<A>(c, "embed_rows", x, ids, at, (const float *)table, pos, rows, D, scale);
}

template <typename A>
void tf_cuda_ops<A>::embed_packed(struct tf_ctx *c, tf_mem *x, const tf_mem *ids, const tf_mem *at,
                                  const struct tf_packed *w, const tf_mem *pos, size_t rows,
                                  float scale)
{
    embed<A>(c, "embed_packed", x, ids, at, (const A *)w->w, pos, rows, w->K, scale);
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

template <typename A> static void scatter(struct tf_ctx *c)
{
    enum { N = vec<A>::N };
    const struct tf_cuda_scatter s = c->scatter;
    if (aligned(s.dst, s.src, s.ld_dst * sizeof(A), s.ld_src * sizeof(A), s.n * sizeof(A)))
        launch_early(c, "scatter_rows", scatter_kernel<vec<A>>, dim3(div_up(s.rows * s.n / N, 256)),
                     dim3(256), 0, (vec<A> *)s.dst, s.ld_dst / N, (const vec<A> *)s.src,
                     s.ld_src / N, s.slot, s.rows, s.n / N);
    else
        launch_early(c, "scatter_rows", scatter_kernel<A>, dim3(div_up(s.rows * s.n, 256)),
                     dim3(256), 0, (A *)s.dst, s.ld_dst, (const A *)s.src, s.ld_src, s.slot, s.rows,
                     s.n);
}

template <typename A>
void tf_cuda_ops<A>::scatter_rows(struct tf_ctx *c, tf_mem *dst, size_t ld_dst, const tf_mem *src,
                                  size_t ld_src, const tf_mem *slot, size_t rows, size_t n)
{
    tf_cuda_catch_up(c);
    c->scatter = {dst, src, (const uint32_t *)slot, ld_dst, ld_src, rows, n};
    c->put_off = scatter<A>;
    if (!tf_cuda_uses(TF_CUDA_SCATTER))
        tf_cuda_catch_up(c);
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

/* f(0), f(STEP), ... for the keys of a tile. UNROLLED: what f indexes stays in registers. */
template <int LAST, int STEP, bool UNROLLED, typename F>
__device__ static inline void for_tile(int n, int groups, F f)
{
    if constexpr (UNROLLED) {
#pragma unroll
        for (int i = 0; i < LAST; i += STEP)
            if (i * groups < n)
                f(i);
    } else {
        for (int i = 0; i * groups < n; i += STEP)
            f(i);
    }
}

/* o = softmax(q k' / sqrt(dk)) v, the softmax online over tiles of 32 keys.
 *
 * One warp computes ROWS neighbouring rows of one head, those that have the same keys together, as
 * the beams of a sentence have the encoder's: what it loads serves all of them. In a tile, G
 * threads share a key, N columns each: 32 / G keys at once, four times without a branch in between
 * so that the loads overlap. Lane j then holds the weight of key j of the tile. For the weighted
 * sum, G threads share a row of v, and the sums of the groups are added at the end. Keys and
 * columns past the last are clamped to a valid one and get no weight. Columns of v past G N belong
 * to further blocks (grid.y), which compute the weights again; where dk exceeds G N, G is 32 and a
 * loop covers it.
 *
 * FEW: where there are few rows the way from the memory decides: both sides of a tile are loaded at
 * once. `fresh`: with it, the key and value of a row in the slot of its own are read where
 * scatter_rows was to fetch them, and put there; no other row has that slot in its table, but for
 * dead rows, which are alike. ROWS, FEW and `fresh` change neither the arithmetic of a row nor its
 * order, and so no byte. */
template <typename A, int N, int G, int ROWS, bool FEW>
static __global__ void __launch_bounds__(WARPS *WARP, FEW ? 2 : ROWS > 1 ? 4 : 8)
    cached_attention_kernel(struct tf_cached_attention a, size_t rows, float scale,
                            struct tf_cuda_scatter fresh)
{
    constexpr int GROUPS = WARP / G, AT_ONCE = 4;
    static_assert(!FEW || (N == vec<A>::N && G <= 8), "registers for a tile");
    static_assert(ROWS == 1 || G < WARP, "heads that a row's threads cover");
    wait_for_previous();
    const uint32_t *table = ROWS == 1 ? (const uint32_t *)a.table : nullptr,
                   *n_keys = (const uint32_t *)a.n_keys, *firsts = (const uint32_t *)a.first;
    int lane = threadIdx.x % WARP, sub = lane % G, group = lane / G, h = blockIdx.x % a.heads,
        col = (blockIdx.y * G + sub) * N, together;
    size_t begin = ((size_t)(blockIdx.x / a.heads) * WARPS + threadIdx.x / WARP) * ROWS,
           end = begin + ROWS < rows ? begin + ROWS : rows;
    const A *k = (const A *)a.k + h * a.dk + (sub * N < a.dk ? sub * N : 0),
            *v = (const A *)a.v + h * a.dv + (col < a.dv ? col : 0);

    for (size_t r = begin; r < end; r += together) {
        uint32_t keys = n_keys[r], seen = a.window > 0 ? a.window + 1 : keys,
                 start = keys > seen ? keys - seen : 0, first = table == nullptr ? firsts[r] : 0;
        for (together = 1; r + together < end; together++)
            if (firsts[r + together] != first || n_keys[r + together] != keys)
                break;
        const A *q[ROWS], *own_k = nullptr, *own_v = nullptr;
        uint32_t own = UINT32_MAX; /* or the slot of these */
        if constexpr (FEW) {
            if (fresh.slot != nullptr) {
                const A *row = (const A *)fresh.src + r * fresh.ld_src;
                own = fresh.slot[r];
                own_k = row + (k - (const A *)a.k), own_v = row + (v - (const A *)a.k);
                const bool mine = group == 0 && (r == 0 || fresh.slot[r - 1] != own);
                if (mine && sub * N < a.dk)
                    *(vec<A> *)(k + own * a.ldk) = *(const vec<A> *)own_k;
                if (mine && col < a.dv)
                    *(vec<A> *)(v + own * a.ldv) = *(const vec<A> *)own_v;
            }
        }
        float q0[ROWS][N] = {}, acc[ROWS][N] = {}, top[ROWS], total[ROWS] = {};
#pragma unroll
        for (int m = 0; m < ROWS; m++) {
            q[m] = (const A *)a.q + (r + (m < together ? m : 0)) * a.ldq + h * a.dk;
            top[m] = -INFINITY;
            if (sub * N < a.dk)
                load<N>(q0[m], q[m] + sub * N);
        }
        for (uint32_t from = start; from < keys; from += WARP) {
            int n = keys - from < WARP ? (int)(keys - from) : WARP;
            uint32_t at = from + (lane < n ? lane : n - 1),
                     key = table == nullptr ? first + at : table[r * a.table_ld + at];
            float score[ROWS], p[ROWS];
#pragma unroll
            for (int m = 0; m < ROWS; m++)
                score[m] = -INFINITY;
            vec<A> ks[FEW ? G : 1], vs[FEW ? G : 1];
            if constexpr (FEW) {
#pragma unroll
                for (int i = 0; i < G; i++) {
                    uint32_t row = __shfl_sync(0xffffffffu, key, i * GROUPS + group);
                    ks[i] = *(const vec<A> *)(row == own ? own_k : k + row * a.ldk);
                    vs[i] = *(const vec<A> *)(row == own ? own_v : v + row * a.ldv);
                }
                __syncwarp(); /* or the compiler would put off each load until it is used */
            }
            auto multiply = [&](int i0) {
#pragma unroll
                for (int i = i0; i < i0 + AT_ONCE; i++) {
                    const A *row = k + __shfl_sync(0xffffffffu, key, i * GROUPS + group) * a.ldk;
                    float x[N];
                    load<N>(x, FEW ? (const A *)&ks[FEW ? i : 0] : row);
#pragma unroll
                    for (int m = 0; m < ROWS; m++) {
                        float dot = 0;
                        for (int l = 0; l < N; l++)
                            dot += q0[m][l] * x[l];
                        /* Without these braces nvcc leaves the next statement out where G is
                         * smaller; tests/lint/cuda.bats requires them everywhere. */
                        if constexpr (G == WARP) {
                            for (int d = WARP * N; sub * N + d < a.dk; d += WARP * N) {
                                float y[N];
                                load<N>(x, row + d);
                                load<N>(y, q[m] + sub * N + d);
                                for (int l = 0; l < N; l++)
                                    dot += y[l] * x[l];
                            }
                        }
                        for (int d = G / 2; d > 0; d /= 2)
                            dot += __shfl_xor_sync(0xffffffffu, dot, d);
                        dot = __shfl_sync(0xffffffffu, dot, lane % GROUPS * G);
                        score[m] = lane / GROUPS == i ? dot * scale : score[m];
                    }
                }
            };
            auto sum = [&](int i0) {
#pragma unroll
                for (int i = i0; i < i0 + AT_ONCE; i++) {
                    int j = i * GROUPS + group;
                    const A *row = v + __shfl_sync(0xffffffffu, key, j) * a.ldv;
                    float x[N];
                    load<N>(x, FEW ? (const A *)&vs[FEW ? i : 0] : row);
#pragma unroll
                    for (int m = 0; m < ROWS; m++) {
                        float weight = __shfl_sync(0xffffffffu, p[m], j);
                        for (int l = 0; l < N; l++)
                            acc[m][l] += weight * x[l];
                    }
                }
            };
            for_tile<G, AT_ONCE, FEW>(n, GROUPS, multiply);
#pragma unroll
            for (int m = 0; m < ROWS; m++) {
                if (lane >= n)
                    score[m] = -INFINITY;
                float next = fmaxf(top[m], warp_max(score[m])),
                      shrink = top[m] == next ? 1 : expf(top[m] - next);
                p[m] = lane < n ? expf(score[m] - next) : 0;
                total[m] = total[m] * shrink + warp_sum(p[m]);
                top[m] = next;
                for (int l = 0; l < N; l++)
                    acc[m][l] *= shrink;
            }
            for_tile<G, AT_ONCE, FEW>(n, GROUPS, sum);
        }
#pragma unroll
        for (int m = 0; m < ROWS; m++) {
            float share = total[m] > 0 ? 1 / total[m] : 0;
            for (int l = 0; l < N; l++) {
                for (int d = G; d < WARP; d *= 2)
                    acc[m][l] += __shfl_xor_sync(0xffffffffu, acc[m][l], d);
                acc[m][l] *= share;
            }
            if (group == 0 && col < a.dv && m < together)
                store<N>((A *)a.o + (r + m) * a.ldo + h * a.dv + col, acc[m]);
        }
    }
}

/* Was the scattering of the keys and values of these rows put off? */
template <typename A>
static bool is_fresh(const struct tf_ctx *c, const struct tf_cached_attention *a, size_t rows)
{
    const struct tf_cuda_scatter &s = c->scatter;
    const size_t keys = (size_t)a->heads * a->dk, values = (size_t)a->heads * a->dv;
    return c->put_off == scatter<A> && a->table != nullptr && s.dst == a->k && s.rows == rows &&
           s.n == keys + values && (const A *)a->v == (const A *)a->k + keys &&
           s.ld_dst == a->ldk && s.ld_dst == a->ldv && aligned(s.src, s.ld_src * sizeof(A));
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
    bool few = wide && threads <= 8 && rows * (size_t)a->heads <= (size_t)c->sms * WARPS;
    struct tf_cuda_scatter fresh = {};
    if (few && is_fresh<A>(c, a, rows)) {
        fresh = c->scatter;
        c->put_off = nullptr;
    }
    auto run = [&](auto *kernel, int columns, int each) {
        launch_early(c, "cached_attention", kernel,
               dim3(div_up(rows, WARPS * each) * (unsigned)a->heads, div_up(a->dv, columns)),
               dim3(WARPS * WARP), 0, *a, rows, 1 / sqrtf((float)a->dk),
               fresh);
    };
    auto run_narrow = [&](auto g) { /* up to 8 threads a key */
        constexpr int G = g;
        if (few)
            run(cached_attention_kernel<A, N, G, 1, true>, G * N, 1);
        else if (a->table == nullptr)
            run(cached_attention_kernel<A, N, G, 4, false>, G * N, 4);
        else
            run(cached_attention_kernel<A, N, G, 1, false>, G * N, 1);
    };
    if (!wide)
        run(cached_attention_kernel<A, 1, WARP, 1, false>, WARP, 1);
    else if (threads <= 4)
        run_narrow(std::integral_constant<int, 4>());
    else if (threads <= 8)
        run_narrow(std::integral_constant<int, 8>());
    else if (threads <= 16)
        run(cached_attention_kernel<A, N, 16, 1, false>, 16 * N, 1);
    else
        run(cached_attention_kernel<A, N, WARP, 1, false>, WARP * N, 1);
}

TF_CUDA_EVERY(pack_new)
TF_CUDA_EVERY(pack)
TF_CUDA_EVERY(linear_packed)
TF_CUDA_EVERY(linear_listed)
TF_CUDA_EVERY(embed_rows)
TF_CUDA_EVERY(embed_packed)
TF_CUDA_EVERY(add_norm_rows)
TF_CUDA_EVERY(cached_attention)
TF_CUDA_EVERY(scatter_rows)
