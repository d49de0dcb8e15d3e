/* linear.cu - linear layers: products by blas_private.h, with bias, ReLU and its mask, and the sums
 * of columns for the bias as their epilogues; around them what is none: dropout, the clearing of
 * rows past the count, which a product over the whole capacity must not see, and each epilogue as a
 * kernel of its own, for where the library has none, or a slow one. */
#include "blas_private.h"
#include "ops/cuda/beside_private.h"
#include "ops/cuda/graphs_private.h"
#include "ops/cuda/linear_private.h"
#include "ops/cuda/memory_private.h"
#include "ops/cuda/weights_private.h"

#include <stdlib.h>
#include <string.h>

#include <map>

/* epilogues that a lane may use: ReLU's mask, forward and backward, and sums of columns */
enum { MASK = 1, SUMS = 2 };
/* rows, threads across columns and threads across rows of a block of sum_columns() */
enum { ROWS = 64, LANES = 32, GROUPS = 8 };
/* threads across blocks of rows of a block of finish(): few loads one after the other */
enum { FINISHERS = 32 };

namespace {

/* Bits of y > 0 for y = max(0, .), written by the forward product for the backward pass. */
struct mask {
    void *bits;
    size_t size;
    bool written; /* by the last linear_fwd into y */
};

std::map<const tf_mem *, struct mask> masks; /* by y; of training, on one device */

} // namespace

const char *tf_cuda_epilogues_name(unsigned taken)
{
    static const char *const names[] = {"none", "mask", "sums", "all"}; /* by the bits */
    return names[taken];
}

/* All, but in bf16 from compute capability 9.0 on none: there the library multiplies by wgmma, and
 * it has no such kernel that ends in either. In libcublasLt 13.1 the names with drelu and bgrada
 * are sm90_xmma_gemm_f16f16_f16f32_*, for half alone, and cutlass_80_*_bf16_*, an Ampere's; nvjet_*
 * has neither. A product without the newer instructions should cost more than one more pass over
 * its operand or result; by count, not measured. RELU_AUX_BIAS has its wgmma kernels, but without
 * DRELU nothing reads the mask. */
unsigned tf_cuda_default_epilogues(int arch, const char *precision)
{
    return arch >= 90 && strcmp(precision, "bf16") == 0 ? 0 : MASK | SUMS;
}

int tf_cuda_epilogues(unsigned *taken, int arch, const char *precision, struct tf_err *err)
{
    const char *wanted = getenv("TF_CUDA_EPILOGUES");
    *taken = tf_cuda_default_epilogues(arch, precision);
    for (unsigned i = 0; wanted != nullptr; i++) {
        if (i > (MASK | SUMS))
            return tf_fail(err, "TF_CUDA_EPILOGUES: '%.40s': one of none, mask, sums, all", wanted);
        *taken = i;
        if (strcmp(wanted, tf_cuda_epilogues_name(i)) == 0)
            break;
    }
    return 0;
}

void tf_cuda_mask_gone(const tf_mem *y)
{
    auto i = masks.find(y);
    if (i == masks.end())
        return;
    cudaFree(i->second.bits);
    masks.erase(i);
}

/* The mask beside y, with room for rows x N. NULL after a failure. */
static struct mask *mask_beside(struct tf_ctx *c, const tf_mem *y, size_t rows, size_t N)
{
    struct mask &m = masks[y];
    size_t size = tf_blas_mask_size(rows, N);
    if (m.size < size) {
        if (tf_cuda_capturing(c)) {
            tf_cuda_failed(c, cudaErrorMemoryAllocation, "memory for the mask of ReLU in a graph");
            return nullptr;
        }
        tf_cuda_graphs_forget(c);
        cudaFree(m.bits);
        cudaError_t e = cudaMalloc(&m.bits, size);
        m.size = e == cudaSuccess ? size : 0;
        if (e != cudaSuccess) {
            tf_cuda_failed(c, e, "memory for the mask of ReLU");
            m.bits = nullptr;
            return nullptr;
        }
    }
    return &m;
}

/* y[r] *= dropout factors, for rows in use. A thread four columns of a row. */
template <typename A>
static __global__ void dropout_rows(A *y, const struct tf_rows_head *head, int N,
                                    struct dropout_args args)
{
    uint32_t quads = ((uint32_t)N + 3) / 4;
    uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
    uint32_t r = (uint32_t)(i / quads), quad = (uint32_t)(i % quads);
    if (r >= head->rows)
        return;
    const struct dropout dropout = dropout_of(args);
    float f[4];
    dropout4(f, dropout, quad, head->first + r, dropout.site);
    A *at = y + (size_t)r * N + 4 * quad;
    for (uint32_t k = 0; k < 4 && 4 * quad + k < (uint32_t)N; k++)
        at[k] = from_float<A>(to_float(at[k]) * f[k]);
}

template <typename A>
void tf_cuda_ops<A>::linear_fwd(struct tf_ctx *c, tf_mem *y, const tf_mem *x, const tf_mem *w,
                                const tf_mem *b, const struct tf_rows *r, int N, int K,
                                unsigned flags, struct tf_dropout dropout)
{
    struct tf_gemm g = {.M = (int)r->cap_rows, .N = N, .K = K};
    g.a = x;
    g.b = tf_cuda_shadow<A>(c, w);
    if (g.b == nullptr)
        return; /* no memory for the weights' copy: noted */
    g.d = y;
    g.lda = (size_t)K;
    g.ldb = g.ldd = (size_t)N;
    g.relu = (flags & TF_LIN_RELU) != 0;
    g.ab = g.out = tf_blas_elem_of<A>();
    g.bias = b != nullptr ? tf_cuda_shadow<A>(c, b) : nullptr;
    if (b != nullptr && g.bias == nullptr)
        return;
    bool dropped = g.relu && dropout.p > 0, done = false;
    if (auto old = g.relu ? masks.find(y) : masks.end(); old != masks.end())
        old->second.written = false;
    /* with dropout, backward must test y > 0: the mask knows nothing of dropped elements */
    if (g.relu && flags & TF_LIN_SAVE && !dropped && (c->epilogues & MASK) != 0) {
        struct mask *m = mask_beside(c, y, tf_rows_round_up(r->max_rows), (size_t)N);
        if (m == nullptr)
            return;
        g.mask = m->bits;
        m->written = done = tf_blas_gemm_with(c, &g);
        g.mask = nullptr;
    }
    if (!done)
        tf_blas_gemm(c, &g);
    if (dropped)
        launch(c, "dropout", dropout_rows<A>,
               dim3(div_up(r->cap_rows * (size_t)((N + 3) / 4), 256)), dim3(256), 0, (A *)y,
               r->head, N, tf_cuda_dropout(c, dropout));
}

/* Rows of dy [cap, N] past the count to 0, before products take them all. */
template <typename A>
static __global__ void clear(A *dy, const struct tf_rows_head *head, uint32_t cap, int N)
{
    size_t end = (size_t)cap * N, step = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)head->rows * N + (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < end;
         i += step)
        dy[i] = from_float<A>(0);
}

/* dx [rows, K] = x > 0 ? dx * scale : 0. A thread W neighbouring columns: one load. */
template <typename A, int W>
static __global__ void through_relu(A *dx, const A *x, const struct tf_rows_head *head, int K,
                                    float scale)
{
    struct alignas(W * sizeof(A)) cells {
        A v[W];
    };
    size_t i = ((size_t)blockIdx.x * blockDim.x + threadIdx.x) * W;
    if (i >= (size_t)head->rows * K)
        return;
    struct cells d = *(const struct cells *)(dx + i), at = *(const struct cells *)(x + i);
    for (int k = 0; k < W; k++)
        d.v[k] = from_float<A>(to_float(at.v[k]) > 0 ? to_float(d.v[k]) * scale : 0);
    *(struct cells *)(dx + i) = d;
}

/* sums [blocks of ROWS rows, N] of the columns of dy [cap, N] over each block of rows. RELU: of
 * dy = y > 0 ? dy * scale : 0, which is written, too, as by through_relu() before this.
 * A block works on ROWS rows and LANES * W columns; a thread on W neighbouring columns of every
 * GROUPS-th row, and its sums meet those of the others in shared memory, in order. W elements are
 * one load: N must be a multiple of it. */
template <typename A, int W, bool RELU>
static __global__ void __launch_bounds__(LANES *GROUPS)
    sum_columns(float *sums, A *dy, const A *y, const struct tf_rows_head *head, int N, float scale)
{
    __shared__ float room[GROUPS][LANES * W];
    struct alignas(W * sizeof(A)) cells {
        A v[W];
    };
    uint32_t lane = threadIdx.x, group = threadIdx.y, first = blockIdx.y * ROWS, used = head->rows,
             end = first + ROWS < used ? first + ROWS : used;
    int j = (int)((blockIdx.x * LANES + lane) * W);
    float total[W];
    for (int k = 0; k < W; k++)
        total[k] = 0;
    if (j < N)
        for (uint32_t r = first + group; r < end; r += GROUPS) {
            const size_t at = (size_t)r * N + j;
            struct cells d = *(const struct cells *)(dy + at);
            if (RELU) {
                const struct cells of = *(const struct cells *)(y + at);
                for (int k = 0; k < W; k++)
                    d.v[k] = from_float<A>(to_float(of.v[k]) > 0 ? to_float(d.v[k]) * scale : 0);
                *(struct cells *)(dy + at) = d;
            }
            for (int k = 0; k < W; k++)
                total[k] += to_float(d.v[k]);
        }
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

/* db[j] = sum over b of sums[b][j], b < blocks. A block has LANES columns; thread (lane, group)
 * takes every FINISHERS-th b. */
static __global__ void __launch_bounds__(LANES *FINISHERS)
    finish(float *db, const float *sums, int blocks, int N)
{
    __shared__ float room[FINISHERS][LANES];
    int j = (int)(blockIdx.x * LANES + threadIdx.x);
    float sum = 0;
    if (j < N)
        for (int b = (int)threadIdx.y; b < blocks; b += FINISHERS)
            sum += sums[(size_t)b * N + j];
    room[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y > 0 || j >= N)
        return;
    sum = 0;
    for (int g = 0; g < FINISHERS; g++)
        sum += room[g][threadIdx.x];
    db[j] = sum;
}

/* The first half of the sums of columns of dy [cap, N]; y: through ReLU. */
template <typename A>
static void sum_blocks(struct tf_ctx *c, float *sums, A *dy, const A *y, uint32_t cap,
                       const struct tf_rows_head *head, int N, float scale)
{
    enum { W = vec<A>::N };
    bool wide = N % W == 0 && (uintptr_t)dy % 16 == 0 && (uintptr_t)y % 16 == 0;
    auto kernel = y == nullptr ? wide ? sum_columns<A, W, false> : sum_columns<A, 1, false>
                               : wide ? sum_columns<A, W, true> : sum_columns<A, 1, true>;
    launch(c, "linear", kernel,
           dim3(div_up((size_t)N, (size_t)LANES * (wide ? W : 1)), div_up(cap, ROWS)),
           dim3(LANES, GROUPS), 0, sums, dy, y, head, N, scale);
}

static size_t size_of_sums(uint32_t cap, int N)
{
    return ((size_t)div_up(cap, ROWS) * N + 1) * sizeof(float);
}

/* The second half. */
static void add_sums(struct tf_ctx *c, float *db, const float *sums, uint32_t cap, int N)
{
    launch(c, "linear", finish, dim3(div_up((size_t)N, LANES)), dim3(LANES, FINISHERS), 0, db,
           sums, (int)div_up(cap, ROWS), N);
}

/* db = column sums of dy, by themselves. */
template <typename A>
static void bias_gradient(struct tf_ctx *c, float *db, A *dy, uint32_t cap,
                          const struct tf_rows_head *head, int N)
{
    float *sums = (float *)tf_cuda_scratch(c, size_of_sums(cap, N));
    if (sums == nullptr)
        return;
    sum_blocks<A>(c, sums, dy, nullptr, cap, head, N, 1);
    add_sums(c, db, sums, cap, N);
}

/* Is there room for the sums that linear_bwd leaves to the next one? */
static bool room_for_sums(struct tf_ctx *c, size_t size)
{
    auto &s = c->summed;
    if (s.room >= size || tf_cuda_capturing(c))
        return s.room >= size;
    tf_cuda_graphs_forget(c);
    cudaFree(s.sums);
    s.sums = nullptr;
    void *p = nullptr;
    s.room = tf_cuda_malloc(c, &p, size) == cudaSuccess ? size : 0;
    if (s.room == 0)
        cudaGetLastError();
    s.sums = (float *)p;
    return s.room > 0;
}

template <typename A>
void tf_cuda_ops<A>::linear_bwd(struct tf_ctx *c, tf_mem *dx, tf_mem *dw, tf_mem *db, tf_mem *dy,
                                const tf_mem *x, const tf_mem *w, const struct tf_rows *r, int N,
                                int K, unsigned flags, struct tf_dropout dropout)
{
    enum { W = vec<A>::N };
    uint32_t cap = (uint32_t)r->cap_rows;
    struct tf_cuda_writes writes(c, {dx, dy});
    const bool known = c->summed.dy == dy && c->summed.rows == r && c->summed.N == N;
    const tf_mem *left = nullptr; /* whose sums are for the next call */
    if (known && db != nullptr)
        add_sums(c, (float *)db, c->summed.sums, cap, N);
    else if (!known)
        launch(c, "linear", clear<A>, dim3((unsigned)c->sms), dim3(256), 0, (A *)dy, r->head, cap,
               N);
    const bool beside = dw != nullptr && tf_cuda_beside_mark(c);
    if (dx != nullptr) {
        struct tf_gemm g = {.M = (int)cap, .N = K, .K = N};
        g.a = dy;
        g.b = tf_cuda_shadow<A>(c, w);
        if (g.b == nullptr)
            return;
        g.tb = true;
        g.d = dx;
        g.lda = g.ldb = (size_t)N;
        g.ldd = (size_t)K;
        g.ab = g.out = tf_blas_elem_of<A>();
        g.beta = flags & TF_LIN_ADD_DX ? 1 : 0;
        auto m = flags & TF_LIN_FROM_RELU ? masks.find(x) : masks.end();
        bool done = false;
        if (m != masks.end() && m->second.written) {
            g.mask = m->second.bits;
            done = tf_blas_gemm_with(c, &g);
            g.mask = nullptr;
        }
        if (!done) {
            tf_blas_gemm(c, &g);
            const float scale = (float)(1 / (1 - (double)dropout.p));
            if (flags & TF_LIN_FROM_RELU && (c->epilogues & SUMS) == 0 &&
                tf_cuda_uses(TF_CUDA_RELU) && room_for_sums(c, size_of_sums(cap, K))) {
                sum_blocks<A>(c, c->summed.sums, (A *)dx, (const A *)x, cap, r->head, K, scale);
                left = dx;
            } else if (flags & TF_LIN_FROM_RELU) {
                bool wide = K % W == 0 && (uintptr_t)dx % 16 == 0 && (uintptr_t)x % 16 == 0;
                launch(c, "linear", wide ? through_relu<A, W> : through_relu<A, 1>,
                       dim3(div_up((size_t)cap * K, (size_t)256 * (wide ? W : 1))), dim3(256), 0,
                       (A *)dx, (const A *)x, r->head, K, scale);
            }
        }
    }
    bool summed = known;
    if (dw != nullptr) {
        bool done = false;
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
        if (beside)
            tf_cuda_beside_begin(c);
        if (db != nullptr && !summed && (c->epilogues & SUMS) != 0) {
            g.column_sums = db;
            summed = done = tf_blas_gemm_with(c, &g);
            g.column_sums = nullptr;
        }
        if (!done)
            tf_blas_gemm(c, &g);
        if (beside)
            tf_cuda_beside_end(c, x, (size_t)cap * K * sizeof(A), dy, (size_t)cap * N * sizeof(A));
    }
    if (db != nullptr && !summed)
        bias_gradient(c, (float *)db, (A *)dy, cap, r->head, N);
    c->summed.dy = left, c->summed.rows = r, c->summed.N = K;
}

TF_CUDA_EVERY(linear_fwd)
TF_CUDA_EVERY(linear_bwd)
