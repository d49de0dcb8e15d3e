/* softmax.cu - logits to log-probabilities, and mixtures of models. STAT in, STAT out: the same for every precision. */
#include "device.h"

/* Threads for a row of V: a function of V alone, as the order of the sums is. */
static unsigned row_threads(int V)
{
    unsigned n = (unsigned)V / 16 / 32 * 32;
    return n < 32 ? 32 : n > 1024 ? 1024 : n;
}

/* What a thread has seen: the largest logit, and the sum of exp(x - max). */
struct seen {
    float max, sum;
};

__device__ static inline void see(struct seen &s, const float *x, int n)
{
    float top = s.max;
    for (int i = 0; i < n; i++)
        top = fmaxf(top, x[i]);
    if (top > s.max) {
        s.sum *= expf(s.max - top);
        s.max = top;
    }
    float base = s.max == -INFINITY ? 0 : s.max;
    for (int i = 0; i < n; i++)
        s.sum += expf(x[i] - base);
}

/* A block a row: one pass for max and sum, one that writes z - max - log sum, or acc + weight exp(z - max) / sum. N numbers a load: 4, or 1 where rows are not aligned. */
template <int N>
static __global__ void __launch_bounds__(1024) softmax_kernel(float *z, float *acc, int V, float weight)
{
    struct alignas(N * sizeof(float)) load {
        float v[N];
    };
    __shared__ float room[32];
    uint32_t n = (uint32_t)V / N;
    load *x = (load *)(z + (size_t)blockIdx.x * V), *mix = (load *)(acc + (size_t)blockIdx.x * V);
    struct seen s = {-INFINITY, 0};
    each_of_block(x, n, [&](uint32_t, const load &a) { see(s, a.v, N); });
    float max = block_max(s.max, room), sum = block_sum(s.sum == 0 ? 0 : s.sum * expf(s.max - max), room);
    float log_sum = logf(sum), share = weight / sum;
    each_of_block(x, n, [&](uint32_t j, load a) {
        if (acc == nullptr) {
            for (int i = 0; i < N; i++)
                a.v[i] = a.v[i] - max - log_sum;
            x[j] = a;
        } else {
            load m = mix[j];
            for (int i = 0; i < N; i++)
                m.v[i] += share * expf(a.v[i] - max);
            mix[j] = m;
        }
    });
}

void tf_cuda_log_softmax(struct tf_ctx *c, tf_mem *z, tf_mem *acc, size_t rows, int V, float weight)
{
    bool aligned = V % 4 == 0 && ((uintptr_t)z | (uintptr_t)acc) % 16 == 0;
    launch(c, "log_softmax", aligned ? softmax_kernel<4> : softmax_kernel<1>, dim3((unsigned)rows), dim3(row_threads(V)), 0, (float *)z, (float *)acc, V, weight);
}

static __global__ void log_kernel(float *x, size_t n)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        x[i] = logf(x[i]);
}

void tf_cuda_log_of(struct tf_ctx *c, tf_mem *x, size_t n)
{
    launch(c, "log_of", log_kernel, dim3(div_up(n, 256)), dim3(256), 0, (float *)x, n);
}
