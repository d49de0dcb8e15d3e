/* activation.cu - swish and gelu, with dropout, and their gradients. A thread four columns of a
 * row: the columns of one call of the random generator. */
#include "device_private.h"

template <enum tf_function F> __device__ static inline float factor(float x)
{
    return F == TF_SWISH ? sigmoid(x) : F == TF_GELU ? 0.5f * erfcf(-0.70710678f * x) : 1;
}

template <enum tf_function F> __device__ static inline float gradient(float dy, float x)
{
    const float g = factor<F>(x);
    if (F == TF_IDENTITY)
        return dy;
    return F == TF_SWISH ? dy * g * (1 + x * (1 - g))
                         : dy * (g + x * 0.39894228f * expf(-0.5f * x * x));
}

/* GRADIENT: out = in * dropout * slope(x); else out = activation(in) * dropout, and x is unused.
 * Rows past the count become 0. */
template <typename A, enum tf_function F, bool GRADIENT>
static __global__ void activation_kernel(A *out, const A *in, const A *x,
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
        const float v = to_float(in[at + k]);
        const float y = GRADIENT ? gradient<F>(v, to_float(x[at + k])) : v * factor<F>(v);
        out[at + k] = from_float<A>(used ? y * f[k] : 0);
    }
}

static const char *const names[] = {"swish", "gelu", "identity"};

template <typename A, bool GRADIENT>
static void activate(struct tf_ctx *c, tf_mem *out, const tf_mem *in, const tf_mem *x,
                     const struct tf_rows *r, int N, enum tf_function f, struct tf_dropout dropout)
{
    launch(c, names[f],
           f == TF_SWISH  ? activation_kernel<A, TF_SWISH, GRADIENT>
           : f == TF_GELU ? activation_kernel<A, TF_GELU, GRADIENT>
                          : activation_kernel<A, TF_IDENTITY, GRADIENT>,
           dim3(div_up(r->cap_rows * (size_t)((N + 3) / 4), 256)), dim3(256), 0, (A *)out,
           (const A *)in, (const A *)x, r->head, (uint32_t)r->cap_rows, N,
           tf_cuda_dropout(c, dropout));
}

template <typename A>
void tf_cuda_ops<A>::activation_fwd(struct tf_ctx *c, tf_mem *y, const tf_mem *x,
                                    const struct tf_rows *r, int N, enum tf_function f,
                                    struct tf_dropout dropout)
{
    activate<A, false>(c, y, x, nullptr, r, N, f, dropout);
}

template <typename A>
void tf_cuda_ops<A>::activation_bwd(struct tf_ctx *c, tf_mem *dx, const tf_mem *dy, const tf_mem *x,
                                    const struct tf_rows *r, int N, enum tf_function f,
                                    struct tf_dropout dropout)
{
    activate<A, true>(c, dx, dy, x, r, N, f, dropout);
}

template <typename A, enum tf_function F>
static __global__ void rows_kernel(A *y, const A *x, size_t n)
{
    wait_for_previous();
    const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    const float v = to_float(x[i]);
    y[i] = from_float<A>(v * factor<F>(v));
}

template <typename A>
void tf_cuda_ops<A>::activation_rows(struct tf_ctx *c, tf_mem *y, const tf_mem *x, size_t rows,
                                     int N, enum tf_function f)
{
    const size_t n = rows * (size_t)N;
    if (n > 0)
        launch_early(c, names[f],
                     f == TF_SWISH  ? rows_kernel<A, TF_SWISH>
                     : f == TF_GELU ? rows_kernel<A, TF_GELU>
                                    : rows_kernel<A, TF_IDENTITY>,
                     dim3(div_up(n, 256)), dim3(256), 0, (A *)y, (const A *)x, n);
}

TF_CUDA_EVERY(activation_fwd)
TF_CUDA_EVERY(activation_bwd)
TF_CUDA_EVERY(activation_rows)
