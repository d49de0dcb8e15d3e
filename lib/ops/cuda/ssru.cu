/* ssru.cu - the cells of a simpler simple recurrent unit. A thread has one column of one sentence,
 * row after row, with the cell in a register: neighbouring threads read neighbouring columns. The
 * gradient of the bias is a sum over each sentence, then over the sentences in order. */
#include "device_private.h"
#include "ops/cuda/memory_private.h"

/* x + f (before - x), which is f before + (1 - f) x. */
__device__ static inline float next_cell(float x, float z, float before)
{
    return x + sigmoid(z) * (before - x);
}

/* Of sentence blockIdx.x; the rows past the last belong to the block after the last sentence. */
struct range {
    uint32_t first, end;
    bool used;
};
__device__ static inline struct range range_of(const struct tf_rows_head *head, const uint32_t *off,
                                               uint32_t sentence, uint32_t sentences, uint32_t cap)
{
    if (sentence == sentences)
        return {head->rows, cap, false};
    if (sentence >= head->n)
        return {0, 0, false};
    return {off[sentence], off[sentence + 1], true};
}

template <typename A>
static __global__ void forward(A *y, A *cell, const A *xf, const float *b,
                               const struct tf_rows_head *head, const uint32_t *off,
                               uint32_t sentences, uint32_t cap, int D)
{
    const uint32_t d = blockIdx.y * blockDim.x + threadIdx.x;
    if (d >= (uint32_t)D)
        return;
    const struct range of = range_of(head, off, blockIdx.x, sentences, cap);
    float v = 0;
    for (uint32_t i = of.first; i < of.end; i++) {
        const A *row = xf + (size_t)i * 2 * D + d;
        if (of.used)
            v = next_cell(to_float(row[0]), to_float(row[D]) + b[d], v);
        y[(size_t)i * D + d] = from_float<A>(fmaxf(v, 0));
        if (cell != nullptr)
            cell[(size_t)i * D + d] = from_float<A>(v);
    }
}

template <typename A>
void tf_cuda_ops<A>::ssru_fwd(struct tf_ctx *c, tf_mem *y, tf_mem *cell, const tf_mem *xf,
                              const tf_mem *b, const struct tf_rows *r, int D)
{
    const uint32_t n = (uint32_t)r->cap_used;
    launch(c, "ssru", forward<A>, dim3(n + 1, div_up((size_t)D, 128)), dim3(128), 0, (A *)y,
           (A *)cell, (const A *)xf, (const float *)b, r->head, r->off, n, (uint32_t)r->cap_rows,
           D);
}

/* sums [sentences, D] */
template <typename A>
static __global__ void backward(A *dxf, float *sums, const A *dy, const A *xf, const A *cell,
                                const float *b, const struct tf_rows_head *head,
                                const uint32_t *off, uint32_t sentences, uint32_t cap, int D)
{
    const uint32_t d = blockIdx.y * blockDim.x + threadIdx.x;
    if (d >= (uint32_t)D)
        return;
    const struct range of = range_of(head, off, blockIdx.x, sentences, cap);
    float from_next = 0, sum = 0; /* the gradient of a cell by way of the next one; of the bias */
    for (uint32_t i = of.end; i-- > of.first;) {
        const size_t at = (size_t)i * 2 * D + d;
        float dx = 0, dz = 0;
        if (of.used) {
            const float x = to_float(xf[at]), f = sigmoid(to_float(xf[at + D]) + b[d]),
                        before = i > of.first ? to_float(cell[(size_t)(i - 1) * D + d]) : 0,
                        shown = to_float(cell[(size_t)i * D + d]) > 0
                                    ? to_float(dy[(size_t)i * D + d])
                                    : 0,
                        g = shown + from_next;
            dx = g * (1 - f);
            dz = g * (before - x) * f * (1 - f);
            from_next = g * f;
        }
        dxf[at] = from_float<A>(dx);
        dxf[at + D] = from_float<A>(dz);
        sum += dz;
    }
    if (of.used)
        sums[(size_t)blockIdx.x * D + d] = sum;
}

static __global__ void sum_sentences(float *db, const float *sums, const struct tf_rows_head *head,
                                     int D)
{
    const uint32_t d = blockIdx.x * blockDim.x + threadIdx.x;
    if (d >= (uint32_t)D)
        return;
    float sum = 0;
    for (uint32_t s = 0; s < head->n; s++)
        sum += sums[(size_t)s * D + d];
    db[d] = sum;
}

template <typename A>
void tf_cuda_ops<A>::ssru_bwd(struct tf_ctx *c, tf_mem *dxf, tf_mem *db, const tf_mem *dy,
                              const tf_mem *xf, const tf_mem *cell, const tf_mem *b,
                              const struct tf_rows *r, int D)
{
    const uint32_t n = (uint32_t)r->cap_used;
    float *sums = (float *)tf_cuda_scratch(c, ((size_t)n * D + 1) * sizeof *sums);
    if (sums == nullptr)
        return;
    launch(c, "ssru", backward<A>, dim3(n + 1, div_up((size_t)D, 128)), dim3(128), 0, (A *)dxf,
           sums, (const A *)dy, (const A *)xf, (const A *)cell, (const float *)b, r->head, r->off,
           n, (uint32_t)r->cap_rows, D);
    launch(c, "ssru", sum_sentences, dim3(div_up((size_t)D, 128)), dim3(128), 0, (float *)db, sums,
           r->head, D);
}

/* A thread an element. Dead rows of a search are alike and share a slot: the first of them writes
 * it. */
template <typename A>
static __global__ void step(A *y, A *cells, const A *xf, const float *b, const uint32_t *slot,
                            const uint32_t *table, size_t table_ld, const uint32_t *n_past,
                            size_t rows, int D)
{
    wait_for_previous();
    const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x, r = i / D, d = i % D;
    if (r >= rows)
        return;
    const uint32_t past = n_past[r];
    const float before =
        past > 1 ? to_float(cells[(size_t)table[r * table_ld + past - 2] * D + d]) : 0;
    const A *row = xf + r * 2 * D + d;
    const float v = next_cell(to_float(row[0]), to_float(row[D]) + b[d], before);
    y[i] = from_float<A>(fmaxf(v, 0));
    if (r == 0 || slot[r] != slot[r - 1])
        cells[(size_t)slot[r] * D + d] = from_float<A>(v);
}

template <typename A>
void tf_cuda_ops<A>::ssru_rows(struct tf_ctx *c, tf_mem *y, tf_mem *cells, const tf_mem *xf,
                               const tf_mem *b, const tf_mem *slot, const tf_mem *table,
                               size_t table_ld, const tf_mem *n_past, size_t rows, int D)
{
    launch_early(c, "ssru", step<A>, dim3(div_up(rows * (size_t)D, 256)), dim3(256), 0, (A *)y,
                 (A *)cells, (const A *)xf, (const float *)b, (const uint32_t *)slot,
                 (const uint32_t *)table, table_ld, (const uint32_t *)n_past, rows, D);
}

TF_CUDA_EVERY(ssru_fwd)
TF_CUDA_EVERY(ssru_bwd)
TF_CUDA_EVERY(ssru_rows)
