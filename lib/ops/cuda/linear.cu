/* linear.cu - linear layers: products by blas.h, and around them what is not one: dropout behind ReLU, and on the way back its mask, the sums of columns for the bias, and the clearing of
 * rows past the count, which a product over the whole capacity must not see. */
#include "blas.h"

enum { ROWS = 64, LANES = 32, GROUPS = 8 }; /* rows, threads across columns and threads across rows of a block of prepare() */

/* y[r] *= dropout factors, for rows in use. A thread four columns of a row. */
template <typename A> static __global__ void drop_rows(A *y, const struct tf_rows_head *head, int N, struct dropper drop)
{
    uint32_t quads = ((uint32_t)N + 3) / 4;
    uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
    uint32_t r = (uint32_t)(i / quads), quad = (uint32_t)(i % quads);
    if (r >= head->rows)
        return;
    float f[4];
    drop4(f, drop, quad, head->first + r, drop.site);
    A *at = y + (size_t)r * N + 4 * quad;
    for (uint32_t k = 0; k < 4 && 4 * quad + k < (uint32_t)N; k++)
        at[k] = from_float<A>(to_float(at[k]) * f[k]);
}

template <typename A> void tf_cuda_ops<A>::linear_fwd(struct tf_ctx *c, tf_mem *y, const tf_mem *x, const tf_mem *w, const tf_mem *b, const struct tf_rows *r, int N, int K, unsigned flags,
                                                      struct tf_drop drop)
{
    struct tf_gemm g = {.M = (int)r->cap_rows, .N = N, .K = K};
    g.a = x;
    g.b = tf_cuda_shadow<A>(c, w);
    g.d = y;
    g.lda = (size_t)K;
    g.ldb = g.ldd = (size_t)N;
    g.relu = (flags & TF_LIN_RELU) != 0;
    g.ab = g.out = tf_blas_elem_of<A>();
    g.bias = b != nullptr ? tf_cuda_shadow<A>(c, b) : nullptr;
    tf_blas_gemm(c, &g);
    if (g.relu && drop.p > 0)
        launch(c, "dropout", drop_rows<A>, dim3(div_up(r->cap_rows * (size_t)((N + 3) / 4), 256)), dim3(256), 0, (A *)y, r->head, N, tf_cuda_dropper(c, drop));
}

/* dy [cap, N] before products take it: rows past the count to 0; with y, dy = y > 0 ? dy * scale : 0; with sums [blocks of ROWS rows, N], its columns' sums over each block of rows.
 * A block works on ROWS rows and LANES * W columns; a thread on W neighbouring columns of every GROUPS-th row, and its sums meet those of the others in shared memory, in order.
 * W elements are one load: N must be a multiple of it. */
template <typename A, int W>
static __global__ void __launch_bounds__(LANES *GROUPS) prepare(A *dy, const A *y, float *sums, const struct tf_rows_head *head, uint32_t cap, int N, float scale)
{
    __shared__ float room[GROUPS][LANES * W];
    struct alignas(W * sizeof(A)) cells {
        A v[W];
    };
    uint32_t lane = threadIdx.x, group = threadIdx.y, first = blockIdx.y * ROWS, end = first + ROWS < cap ? first + ROWS : cap, used = head->rows;
    int j = (int)((blockIdx.x * LANES + lane) * W);
    float total[W];
    for (int k = 0; k < W; k++)
        total[k] = 0;
    if (j < N)
        for (uint32_t r = first + group; r < end; r += GROUPS) {
            struct cells *at = (struct cells *)(dy + (size_t)r * N + j), d;
            if (r >= used) {
                for (int k = 0; k < W; k++)
                    d.v[k] = from_float<A>(0);
                *at = d;
                continue;
            }
            if (y == nullptr && sums == nullptr)
                continue;
            d = *at;
            if (y != nullptr) {
                struct cells out = *(const struct cells *)(y + (size_t)r * N + j);
                for (int k = 0; k < W; k++)
                    d.v[k] = from_float<A>(to_float(out.v[k]) > 0 ? to_float(d.v[k]) * scale : 0);
                *at = d;
            }
            for (int k = 0; k < W; k++)
                total[k] += to_float(d.v[k]);
        }
    if (sums == nullptr)
        return;
    for (int k = 0; k < W; k++)
        room[group][lane * W + k] = total[k];
    __syncthreads();
    for (int k = (int)(group * LANES + lane); k < LANES * W; k += LANES * GROUPS) {
        int column = (int)(blockIdx.x * LANES * W) + k;
        if (column >= N)
            break;
        float sum = 0;
        for (int g = 0; g < GROUPS; g++)
            sum += room[g][k];
        sums[(size_t)blockIdx.y * N + column] = sum;
    }
}

/* db[j] (+)= sum over b of sums[b][j], b < blocks. A block has LANES columns; thread (lane, group) takes every GROUPS-th b. */
static __global__ void __launch_bounds__(LANES *GROUPS) finish(float *db, const float *sums, int blocks, int N, bool add)
{
    __shared__ float room[GROUPS][LANES];
    int j = (int)(blockIdx.x * LANES + threadIdx.x);
    float sum = 0;
    if (j < N)
        for (int b = (int)threadIdx.y; b < blocks; b += GROUPS)
            sum += sums[(size_t)b * N + j];
    room[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y > 0 || j >= N)
        return;
    sum = add ? db[j] : 0;
    for (int g = 0; g < GROUPS; g++)
        sum += room[g][threadIdx.x];
    db[j] = sum;
}

template <typename A> void tf_cuda_ops<A>::linear_bwd(struct tf_ctx *c, tf_mem *dx, tf_mem *dw, tf_mem *db, tf_mem *dy, const tf_mem *x, const tf_mem *w, const tf_mem *y,
                                                      const struct tf_rows *r, int N, int K, unsigned flags, struct tf_drop drop)
{
    enum { W = vec<A>::N };
    uint32_t cap = (uint32_t)r->cap_rows, blocks = div_up(cap, ROWS);
    const A *mask = flags & TF_LIN_RELU ? (const A *)y : nullptr;
    float scale = (float)(1 / (1 - (double)drop.p)), *sums = nullptr;
    if (db != nullptr && (sums = (float *)tf_cuda_scratch(c, ((size_t)blocks * N + 1) * sizeof *sums)) == nullptr)
        return;
    bool wide = N % W == 0 && (uintptr_t)dy % 16 == 0 && (uintptr_t)mask % 16 == 0;
    launch(c, "linear", wide ? prepare<A, W> : prepare<A, 1>, dim3(div_up((size_t)N, (size_t)LANES * (wide ? W : 1)), blocks), dim3(LANES, GROUPS), 0, (A *)dy, mask, sums, r->head, cap, N,
           scale);
    if (db != nullptr)
        launch(c, "linear", finish, dim3(div_up((size_t)N, LANES)), dim3(LANES, GROUPS), 0, (float *)db, sums, (int)blocks, N, (flags & TF_LIN_ADD_DW) != 0);
    if (dx != nullptr) {
        struct tf_gemm g = {.M = (int)cap, .N = K, .K = N};
        g.a = dy;
        g.b = tf_cuda_shadow<A>(c, w);
        g.tb = true;
        g.d = dx;
        g.lda = g.ldb = (size_t)N;
        g.ldd = (size_t)K;
        g.ab = g.out = tf_blas_elem_of<A>();
        g.beta = flags & TF_LIN_ADD_DX ? 1 : 0;
        tf_blas_gemm(c, &g);
    }
    if (dw != nullptr) {
        struct tf_gemm g = {.M = K, .N = N, .K = (int)cap};
        g.over_rows = true;
        g.a = x;
        g.ta = true;
        g.b = dy;
        g.d = dw;
        g.lda = (size_t)K;
        g.ldb = g.ldd = (size_t)N;
        g.ab = tf_blas_elem_of<A>();
        g.out = TF_BLAS_F32;
        g.beta = flags & TF_LIN_ADD_DW ? 1 : 0;
        tf_blas_gemm(c, &g);
    }
}

#define INSTANCE(A)                                                                                                                                                                   \
    template void tf_cuda_ops<A>::linear_fwd(struct tf_ctx *, tf_mem *, const tf_mem *, const tf_mem *, const tf_mem *, const struct tf_rows *, int, int, unsigned, struct tf_drop);    \
    template void tf_cuda_ops<A>::linear_bwd(struct tf_ctx *, tf_mem *, tf_mem *, tf_mem *, tf_mem *, const tf_mem *, const tf_mem *, const tf_mem *, const struct tf_rows *, int, int, \
                                             unsigned, struct tf_drop);
INSTANCE(float)
INSTANCE(bf16)
INSTANCE(half)
