/* softmax.cu - logits to log-probabilities, and mixtures of models. STAT in, STAT out: the same for
 * every precision. */
#include "softmax_private.h"

/* log(exp a + exp b) */
static __device__ inline float log_add(float a, float b)
{
    float max = fmaxf(a, b);
    return max == -INFINITY ? max : max + log1pf(expf(-fabsf(a - b)));
}

/* A block a row: one pass for max and sum, one that writes z - max - log sum, or adds it to acc, in
 * logarithms. N numbers a load: 4, or 1 where rows are not aligned. */
template <int N>
static __global__ void __launch_bounds__(1024)
    softmax_kernel(float *z, float *acc, int V, float weight)
{
    struct alignas(N * sizeof(float)) load {
        float v[N];
    };
    __shared__ float room[32];
    uint32_t n = (uint32_t)V / N;
    load *x = (load *)(z + (size_t)blockIdx.x * V), *mix = (load *)(acc + (size_t)blockIdx.x * V);
    struct seen s = {-INFINITY, 0};
    each_of_block(x, n, [&](uint32_t, const load &a) { see(s, a.v, N); });
    s = seen_by_block(s, room);
    float log_sum = logf(s.sum), log_weight = logf(weight), log_rest = logf(1 - weight);
    each_of_block(x, n, [&](uint32_t j, load a) {
        if (acc == nullptr) {
            for (int i = 0; i < N; i++)
                a.v[i] = a.v[i] - s.max - log_sum;
            x[j] = a;
        } else {
            load m = mix[j];
            for (int i = 0; i < N; i++)
                m.v[i] = log_add(m.v[i] + log_rest, a.v[i] - s.max - log_sum + log_weight);
            mix[j] = m;
        }
    });
}

static void softmax(struct tf_ctx *c, float *z, float *acc, size_t rows, int V, float weight)
{
    bool aligned = V % 4 == 0 && ((uintptr_t)z | (uintptr_t)acc) % 16 == 0;
    launch(c, "log_softmax", aligned ? softmax_kernel<4> : softmax_kernel<1>, dim3((unsigned)rows),
           dim3(row_threads(V)), 0, z, acc, V, weight);
}

void tf_cuda_softmax(struct tf_ctx *c)
{
    auto put_off = c->logits;
    c->logits = {};
    softmax(c, put_off.z, nullptr, put_off.rows, put_off.V, 0);
}

void tf_cuda_log_softmax(struct tf_ctx *c, tf_mem *z, tf_mem *acc, size_t rows, int V, float weight)
{
    if (acc != nullptr) {
        softmax(c, (float *)z, (float *)acc, rows, V, weight);
        return;
    }
    tf_cuda_stream(c);
    c->logits = {(float *)z, rows, V};
    c->put_off = tf_cuda_softmax;
}
