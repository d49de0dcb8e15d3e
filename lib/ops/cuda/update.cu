/* update.cu - sums over flat blocks, Adam (Kingma & Ba 2015) and the moving average of weights. All
 * is bound by memory: a thread takes four neighbours at a time where the addresses allow it. What
 * happens to an element is one chain of roundings wherever it stands, so any split of a range gives
 * the same bytes. */
#include "quad_private.h"
#include "ops/cuda/memory_private.h"
#include "ops/cuda/weights_private.h"

enum {
    THREADS = 256,
    PARTS = 1024, /* partial sums of a chunk of sumsq, at most */
};

/* f(i) for every i < n, f4(i) for four from i on where `whole`. Blocks take turns, so a grid of any
 * size will do. */
template <typename F, typename F4>
__device__ static inline void for_each(size_t n, bool whole, F f, F4 f4)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x, step = (size_t)gridDim.x * blockDim.x,
           quads = whole ? n / 4 : 0;
    for (size_t q = i; q < quads; q += step)
        f4(4 * q);
    for (size_t k = 4 * quads + i; k < n; k += step)
        f(k);
}
static dim3 grid_for(const struct tf_ctx *c, size_t n)
{
    size_t want = div_up(n, 4 * THREADS), most = (size_t)c->sms * 16;
    return dim3((unsigned)(want < most ? want : most));
}
template <typename... P> static bool quads(const P *...p)
{
    return quads_whole(4, p...);
}

static __global__ void add_kernel(float *a, const float *b, size_t n, bool whole)
{
    for_each(
        n, whole, [=](size_t i) { a[i] += b[i]; },
        [=](size_t i) {
            quad<float> x = *(const quad<float> *)(a + i), y = *(const quad<float> *)(b + i);
            for (int k = 0; k < 4; k++)
                x.v[k] += y.v[k];
            *(quad<float> *)(a + i) = x;
        });
}

void tf_cuda_add(struct tf_ctx *c, tf_mem *a, const tf_mem *b, size_t n)
{
    launch(c, "add", add_kernel, grid_for(c, n), dim3(THREADS), 0, (float *)a, (const float *)b, n,
           quads((float *)a, (const float *)b));
    tf_cuda_wrote(c, a, n);
}

/* ---- sums ---- */

/* Partial sums of n elements: element i is in part (i / THREADS) % parts. */
__host__ __device__ static inline unsigned parts_of(size_t n)
{
    size_t parts = (n + 8 * THREADS - 1) / (8 * THREADS);
    return parts < (size_t)PARTS ? (unsigned)parts : (unsigned)PARTS;
}

/* A block a part of a chunk. The last chunk may be shorter: its parts are those of its own size. */
static __global__ void __launch_bounds__(THREADS)
    square_parts(double *part, const float *x, size_t n, size_t chunk)
{
    __shared__ double room[32];
    double sum = 0;
    x += blockIdx.y * chunk;
    n -= blockIdx.y * chunk;
    if (n > chunk)
        n = chunk;
    size_t step = (size_t)parts_of(n) * THREADS;
    if (blockIdx.x >= parts_of(n))
        return;
#pragma unroll 8
    for (size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x; i < n; i += step)
        sum += (double)x[i] * x[i];
    sum = block_sum(sum, room);
    if (threadIdx.x == 0)
        part[(size_t)blockIdx.y * gridDim.x + blockIdx.x] = sum;
}

static __global__ void __launch_bounds__(PARTS)
    sum_parts(double *dst, const double *part, size_t n, size_t chunk)
{
    __shared__ double room[32];
    size_t left = n - blockIdx.x * chunk;
    unsigned parts = parts_of(left < chunk ? left : chunk);
    part += (size_t)blockIdx.x * parts_of(chunk);
    double sum = block_sum(threadIdx.x < parts ? part[threadIdx.x] : 0, room);
    if (threadIdx.x == 0)
        dst[blockIdx.x] = sum;
}

void tf_cuda_sumsq(struct tf_ctx *c, tf_mem *dst, const tf_mem *x, size_t n, size_t chunk)
{
    size_t most = (n + chunk - 1) / chunk;
    if (most > 65535) /* blocks above each other */
        most = 65535;
    double *part = (double *)tf_cuda_scratch(c, most * parts_of(chunk) * sizeof *part);
    for (size_t i = 0; part != nullptr && i < n; i += most * chunk) {
        size_t left = n - i < most * chunk ? n - i : most * chunk;
        unsigned chunks = div_up(left, chunk);
        launch(c, "sumsq", square_parts, dim3(parts_of(chunk), chunks), dim3(THREADS), 0, part,
               (const float *)x + i, left, chunk);
        launch(c, "sumsq", sum_parts, dim3(chunks), dim3(PARTS), 0, (double *)dst + i / chunk,
               (const double *)part, left, chunk);
    }
}

/* In order: a warp fetches, every thread of it adds. */
static __global__ void sum_kernel(double *dst, const double *src, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i += 32) {
        double x = i + threadIdx.x < n ? src[i + threadIdx.x] : 0;
        for (int k = 0; k < 32 && i + k < n; k++)
            sum += __shfl_sync(0xffffffffu, x, k);
    }
    if (threadIdx.x == 0)
        *dst = sum;
}

void tf_cuda_sum(struct tf_ctx *c, tf_mem *dst, const tf_mem *src, size_t n)
{
    launch(c, "sum", sum_kernel, dim3(1), dim3(32), 0, (double *)dst, (const double *)src, n);
}

/* ---- Adam ---- */

/* p += fade * p, p -= step * m / (sqrt(v * second) + eps): both rules of struct tf_adam, with what
 * depends on t put together on the host. */
struct adam {
    float beta1, rest1, beta2, rest2, step, second, eps, fade;
    double gscale, clip;
};

__device__ static inline void adam_one(float &p, float &m, float &v, float g, const struct adam &h,
                                       float scale)
{
    g *= scale;
    m = fmaf(h.beta1, m, h.rest1 * g);
    v = fmaf(h.beta2, v, h.rest2 * g * g);
    p = fmaf(h.fade, p, p); /* without decay exactly p */
    p = fmaf(-h.step, m / (sqrtf(v * h.second) + h.eps), p);
}

static __global__ void __launch_bounds__(THREADS)
    adam_kernel(float *p, float *m, float *v, const float *g, size_t n, const double *norm2,
                struct adam h, struct tf_shadows shadows, bool whole)
{
    double norm = sqrt(*norm2), factor = h.gscale;
    if (!(norm < INFINITY)) /* nor is it nan */
        return;
    if (h.clip > 0 && norm * h.gscale > h.clip)
        factor *= h.clip / (norm * h.gscale);
    float scale = (float)factor;
    for_each(
        n, whole,
        [=](size_t i) {
            adam_one(p[i], m[i], v[i], g[i], h, scale);
            if (shadows.as_bf16 != nullptr)
                shadows.as_bf16[i] = from_float<bf16>(p[i]);
            if (shadows.as_half != nullptr)
                shadows.as_half[i] = from_float<half>(p[i]);
        },
        [=](size_t i) {
            quad<float> x = *(const quad<float> *)(p + i), y = *(const quad<float> *)(m + i),
                        z = *(const quad<float> *)(v + i), d = *(const quad<float> *)(g + i);
            for (int k = 0; k < 4; k++)
                adam_one(x.v[k], y.v[k], z.v[k], d.v[k], h, scale);
            *(quad<float> *)(p + i) = x;
            *(quad<float> *)(m + i) = y;
            *(quad<float> *)(v + i) = z;
            if (shadows.as_bf16 != nullptr)
                store4(shadows.as_bf16 + i, 0, 4, true, x.v);
            if (shadows.as_half != nullptr)
                store4(shadows.as_half + i, 0, 4, true, x.v);
        });
}

void tf_cuda_adam(struct tf_ctx *c, tf_mem *p, tf_mem *m, tf_mem *v, const tf_mem *g, size_t n,
                  const tf_mem *norm2, const struct tf_adam *h)
{
    double c1 = 1 - pow(h->beta1, (double)h->t), c2 = 1 - pow(h->beta2, (double)h->t);
    const struct adam k = {
        .beta1 = (float)h->beta1,
        .rest1 = (float)(1 - h->beta1),
        .beta2 = (float)h->beta2,
        .rest2 = (float)(1 - h->beta2),
        .step = (float)(h->eps_hat ? h->lr * sqrt(c2) / c1 : h->lr / c1),
        .second = (float)(h->eps_hat ? 1 : 1 / c2),
        .eps = (float)h->eps,
        .fade = (float)(0 - h->lr * h->decay),
        .gscale = h->gscale,
        .clip = h->clip,
    };
    struct tf_shadows shadows = tf_cuda_shadows(c, p);
    launch(c, "adam", adam_kernel, grid_for(c, n), dim3(THREADS), 0, (float *)p, (float *)m,
           (float *)v, (const float *)g, n, (const double *)norm2, k, shadows,
           quads((float *)p, (float *)m, (float *)v, (const float *)g, shadows.as_bf16,
                 shadows.as_half));
}

static __global__ void __launch_bounds__(THREADS)
    ema_kernel(float *e, const float *p, size_t n, float decay, float rest, bool whole)
{
    for_each(
        n, whole, [=](size_t i) { e[i] = fmaf(decay, e[i], rest * p[i]); },
        [=](size_t i) {
            quad<float> x = *(const quad<float> *)(e + i), y = *(const quad<float> *)(p + i);
            for (int k = 0; k < 4; k++)
                x.v[k] = fmaf(decay, x.v[k], rest * y.v[k]);
            *(quad<float> *)(e + i) = x;
        });
}

void tf_cuda_ema(struct tf_ctx *c, tf_mem *e, const tf_mem *p, size_t n, double decay)
{
    launch(c, "ema", ema_kernel, grid_for(c, n), dim3(THREADS), 0, (float *)e, (const float *)p, n,
           (float)decay, (float)(1 - decay), quads((float *)e, (const float *)p));
    tf_cuda_wrote(c, e, n);
}
