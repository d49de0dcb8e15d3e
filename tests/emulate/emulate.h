/* emulate.h - as much of CUDA as lib/ops/cuda uses, on the host, so that its kernels can be checked
 * on a machine without a GPU. Included by device_private.h in place of CUDA's headers.
 *
 * A stream is a queue that runs when somebody waits for it, as late as CUDA may be: the host, or
 * another stream by an event, so that a missing wait shows. A captured graph is a list of what was
 * queued. Blocks run one after the other; the threads of a block are
 * coroutines that run until they meet a barrier or an operation of their warp.
 * TF_EMULATE_ORDER=reverse runs blocks and threads in the opposite order, and the second stream of
 * a device as early as CUDA may: the bytes must be the same. Built with SAN=thread, ThreadSanitizer
 * sees the coroutines as threads that only barriers order, and reports accesses that CUDA leaves
 * unordered.
 *
 * Environment:
 *   TF_EMULATE_DEVICES      number of devices (1)
 *   TF_EMULATE_ALIKE        all of them are of the same model
 *   TF_EMULATE_FAULTY       the number of the device that TF_EMULATE_FAULT, TF_EMULATE_MOST and
 *                           TF_EMULATE_ALLOCATIONS are about (all)
 *   TF_EMULATE_FAULT        a kernel whose name begins with this fails as on a device: from then on
 *                           every wait returns an error
 *   TF_EMULATE_FAULT_AFTER  but so many launches of it succeed
 *   TF_EMULATE_MOST         bytes of the largest device allocation that succeeds
 *   TF_EMULATE_ALLOCATIONS  number of device allocations that succeed; all later ones fail
 *   TF_EMULATE_FREE         free bytes of device memory, as the device reports them
 *   TF_EMULATE_NO_GRAPHS    every capture fails
 *   TF_EMULATE_GRAPHS       number of graphs that there is memory for; while there are so many,
 *                           device allocations fail, too
 *   TF_EMULATE_UNORDERED    the number of a wait of one stream for another that is left out, for
 *                           tests that see it missed; counted from when this is set
 *   TF_EMULATE_SHARED       bytes of shared memory that a block may have (227 KiB)
 *   TF_EMULATE_NO_NCCL      NCCL is not installed
 *   TF_EMULATE_STALL        the number of an exchange with another rank that never ends; where it
 *                           is the first with that rank, its call does not return
 *   TF_EMULATE_TELL         when a stream ends, print how many graphs were launched and made, the
 *                           most memory that the process had on the device and beside it, and
 *                           bytes that were received from other ranks
 *   TF_EMULATE_SAMPLE       of a grid of more than 4 N blocks run the first and last N and about N
 *                           between; of products compute corners and a few columns. So the full
 *                           size of a model takes seconds, and shows accesses outside of
 *                           allocations, not results
 *   TF_EMULATE_KERNELS      a file that gains the names of the kernels that this process launched:
 *                           `ptx` of nvcc's PTX (ptx/), `host` of the host's compiler; `known` for
 *                           each that there is PTX of
 *
 * One thread at a time runs kernels, whatever their device; memory of other devices cannot be
 * reached meanwhile.
 *
 * Device memory and shared memory start as bytes 0xff (nan). Each allocation has walls: after its
 * end, rounded up to 256 bytes, and less than a page in front of it. Errors at which a GPU would
 * fail or hang (too many threads, too much shared memory, a barrier that some threads never reach)
 * end the program with the kernel's name. */
#ifndef TF_TESTS_EMULATE_H
#define TF_TESTS_EMULATE_H

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

/* ---- the language ---- */

#define __global__
#define __device__
#define __host__
#define __shared__ static __attribute__((section("tfshared"))) /* see block.cc */
#define __noinline__
#define __grid_constant__
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))

struct uint3 {
    unsigned x, y, z;
};
struct dim3 {
    unsigned x, y, z;
    dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {}
};
struct alignas(16) uint4 {
    unsigned x, y, z, w;
};
struct alignas(8) float2 {
    float x, y;
};
struct alignas(16) float4 {
    float x, y, z, w;
};
static inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w)
{
    return {x, y, z, w};
}
static inline float2 make_float2(float x, float y) { return {x, y}; }
static inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }

extern uint3 threadIdx, blockIdx;
extern dim3 blockDim, gridDim;

/* ---- the runtime's interface ---- */

enum cudaError_t {
    cudaSuccess,
    cudaErrorInvalidValue,
    cudaErrorMemoryAllocation,
    cudaErrorNoDevice,
    cudaErrorInsufficientDriver,
    cudaErrorStreamCaptureUnsupported,
    cudaErrorNoKernelImageForDevice,
    cudaErrorNotReady,
    cudaErrorLaunchFailure
};
enum cudaMemcpyKind {
    cudaMemcpyHostToHost,
    cudaMemcpyHostToDevice,
    cudaMemcpyDeviceToHost,
    cudaMemcpyDeviceToDevice
};
enum cudaStreamCaptureMode {
    cudaStreamCaptureModeGlobal,
    cudaStreamCaptureModeThreadLocal,
    cudaStreamCaptureModeRelaxed
};
enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize };
enum { cudaStreamNonBlocking = 1, cudaEventDisableTiming = 2 };
struct cudaFuncAttributes {
    int ptxVersion;
};
struct cudaDeviceProp {
    char name[256];
    size_t totalGlobalMem;
    int major, minor, multiProcessorCount;
    size_t sharedMemPerBlockOptin;
};
typedef struct emulate_stream *cudaStream_t;
typedef struct emulate_graph *cudaGraph_t, *cudaGraphExec_t;
typedef struct emulate_event *cudaEvent_t;

const char *cudaGetErrorString(cudaError_t e);
/* The last failure of this thread's calls, "not ready" too, which it forgets. */
cudaError_t cudaGetLastError();
cudaError_t cudaGetDeviceCount(int *n);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaGetDevice(int *device);
cudaError_t cudaDeviceGetPCIBusId(char *id, int size, int device);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp *p, int device);
cudaError_t cudaRuntimeGetVersion(int *v);
cudaError_t cudaMemGetInfo(size_t *free, size_t *total);
cudaError_t cudaMalloc(void **p, size_t n);
cudaError_t cudaFree(void *p); /* waits for everything, as CUDA's */
cudaError_t cudaMallocHost(void **p, size_t n);
cudaError_t cudaFreeHost(void *p);
/* Host memory that is not cudaMallocHost's is read and written before the call returns. */
cudaError_t cudaMemcpyAsync(void *dst, const void *src, size_t n, cudaMemcpyKind kind,
                            cudaStream_t s);
cudaError_t cudaMemsetAsync(void *p, int byte, size_t n, cudaStream_t s);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *s, unsigned flags);
cudaError_t cudaStreamDestroy(cudaStream_t s);
cudaError_t cudaStreamSynchronize(cudaStream_t s);
cudaError_t cudaStreamQuery(cudaStream_t s); /* runs what can run without waiting */
cudaError_t cudaStreamBeginCapture(cudaStream_t s, cudaStreamCaptureMode mode);
cudaError_t cudaStreamEndCapture(cudaStream_t s, cudaGraph_t *g);
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *x, cudaGraph_t g, unsigned long long flags);
cudaError_t cudaGraphLaunch(cudaGraphExec_t x, cudaStream_t s);
cudaError_t cudaGraphDestroy(cudaGraph_t g);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t x);
cudaError_t cudaEventCreate(cudaEvent_t *e);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *e, unsigned flags);
cudaError_t cudaEventDestroy(cudaEvent_t e);
cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t s);
cudaError_t cudaEventSynchronize(cudaEvent_t e);
cudaError_t cudaStreamWaitEvent(cudaStream_t s, cudaEvent_t e, unsigned flags);
cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t from, cudaEvent_t to); /* 1 */
cudaError_t cudaFuncSetAttribute(const void *kernel, cudaFuncAttribute a, int value);
/* fails with TF_EMULATE_NO_CODE, as for a device that nothing was compiled for */
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *a, const void *kernel);

namespace emulate {
/* e, for cudaGetLastError(). */
cudaError_t noted(cudaError_t e);
uint64_t sample();
/* Queue work on a stream. */
void enqueue(cudaStream_t s, std::function<void()> work);
/* The same for work that waits for other processes: it is called again until it returns true. */
void enqueue_waiting(cudaStream_t s, std::function<bool()> work);
/* kernel is the function's address: dynamic shared memory over 48 KiB must have been allowed for
 * it. */
void launch(cudaStream_t s, const char *name, const void *kernel, dim3 grid, dim3 block,
            size_t shared, std::function<void()> thread, bool early = false);
/* A kernel that ptx/translate.py made of nvcc's PTX. Its parameters by address. */
typedef void ptx_kernel(const void *const *parameters);
/* Those of a file, by the names that nvcc gives them. */
struct ptx_kernels {
    ptx_kernels(std::initializer_list<std::pair<const char *, ptx_kernel *>> list);
};
ptx_kernel *ptx_of(const void *kernel); /* NULL: there is none */
/* What each thread of a kernel does: its PTX where this library has it. */
template <typename... P>
std::function<void()> thread_of(void (*kernel)(P...), std::type_identity_t<P>... args)
{
    if (ptx_kernel *run = ptx_of((const void *)kernel))
        return [=] {
            const void *const parameters[] = {&args..., nullptr};
            run(parameters);
        };
    return [=] { kernel(args...); };
}
/* Every thread of a kernel that was launched with `early` must call it. */
void wait_for_previous();
void *shared_memory();
/* The operations of a warp: the last of the threads in `mask` to arrive does the work for all. `in`
 * is the thread's own, `out` is what it gets. `orders`: it is a barrier for memory, too. */
struct lane {
    const void *in[2];
    void *out;
};
typedef void collective(lane lanes[32], unsigned present);
void warp(collective *what, unsigned mask, const void *in0, const void *in1, void *out,
          bool orders = false);
/* A barrier of the block's threads. */
void block();

template <typename T> T shuffle(unsigned mask, T x, int source)
{
    T y = x;
    warp([](lane l[32], unsigned present) {
        for (int i = 0; i < 32; i++)
            if (present >> i & 1) {
                int from = *(const int *)l[i].in[1];
                if (from >= 0 && from < 32 && present >> from & 1)
                    *(T *)l[i].out = *(const T *)l[from].in[0];
                else
                    memset(l[i].out, 0xff, sizeof(T)); /* nobody's value */
            }
    }, mask, &x, &source, &y);
    return y;
}
static inline int lane_id()
{
    return (int)((threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) % 32);
}
} // namespace emulate

/* ---- barriers and warps ---- */

static inline void __syncthreads() { emulate::block(); }
static inline void __syncwarp(unsigned mask = 0xffffffffu)
{
    emulate::warp([](emulate::lane *, unsigned) {}, mask, nullptr, nullptr, nullptr, true);
}
static inline unsigned __ballot_sync(unsigned mask, int x)
{
    unsigned y = 0;
    emulate::warp([](emulate::lane l[32], unsigned present) {
        unsigned all = 0;
        for (int i = 0; i < 32; i++)
            if (present >> i & 1)
                all |= (unsigned)(*(const int *)l[i].in[0] != 0) << i;
        for (int i = 0; i < 32; i++)
            if (present >> i & 1)
                *(unsigned *)l[i].out = all;
    }, mask, &x, nullptr, &y);
    return y;
}
/* width: a power of two; the warp in parts of that many lanes. */
template <typename T> static inline T __shfl_sync(unsigned mask, T x, int source, int width = 32)
{
    int lane = emulate::lane_id();
    return emulate::shuffle(mask, x, (lane & ~(width - 1)) | (source & (width - 1)));
}
template <typename T> static inline T __shfl_xor_sync(unsigned mask, T x, int d, int width = 32)
{
    int lane = emulate::lane_id(), from = lane ^ d;
    return emulate::shuffle(mask, x, from / width <= lane / width ? from : lane);
}

/* ---- arithmetic ---- */

template <typename T> static inline T min(T a, T b) { return b < a ? b : a; }
template <typename T> static inline T max(T a, T b) { return a < b ? b : a; }
static inline int __popc(unsigned x) { return __builtin_popcount(x); }
static inline int __ffs(int x) { return __builtin_ffs(x); }
namespace emulate {
template <typename T, typename F> T bits(F x)
{
    static_assert(sizeof(T) == sizeof(F));
    T y;
    memcpy(&y, &x, sizeof y);
    return y;
}
} // namespace emulate
static inline unsigned __float_as_uint(float x) { return emulate::bits<unsigned>(x); }
static inline float __uint_as_float(unsigned x) { return emulate::bits<float>(x); }

/* Whole numbers only: their order leaves no trace. */
#define EMULATE_ATOMIC(NAME, EXPRESSION)                                                  \
    template <typename T> static inline T NAME(T *p, T x)                                 \
    {                                                                                     \
        T old = __atomic_load_n(p, __ATOMIC_RELAXED);                                     \
        while (!__atomic_compare_exchange_n(p, &old, EXPRESSION, false, __ATOMIC_RELAXED, \
            __ATOMIC_RELAXED))                                                            \
            ;                                                                             \
        return old;                                                                       \
    }
EMULATE_ATOMIC(atomicAdd, old + x)
EMULATE_ATOMIC(atomicMin, (x < old ? x : old))
EMULATE_ATOMIC(atomicExch, x)
#undef EMULATE_ATOMIC
template <typename T> static inline T atomicCAS(T *p, T want, T x)
{
    __atomic_compare_exchange_n(p, &want, x, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    return want;
}
static inline void __trap() { __builtin_trap(); }

/* ---- elements ---- */

/* CUDA's names, which are in those of kernels. */
struct __nv_bfloat16 {
    uint16_t bits;
};
struct __half {
    uint16_t bits;
};
typedef __nv_bfloat16 bf16;
typedef __half half;

static inline float to_float(float x) { return x; }
static inline float to_float(bf16 x) { return __uint_as_float((unsigned)x.bits << 16); }
static inline float to_float(half x)
{
    unsigned sign = (unsigned)(x.bits & 0x8000) << 16, exponent = x.bits >> 10 & 31,
             fraction = x.bits & 1023;
    if (exponent == 31)
        return __uint_as_float(sign | 0x7f800000 | fraction << 13);
    if (exponent == 0) {
        float f = (float)fraction * 0x1p-24f;
        return sign != 0 ? -f : f;
    }
    return __uint_as_float(sign | (exponent + 112) << 23 | fraction << 13);
}

/* To the nearest, ties to even. */
template <typename A> static inline A from_float(float x);
template <> inline float from_float<float>(float x) { return x; }
template <> inline bf16 from_float<bf16>(float x)
{
    unsigned u = __float_as_uint(x);
    if (x != x)
        return {0x7fff};
    return {(uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16)};
}
template <> inline half from_float<half>(float x)
{
    unsigned u = __float_as_uint(x), sign = u >> 16 & 0x8000;
    u &= 0x7fffffff;
    if (x != x)
        return {0x7fff};
    if (u >= 0x477ff000) /* 65520 and more */
        return {(uint16_t)(sign | 0x7c00)};
    if (u < 0x38800000) /* below 2^-14: multiples of 2^-24 */
        return {(uint16_t)(sign | (unsigned)nearbyintf(__uint_as_float(u) * 0x1p24f))};
    return {(uint16_t)(sign | (((u + 0xfff + (u >> 13 & 1)) >> 13) - (112u << 10)))};
}

/* See device_private.h. Assembles the matrices from the fragments of the warp, multiplies them and
 * splits the result. */
template <typename A> void mma(float d[4], const uint32_t a[4], const uint32_t b[2])
{
    emulate::warp([](emulate::lane l[32], unsigned present) {
        auto element = [](uint32_t pair, int i) { return to_float(A{(uint16_t)(pair >> 16 * i)}); };
        typedef float row __attribute__((vector_size(8 * sizeof(float))));
        float x[16][16];
        row y[16], sums[16] = {};
        if (present != 0xffffffffu)
            __builtin_trap();
        for (int lane = 0; lane < 32; lane++) {
            int g = lane / 4, t = lane % 4;
            const uint32_t *p = (const uint32_t *)l[lane].in[0],
                           *q = (const uint32_t *)l[lane].in[1];
            for (int i = 0; i < 8; i++)
                x[g + i / 2 % 2 * 8][2 * t + i / 4 * 8 + i % 2] = element(p[i / 2], i % 2);
            for (int i = 0; i < 4; i++)
                y[2 * t + i / 2 * 8 + i % 2][g] = element(q[i / 2], i % 2);
        }
        for (int k = 0; k < 16; k++)
            for (int i = 0; i < 16; i++)
                sums[i] += x[i][k] * y[k];
        for (int lane = 0; lane < 32; lane++) {
            int g = lane / 4, t = lane % 4;
            float *out = (float *)l[lane].out;
            for (int i = 0; i < 4; i++)
                out[i] += sums[g + i / 2 * 8][2 * t + i % 2];
        }
    }, 0xffffffffu, a, b, d);
}

/* See device_private.h. Copies as late as allowed, so that a missing wait shows. */
struct async_copies {
    struct {
        uint4 *to;
        const uint4 *from;
        bool there;
        int group;
    } open[32];
    int n = 0, group = 0;
    void copy(uint4 *to, const uint4 *from, bool there)
    {
        if (n == 32)
            __builtin_trap();
        open[n++] = {to, from, there, group};
    }
    void commit() { group++; }
    template <int N> void wait()
    {
        int left = 0;
        for (int i = 0; i < n; i++)
            if (open[i].group < group - N)
                *open[i].to = open[i].there ? *open[i].from : make_uint4(0, 0, 0, 0);
            else
                open[left++] = open[i];
        n = left;
    }
};

static inline size_t __cvta_generic_to_shared(const void *p)
{
    return (size_t)((const char *)p - (const char *)emulate::shared_memory());
}

/* PTX's wgmma, D = A B + D in floats, of A 64 x 16 in registers and B 16 x N in dynamic shared
 * memory. Each warp does its 16 rows. Both operands have the layouts of the PTX ISA (9.7.15.5.1);
 * the order in which a tensor core adds is its own, so this shows indices alone. Runs as late as
 * allowed, when wait() says so: until then the sums are nan, and B may be overwritten. */
struct async_products {
    enum { MOST = 256 / 2 }; /* sums of a thread */
    struct product {
        emulate::collective *run;
        uint32_t a[4];
        uint64_t b;
        int group;
        void *d[MOST];
        float sums[MOST]; /* before it; `chained`: d is also that of the product before */
        bool add, chained;
    };
    std::vector<product> open;
    int group = 0;
    bool fenced = false;

    /* Element k of row n of B', which is K-major: pieces of 16 bytes in 8 rows are a unit. */
    static const uint16_t *at(uint64_t b, int n, int k)
    {
        const uint64_t field = 0x3fff;
        const int mode = (int)(b >> 62), row = mode == 0 ? 16 : 256 >> mode;
        if ((b & ~(field | field << 16 | field << 32 | 3ull << 62)) != 0)
            __builtin_trap(); /* a base offset, or what is reserved */
        uint64_t p = ((b & field) + (b >> 32 & field) * (uint64_t)(n / 8)) * 16 +
                     (uint64_t)(n % 8 * row);
        if (mode == 0) {
            p += (b >> 16 & field) * 16 * (uint64_t)(k / 8) + (uint64_t)(k % 8 * 2);
        } else {
            p += (uint64_t)(2 * k);
            p ^= (p >> 7 & (uint64_t)(row / 16 - 1)) << 4;
        }
        return (const uint16_t *)((char *)emulate::shared_memory() + p);
    }
    template <typename A, int N> static void run(emulate::lane l[32], unsigned present)
    {
        if (present != 0xffffffffu)
            __builtin_trap();
        const uint64_t b = ((const product *)l[0].in[0])->b;
        float x[16][16], y[16][N], sums[16][N] = {};
        for (int k = 0; k < 16; k++)
            for (int n = 0; n < N; n++)
                y[k][n] = to_float(A{*at(b, n, k)});
        for (int lane = 0; lane < 32; lane++) {
            const product *p = (const product *)l[lane].in[0];
            if (p->b != b)
                __builtin_trap();
            for (int i = 0; i < 8; i++)
                x[lane / 4 + i / 2 % 2 * 8][2 * (lane % 4) + i / 4 * 8 + i % 2] =
                    to_float(A{(uint16_t)(p->a[i / 2] >> 16 * (i % 2))});
        }
        for (int k = 0; k < 16; k++)
            for (int i = 0; i < 16; i++)
                for (int n = 0; n < N; n++)
                    sums[i][n] += x[i][k] * y[k][n];
        for (int lane = 0; lane < 32; lane++) {
            const product *p = (const product *)l[lane].in[0];
            for (int i = 0; i < N / 2; i++) {
                float sum = p->sums[i];
                if (p->chained)
                    memcpy(&sum, p->d[i], sizeof sum);
                sum = (p->add ? sum : 0) +
                      sums[lane / 4 + i / 2 % 2 * 8][i / 4 * 8 + 2 * (lane % 4) + i % 2];
                memcpy(p->d[i], &sum, sizeof sum);
            }
        }
    }
    void fence() { fenced = true; }
    template <typename A, int N>
    void multiply(void *const d[N / 2], const uint32_t a[4], uint64_t b, bool add)
    {
        if (!fenced)
            __builtin_trap(); /* registers may be of before */
        product p = {run<A, N>, {a[0], a[1], a[2], a[3]}, b, group, {}, {}, add, false};
        for (const product &other : open)
            p.chained = p.chained || other.d[0] == d[0];
        const float nan = std::numeric_limits<float>::quiet_NaN();
        for (int i = 0; i < N / 2; i++) {
            p.d[i] = d[i];
            memcpy(&p.sums[i], d[i], sizeof nan);
            memcpy(d[i], &nan, sizeof nan);
        }
        open.push_back(p);
    }
    void commit() { group++; }
    template <int N> void wait()
    {
        size_t n = 0;
        for (; n < open.size() && open[n].group < group - N; n++)
            emulate::warp(open[n].run, 0xffffffffu, &open[n], nullptr, nullptr);
        open.erase(open.begin(), open.begin() + (ptrdiff_t)n);
        fenced = false;
    }
};

#endif
