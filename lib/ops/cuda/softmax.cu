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
 * logarithms. N numbers a load: 4, or 1 where rows are not aligned. With lists, where N is 1, block
 * i * most + k is for row k of sentence i. */
template <int N>
static __global__ void __launch_bounds__(1024)
    softmax_kernel(float *z, float *acc, int V, float weight, struct tf_lists lists)
{
    struct alignas(N * sizeof(float)) load {
        float v[N];
    };
    __shared__ float room[32];
    uint32_t n = (uint32_t)V / N;
    size_t row = blockIdx.x;
    if (N == 1 && lists.n > 0) {
        const uint32_t *row0 = (const uint32_t *)lists.row0, *live = (const uint32_t *)lists.live,
                       *off = (const uint32_t *)lists.off;
        uint32_t i = blockIdx.x / (uint32_t)lists.most, k = blockIdx.x % (uint32_t)lists.most;
        if (k >= live[i])
            return;
        row = row0[i] + k;
        n = off[i + 1] - off[i];
    }
    load *x = (load *)(z + row * V), *mix = (load *)(acc + row * V);
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
           dim3(row_threads(V)), 0, z, acc, V, weight, tf_lists{});
}

static void softmax_listed(struct tf_ctx *c, float *z, float *acc, const struct tf_lists &l,
                           float weight)
{
    launch(c, "log_softmax", softmax_kernel<1>, dim3((unsigned)(l.n * l.most)),
           dim3(LISTED_THREADS), 0, z, acc, (int)l.ld, weight, l);
}

void tf_cuda_softmax(struct tf_ctx *c)
{
    auto put_off = c->logits;
    c->logits = {};
    if (put_off.lists.n > 0)
        softmax_listed(c, put_off.z, nullptr, put_off.lists, 0);
    else
        softmax(c, put_off.z, nullptr, put_off.rows, put_off.V, 0);
}

void tf_cuda_log_softmax(struct tf_ctx *c, tf_mem *z, tf_mem *acc, size_t rows, int V, float weight)
{
    if (acc != nullptr) {
        softmax(c, (float *)z, (float *)acc, rows, V, weight);
        return;
    }
    tf_cuda_stream(c);
    c->logits = {(float *)z, rows, V, {}};
    c->put_off = tf_cuda_softmax;
}

template <typename A>
void tf_cuda_ops<A>::log_softmax_listed(struct tf_ctx *c, tf_mem *z, tf_mem *acc,
                                        const struct tf_lists *l, float weight)
{
    if (acc != nullptr) {
        softmax_listed(c, (float *)z, (float *)acc, *l, weight);
        return;
    }
    tf_cuda_stream(c);
    c->logits = {(float *)z, 0, (int)l->ld, *l};
    c->put_off = tf_cuda_softmax;
}

TF_CUDA_EVERY(log_softmax_listed)
