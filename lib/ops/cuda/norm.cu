/* norm.cu - residual sum with dropout and layer normalisation, forward and backward:
 * s = res + dropout(x), n = (s - mean) rstd, y = n gain + bias; with g = dy gain, ds = rstd (g -
 * mean(g) - n mean(g n)) + dsum, dx = dropout'(ds).
 *
 * A row belongs to a team of T threads: a warp up to 512 elements, more warps or a whole block for
 * longer ones. A thread holds the quads me, me + T, ... of the row in registers, so a row is read
 * once and written once. All loads of a row are made before the first is used, with a barrier
 * between, without which the compiler would not. The statistics are of s as it is stored, in two
 * passes over the registers. */
#include "quad_private.h"
#include "ops/cuda/beside_private.h"
#include "ops/cuda/memory_private.h"

enum {
    Q = 4,        /* quads of a thread: D <= 4 * Q * T */
    /* partial sums of dgain and dbias: the most blocks of the backward kernel; blocks without rows
     * are not launched */
    GROUPS = 512,
};

template <int T> struct team {
    static constexpr int block = T < 256 ? 256 : T, rows = block / T;
    int me = threadIdx.x % T, row = threadIdx.x / T; /* row: of the block's */

    /* Over the team; room: shared, 32 elements. All threads of the block take part. */
    __device__ float sum(float x, float *room) const
    {
        x = warp_sum(x);
        if (T == 32)
            return x;
        __syncthreads();
        if (threadIdx.x % 32 == 0)
            room[threadIdx.x / 32] = x;
        __syncthreads();
        x = 0;
        for (int w = 0; w < T / 32; w++)
            x += room[row * (T / 32) + w];
        return x;
    }
};

/* EXACT: D is 4 Q T, and every quad lies at an address that is a multiple of its size. */
template <typename A, int T, bool EXACT>
static __global__ void __launch_bounds__(team<T>::block)
    forward(A *s, A *y, float *mean_out, float *rstd_out, const A *x, const A *res,
            const float *gain, const float *bias, const struct tf_rows_head *head, size_t cap,
            int D, float eps, struct dropout_args args, bool whole)
{
    const struct dropout dropout = dropout_of(args);
    __shared__ float room[32];
    const team<T> t;
    if (EXACT)
        D = 4 * Q * T, whole = true;
    size_t row = (size_t)blockIdx.x * t.rows + t.row, at = row * D;
    bool live = row < head->rows;
    uint32_t packed = head->first + (uint32_t)row;
    quad_words<A> kept[Q] = {}, added[Q] = {};
    float v[Q][4] = {}, sum = 0, squares = 0;
#pragma unroll
    for (int i = 0; i < Q; i++) {
        int d = 4 * (i * T + t.me);
        if (d >= D || !live)
            continue;
        kept[i] = quad_at(res + at, d, D, whole);
        if (x != nullptr)
            added[i] = quad_at(x + at, d, D, whole);
    }
    __syncwarp();
#pragma unroll
    for (int i = 0; i < Q; i++) {
        int d = 4 * (i * T + t.me);
        if (d >= D || !live)
            continue;
        floats_of<A>(v[i], kept[i]);
        if (x != nullptr) {
            float in[4], f[4];
            floats_of<A>(in, added[i]);
            dropout4(f, dropout, d / 4, packed, dropout.site);
            for (int k = 0; k < 4; k++)
                v[i][k] += in[k] * f[k];
        }
        for (int k = 0; k < 4; k++)
            sum += v[i][k] = to_float(from_float<A>(v[i][k]));
    }
    float mean = t.sum(sum, room) / (float)D;
#pragma unroll
    for (int i = 0; i < Q; i++)
        for (int k = 0, d = 4 * (i * T + t.me); k < 4; k++)
            if (d + k < D)
                squares += (v[i][k] - mean) * (v[i][k] - mean);
    float rstd = 1 / sqrtf(t.sum(squares, room) / (float)D + eps);
    if (row >= cap)
        return;
#pragma unroll
    for (int i = 0; i < Q; i++) {
        int d = 4 * (i * T + t.me);
        if (d >= D)
            continue;
        float out[4] = {}, g[4], b[4];
        if (live) {
            load4(g, gain, d, D, whole);
            load4(b, bias, d, D, whole);
            for (int k = 0; k < 4; k++)
                out[k] = (v[i][k] - mean) * rstd * g[k] + b[k];
        }
        store4(y + at, d, D, whole, out);
        if (s != nullptr)
            store4(s + at, d, D, whole, v[i]);
    }
    if (live && t.me == 0 && mean_out != nullptr)
        mean_out[row] = mean;
    if (live && t.me == 0 && rstd_out != nullptr)
        rstd_out[row] = rstd;
}

/* partial: [GROUPS][2][D], sums over the rows of a block of dy n and of dy; unused when dy is NULL.
 * Shared: D floats for each of the block's teams. Where registers allow it the next row is on its
 * way while one is at work. */
template <typename A, int T, bool EXACT>
static __global__ void __launch_bounds__(team<T>::block, T < 1024 ? 2 : 1)
    backward(A *ds, A *dx, float *partial, const A *dy, const A *dsum, const A *s,
             const float *mean, const float *rstd, const float *gain,
             const struct tf_rows_head *head, size_t cap, int D, struct dropout_args args,
             bool whole)
{
    const struct dropout dropout = dropout_of(args);
    __shared__ float room[32];
    TF_SHARED(float, sums);
    const team<T> t;
    if (EXACT)
        D = 4 * Q * T, whole = true;
    constexpr bool EARLY = sizeof(A) == 2 && T < 1024;
    const size_t rows = head->rows, step = (size_t)GROUPS * t.rows;
    const uint32_t first = head->first;
    float gn[Q][4] = {}, gb[Q][4] = {};
    struct {
        quad_words<A> up[Q], mid[Q], more[Q]; /* dy, s, dsum */
        float mean, rstd;
    } next = {};
    auto load = [&](size_t row) {
        size_t at = row * D;
        if (row >= rows) {
            next = {};
            return;
        }
#pragma unroll
        for (int i = 0; i < Q; i++) {
            int d = 4 * (i * T + t.me);
            if (d >= D)
                continue;
            if (dy != nullptr) {
                next.up[i] = quad_at(dy + at, d, D, whole);
                next.mid[i] = quad_at(s + at, d, D, whole);
            }
            if (dsum != nullptr)
                next.more[i] = quad_at(dsum + at, d, D, whole);
        }
        if (dy != nullptr)
            next.mean = mean[row], next.rstd = rstd[row];
    };
    if (EARLY)
        load((size_t)blockIdx.x * t.rows + t.row);
    for (size_t begin = (size_t)blockIdx.x * t.rows; begin < cap; begin += step) {
        size_t row = begin + t.row, at = row * D;
        if (!EARLY)
            load(row);
        auto now = next;
        float g[Q][4] = {}, n[Q][4] = {}, mean_g = 0, mean_gn = 0;
        __syncwarp();
        if (EARLY && begin + step < cap)
            load(row + step);
        __syncwarp();
        if (dy != nullptr && row < rows) {
#pragma unroll
            for (int i = 0; i < Q; i++) {
                int d = 4 * (i * T + t.me);
                if (d >= D)
                    continue;
                float w[4];
                floats_of<A>(g[i], now.up[i]);
                floats_of<A>(n[i], now.mid[i]);
                load4(w, gain, d, D, whole);
                for (int k = 0; k < 4; k++) {
                    n[i][k] = (n[i][k] - now.mean) * now.rstd;
                    gn[i][k] += g[i][k] * n[i][k];
                    gb[i][k] += g[i][k];
                    g[i][k] *= w[k];
                    mean_g += g[i][k]; /* 0 from D on, as dy is */
                    mean_gn += g[i][k] * n[i][k];
                }
            }
        }
        if (dy != nullptr) {
            mean_g = t.sum(mean_g, room) / (float)D;
            mean_gn = t.sum(mean_gn, room) / (float)D;
        }
        if (row >= cap)
            continue;
#pragma unroll
        for (int i = 0; i < Q; i++) {
            int d = 4 * (i * T + t.me);
            if (d >= D)
                continue;
            float v[4];
            floats_of<A>(v, now.more[i]);
            for (int k = 0; k < 4; k++)
                v[k] += now.rstd * (g[i][k] - mean_g - n[i][k] * mean_gn);
            store4(ds + at, d, D, whole, v);
            if (dx != nullptr) {
                float f[4];
                dropout4(f, dropout, d / 4, first + (uint32_t)row, dropout.site);
                for (int k = 0; k < 4; k++)
                    v[k] *= f[k];
                store4(dx + at, d, D, whole, v);
            }
        }
    }
    if (dy == nullptr)
        return;
    for (int which = 0; which < 2; which++) {
#pragma unroll
        for (int i = 0; i < Q; i++)
            for (int k = 0, d = 4 * (i * T + t.me); k < 4; k++)
                if (d + k < D)
                    sums[t.row * D + d + k] = which == 0 ? gn[i][k] : gb[i][k];
        __syncthreads();
        for (int d = threadIdx.x; d < D; d += t.block) {
            float sum = 0;
            for (int w = 0; w < t.rows; w++)
                sum += sums[w * D + d];
            partial[((size_t)blockIdx.x * 2 + which) * D + d] = sum;
        }
        __syncthreads();
    }
}

/* dgain and dbias from the blocks' sums: 32 columns a block; thread row y adds up 1/32 of them, the
 * first row what the others have. */
static __global__ void __launch_bounds__(1024)
    gather(float *dgain, float *dbias, const float *partial, int blocks, int D)
{
    __shared__ float sums[32][33];
    int d = blockIdx.x * 32 + threadIdx.x, y = threadIdx.y;
    float sum = 0;
#pragma unroll
    for (int n = 0; n < GROUPS / 32; n++) { /* all loads before the first is used */
        int i = y * (GROUPS / 32) + n;
        sum += i < blocks && d < 2 * D ? partial[(size_t)i * 2 * D + d] : 0;
    }
    sums[y][threadIdx.x] = sum;
    __syncthreads();
    if (y > 0 || d >= 2 * D)
        return;
    sum = 0;
    for (int i = 0; i < 32; i++)
        sum += sums[i][threadIdx.x];
    *(d < D ? dgain + d : dbias + (d - D)) = sum;
}

/* run(T, EXACT) with the smallest team for rows of D elements, or a failure where none is large
 * enough. */
template <typename F>
static void with_team(struct tf_ctx *c, const char *what, int D, bool whole, F run)
{
    if (D > 4 * Q * 1024) {
        if (c->err.status == 0)
            tf_fail(&c->err, "%s: rows of %d elements; a GPU takes %d at most", what, D,
                    4 * Q * 1024);
        return;
    }
    auto with = [&](auto T) {
        if (whole && D == 4 * Q * T)
            run(T, std::true_type());
        else
            run(T, std::false_type());
    };
    if (D <= 4 * Q * 32)
        with(std::integral_constant<int, 32>());
    else if (D <= 4 * Q * 64)
        with(std::integral_constant<int, 64>());
    else if (D <= 4 * Q * 256)
        with(std::integral_constant<int, 256>());
    else
        with(std::integral_constant<int, 1024>());
}

template <typename A>
void tf_cuda_ops<A>::add_norm_fwd(struct tf_ctx *c, tf_mem *s, tf_mem *y, tf_mem *mean,
                                  tf_mem *rstd, const tf_mem *x, const tf_mem *res,
                                  const tf_mem *gain, const tf_mem *bias, const struct tf_rows *r,
                                  int D, float eps, struct tf_dropout dropout)
{
    bool whole = quads_whole(D, (A *)s, (A *)y, (const A *)x, (const A *)res, (const float *)gain,
                             (const float *)bias);
    with_team(c, "add_norm_fwd", D, whole, [&](auto T, auto EXACT) {
        launch(c, "add_norm_fwd", forward<A, T, EXACT>, dim3(div_up(r->cap_rows, team<T>::rows)),
               dim3(team<T>::block), 0, (A *)s, (A *)y, (float *)mean, (float *)rstd, (const A *)x,
               (const A *)res, (const float *)gain, (const float *)bias, r->head, r->cap_rows, D,
               eps, tf_cuda_dropout(c, dropout), whole);
    });
}

template <typename A>
void tf_cuda_ops<A>::add_norm_bwd(struct tf_ctx *c, tf_mem *ds, tf_mem *dx, tf_mem *dgain,
                                  tf_mem *dbias, const tf_mem *dy, const tf_mem *dsum,
                                  const tf_mem *s, const tf_mem *mean, const tf_mem *rstd,
                                  const tf_mem *gain, const struct tf_rows *r, int D,
                                  struct tf_dropout dropout)
{
    struct tf_cuda_writes writes(c, {ds, dx});
    bool whole = quads_whole(D, (A *)ds, (A *)dx, (const A *)dy, (const A *)dsum, (const A *)s,
                             (const float *)gain);
    float *partial = nullptr;
    if (dy != nullptr &&
        (partial = (float *)tf_cuda_scratch(c, (size_t)GROUPS * 2 * D * sizeof(float))) == nullptr)
        return;
    int blocks = 0; /* with rows */
    with_team(c, "add_norm_bwd", D, whole, [&](auto T, auto EXACT) {
        size_t shared = (size_t)team<T>::rows * D * sizeof(float);
        if (!tf_cuda_allow_shared(c, "add_norm_bwd", (const void *)backward<A, T, EXACT>, shared))
            return;
        blocks = (int)div_up(r->cap_rows, team<T>::rows);
        blocks = blocks < GROUPS ? blocks : (int)GROUPS;
        launch(c, "add_norm_bwd", backward<A, T, EXACT>, dim3((unsigned)blocks),
               dim3(team<T>::block), shared, (A *)ds, (A *)dx, partial, (const A *)dy,
               (const A *)dsum, (const A *)s, (const float *)mean, (const float *)rstd,
               (const float *)gain, r->head, r->cap_rows, D, tf_cuda_dropout(c, dropout), whole);
    });
    if (dy != nullptr)
        launch(c, "add_norm_bwd", gather, dim3(div_up(2 * (size_t)D, 32)), dim3(32, 32), 0,
               (float *)dgain, (float *)dbias, (const float *)partial, blocks, D);
}

TF_CUDA_EVERY(add_norm_fwd)
TF_CUDA_EVERY(add_norm_bwd)
