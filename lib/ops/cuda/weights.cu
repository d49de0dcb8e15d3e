/* weights.cu - copies of weights in the precision of activations, for matrix products. A shadow
 * belongs to a whole allocation; every write to PARAMs but Adam's, which makes its own, passes here
 * and, where there is a shadow, queues the conversion of what was written. */
#include "device_private.h"
#include "ops/cuda/memory_private.h"
#include "ops/cuda/weights_private.h"

#include <map>

namespace {

struct weights {
    size_t n;                  /* elements */
    void *as_bf16, *as_half;   /* shadows, or NULL */
};

std::map<const float *, struct weights> tables[TF_CUDA_PLACES]; /* by address */
std::map<const char *, size_t> narrows[TF_CUDA_PLACES];         /* bytes of WEIGHTs */

/* The allocation that holds p. */
std::map<const float *, struct weights>::iterator find(const struct tf_ctx *c, const float *p)
{
    auto &table = tables[c->place];
    auto i = table.upper_bound(p);
    if (i == table.begin())
        return table.end();
    --i;
    return p < i->first + (i->second.n > 0 ? i->second.n : 1) ? i : table.end();
}

template <typename A> void *&shadow_of(struct weights &w);
template <> void *&shadow_of<bf16>(struct weights &w) { return w.as_bf16; }
template <> void *&shadow_of<half>(struct weights &w) { return w.as_half; }

} // namespace

/* y = x, n elements, four a thread: x and y are aligned to four elements, or n is the rest of a
 * range. */
template <typename A> static __global__ void convert(A *y, const float *x, size_t n)
{
    size_t i = 4 * ((size_t)blockIdx.x * blockDim.x + threadIdx.x);
    if (i + 4 <= n && (uintptr_t)x % 16 == 0 && (uintptr_t)y % 8 == 0) {
        struct alignas(8) four {
            A v[4];
        } out;
        float4 in = *(const float4 *)(x + i);
        out.v[0] = from_float<A>(in.x);
        out.v[1] = from_float<A>(in.y);
        out.v[2] = from_float<A>(in.z);
        out.v[3] = from_float<A>(in.w);
        *(struct four *)(y + i) = out;
        return;
    }
    for (size_t k = i; k < n && k < i + 4; k++)
        y[k] = from_float<A>(x[k]);
}

template <typename A>
void tf_cuda_convert(struct tf_ctx *c, const char *what, A *y, const float *x, size_t n)
{
    launch(c, what, convert<A>, dim3(div_up(n, 1024)), dim3(256), 0, y, x, n);
}
template void tf_cuda_convert(struct tf_ctx *c, const char *what, float *y, const float *x,
                              size_t n);
template void tf_cuda_convert(struct tf_ctx *c, const char *what, bf16 *y, const float *x,
                              size_t n);
template void tf_cuda_convert(struct tf_ctx *c, const char *what, half *y, const float *x,
                              size_t n);

template <typename A>
static void refresh(struct tf_ctx *c, struct weights &w, const float *base, size_t at, size_t n)
{
    A *shadow = (A *)shadow_of<A>(w);
    if (shadow != nullptr && n > 0)
        tf_cuda_convert(c, "weights", shadow + at, base + at, n);
}

void tf_cuda_weights_new(struct tf_ctx *c, tf_mem *p, size_t n)
{
    tables[c->place][(const float *)p] = {n, nullptr, nullptr};
}

void tf_cuda_narrow_new(struct tf_ctx *c, tf_mem *p, size_t bytes)
{
    narrows[c->place][(const char *)p] = bytes;
}

bool tf_cuda_narrow(const struct tf_ctx *c, const tf_mem *p)
{
    auto &narrow = narrows[c->place];
    auto i = narrow.upper_bound((const char *)p);
    if (i == narrow.begin())
        return false;
    --i;
    return (const char *)p < i->first + i->second;
}

void tf_cuda_weights_gone(struct tf_ctx *c, tf_mem *p)
{
    auto &table = tables[c->place];
    narrows[c->place].erase((const char *)p);
    auto i = table.find((const float *)p);
    if (i == table.end())
        return;
    cudaFree(i->second.as_bf16);
    cudaFree(i->second.as_half);
    table.erase(i);
}

void tf_cuda_wrote(struct tf_ctx *c, const tf_mem *p, size_t n)
{
    auto i = find(c, (const float *)p);
    if (i == tables[c->place].end())
        return;
    size_t at = (size_t)((const float *)p - i->first);
    refresh<bf16>(c, i->second, i->first, at, n);
    refresh<half>(c, i->second, i->first, at, n);
}

struct tf_shadows tf_cuda_shadows(const struct tf_ctx *c, const tf_mem *p)
{
    auto i = find(c, (const float *)p);
    if (i == tables[c->place].end())
        return {};
    size_t at = (size_t)((const float *)p - i->first);
    bf16 *b = (bf16 *)i->second.as_bf16;
    half *h = (half *)i->second.as_half;
    return {b != nullptr ? b + at : nullptr, h != nullptr ? h + at : nullptr};
}

template <typename A> const A *tf_cuda_shadow(struct tf_ctx *c, const tf_mem *p)
{
    if (tf_cuda_narrow(c, p))
        return (const A *)p;
    auto i = find(c, (const float *)p);
    TF_ASSERT(i != tables[c->place].end());
    struct weights &w = i->second;
    if (shadow_of<A>(w) == nullptr) {
        void *shadow;
        cudaError_t e = tf_cuda_malloc(c, &shadow, w.n * sizeof(A) + 1);
        if (e != cudaSuccess) {
            tf_cuda_failed(c, e, "memory for weights");
            return nullptr;
        }
        shadow_of<A>(w) = shadow;
        refresh<A>(c, w, i->first, 0, w.n);
    }
    return (const A *)shadow_of<A>(w) + ((const float *)p - i->first);
}
template <> const float *tf_cuda_shadow<float>(struct tf_ctx *, const tf_mem *p)
{
    return (const float *)p;
}
template const bf16 *tf_cuda_shadow<bf16>(struct tf_ctx *c, const tf_mem *p);
template const half *tf_cuda_shadow<half>(struct tf_ctx *c, const tf_mem *p);
