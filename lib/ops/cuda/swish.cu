/* swish.cu - y = x / (1 + exp(-x)), with dropout, and its gradient. A thread four columns of a row:
 * the columns of one call of the random generator. */
#include "device_private.h"

/* GRADIENT: out = in * dropout * slope(x); else out = in * sigmoid(in) * dropout, and x is unused.
 * Rows past the count become 0. */
template <typename A, bool GRADIENT>
static __global__ void swish_kernel(A *out, const A *in, const A *x,
                                    const struct tf_rows_head *head, uint32_t cap, int N,
                                    struct dropout_args args)
{
    const uint32_t quads = ((uint32_t)N + 3) / 4;
    const uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
    const uint32_t r = (uint32_t)(i / quads), quad = (uint32_t)(i % quads);
    if (r >= cap)
        return;
    const bool used = r < head->rows;
    const struct dropout dropout = dropout_of(args);
    float f[4];
    dropout4(f, dropout, quad, head->first + r, dropout.site);
    const size_t at = (size_t)r * N + 4 * quad;
    for (uint32_t k = 0; k < 4 && 4 * quad + k < (uint32_t)N; k++) {
        const float v = to_float(GRADIENT ? x[at + k] : in[at + k]), s = sigmoid(v);
        const float y = GRADIENT ? to_float(in[at + k]) * s * (1 + v * (1 - s)) : v * s;
        out[at + k] = from_float<A>(used ? y * f[k] : 0);
    }
}

template <typename A, bool GRADIENT>
static void swish(struct tf_ctx *c, tf_mem *out, const tf_mem *in, const tf_mem *x,
                  const struct tf_rows *r, int N, struct tf_dropout dropout)
{
    launch(c, "swish", swish_kernel<A, GRADIENT>,
           dim3(div_up(r->cap_rows * (size_t)((N + 3) / 4), 256)), dim3(256), 0, (A *)out,
           (const A *)in, (const A *)x, r->head, (uint32_t)r->cap_rows, N,
           tf_cuda_dropout(c, dropout));
}

template <typename A>
void tf_cuda_ops<A>::swish_fwd(struct tf_ctx *c, tf_mem *y, const tf_mem *x,
                               const struct tf_rows *r, int N, struct tf_dropout dropout)
{
    swish<A, false>(c, y, x, nullptr, r, N, dropout);
}

template <typename A>
void tf_cuda_ops<A>::swish_bwd(struct tf_ctx *c, tf_mem *dx, const tf_mem *dy, const tf_mem *x,
                               const struct tf_rows *r, int N, struct tf_dropout dropout)
{
    swish<A, true>(c, dx, dy, x, r, N, dropout);
}

template <typename A> static __global__ void rows_kernel(A *y, const A *x, size_t n)
{
    wait_for_previous();
    const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    const float v = to_float(x[i]);
    y[i] = from_float<A>(v * sigmoid(v));
}

template <typename A>
void tf_cuda_ops<A>::swish_rows(struct tf_ctx *c, tf_mem *y, const tf_mem *x, size_t rows, int N)
{
    const size_t n = rows * (size_t)N;
    if (n > 0)
        launch_early(c, "swish", rows_kernel<A>, dim3(div_up(n, 256)), dim3(256), 0, (A *)y,
                     (const A *)x, n);
}

TF_CUDA_EVERY(swish_fwd)
TF_CUDA_EVERY(swish_bwd)
TF_CUDA_EVERY(swish_rows)
