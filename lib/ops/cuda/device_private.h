/* device_private.h - what the files of the CUDA backend share: the lane, launches, element types,
 * dropout, sums over a warp and a block.
 *
 * The same sources are compiled twice: by nvcc, and by the C++ compiler of the host with
 * tests/emulate/emulate.h in place of CUDA's headers, where every thread of a block is a coroutine.
 * So a machine without a GPU can check every kernel. For that the sources keep to this header:
 * launch() and not <<< >>>, TF_SHARED for dynamic shared memory, the element types and conversions
 * below and no intrinsics of cuda_fp16.h, mma() for the tensor cores, blas_private.h for matrix
 * products.
 *
 * Precision. A lane's element ACT is A: float, bf16 or half; the table of operations exists once
 * for each, instantiated from templates on A. PARAM and STAT are float, sums over rows and sums
 * that feed a scalar are float or double in an order fixed by the shape, never by atomics.
 *
 * Rows. Kernels are launched for cap_rows of a row space, a round number, so that matrix products
 * come in few shapes, and read the actual counts on the device: rows past the count are written as
 * zeros by every kernel that writes an ACT by rows, or left alone where the buffer is a gradient
 * that is summed over rows (linear_bwd clears those first). */
#ifndef TF_OPS_CUDA_DEVICE_PRIVATE_H
#define TF_OPS_CUDA_DEVICE_PRIVATE_H

#ifdef TF_EMULATE
#include "emulate.h"
#else
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#endif

#define _Noreturn [[noreturn]]
extern "C" {
#include "ops/backend.h"
#include "ops/search_state.h"
}

#ifndef TF_EMULATE
typedef __nv_bfloat16 bf16;
/* half is CUDA's. */
#endif

/* ---- the lane ---- */

struct tf_blas;  /* blas_private.h */

/* The arguments of scatter_rows. */
struct tf_cuda_scatter {
    tf_mem *dst;
    const tf_mem *src;
    const uint32_t *slot;
    size_t ld_dst, ld_src, rows, n;
};

/* All lanes of a device share the stream and so need no events between them: work runs in the order
 * of the calls, whichever lane it came from (beside it: beside.cu). What is kept for a device is an
 * array by place: lanes of one may run at the same time as those of another. Training uses one
 * device. */
enum { TF_CUDA_PLACES = 16 }; /* devices that a process may use */
struct tf_ctx {
    int place, number;          /* of its device: among those in use; as CUDA counts */
    cudaStream_t queue;         /* tf_cuda_stream() */
    struct tf_rng_state *rng;   /* device */
    struct tf_blas *blas;       /* shared likewise */
    void *workspace;            /* device: of products on the stream */
    bool beside; /* new work need not wait for products on the second stream: beside_private.h */
    void *scratch;              /* device; valid until the lane's next call of tf_cuda_scratch */
    size_t scratch_size;
    size_t act;                 /* bytes of an ACT */
    int sms;                    /* multiprocessors */
    int arch;                   /* compute capability, as 90 */
    size_t shared;              /* bytes of shared memory that a block may have */
    bool pdl;                   /* kernels may start early: see launch_early() */
    unsigned epilogues;         /* which of them products end in: linear.cu */
    size_t logits_room;         /* bytes of logits at once, or 0 for xent.cu's own choice */
    /* sums of columns over blocks of rows of dy [cap, N], which is 0 in rows past the count: made
     * by the last work on the lane, a linear_bwd through ReLU, for the next linear_bwd */
    struct {
        const tf_mem *dy; /* or NULL */
        const struct tf_rows *rows;
        int N;
        float *sums; /* device */
        size_t room; /* of it, in bytes */
    } summed;
    /* Work that is put off, because the call after it may do it on its way, or NULL. It is launched
     * before any other. */
    void (*put_off)(struct tf_ctx *c);
    /* the log_softmax of logits, tf_cuda_softmax: search_step can compute it together with the best
     * candidates of each row, and then never writes the log-probabilities */
    struct {
        float *z; /* or NULL */
        size_t rows;
        int V;                 /* stride */
        struct tf_lists lists; /* n 0: none */
    } logits;
    /* scatter_rows: attention over these keys and values can read them where they are */
    struct tf_cuda_scatter scatter;
    /* the first failure since the last sync or download, which hand it out */
    struct tf_err err;
    char text[256];             /* describe */
};

/* Was the last work on the stream a kernel of launch_early()? */
extern bool tf_cuda_started_early[TF_CUDA_PLACES];
/* Make the lane's device the one that this thread's calls of CUDA are about. */
void tf_cuda_select(const struct tf_ctx *c);

/* Launch what was put off. */
static inline void tf_cuda_catch_up(struct tf_ctx *c)
{
    auto work = c->put_off;
    c->put_off = nullptr;
    if (work != nullptr)
        work(c);
}
void tf_cuda_softmax(struct tf_ctx *c);
/* What is queued next waits for all products on the second stream. beside.cu */
void tf_cuda_join(struct tf_ctx *c);
/* The stream for all new work, of this thread's device from now on, after what was put off. */
static inline cudaStream_t tf_cuda_stream(struct tf_ctx *c)
{
    tf_cuda_select(c);
    tf_cuda_catch_up(c);
    if (!c->beside)
        tf_cuda_join(c);
    tf_cuda_started_early[c->place] = false;
    c->summed.dy = nullptr;
    return c->queue;
}

/* Note the first failure; `what` names the operation. CUDA's own note of it goes: the next launch
 * would report it again. */
void tf_cuda_failed(struct tf_ctx *c, cudaError_t e, const char *what);
/* A line on stderr about work that takes a slower path. */
void tf_cuda_report(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The parts of the backend that TF_CUDA_WITHOUT can leave out, see plugin.cu. */
enum {
    TF_CUDA_GRAPHS = 1,
    TF_CUDA_PRODUCT = 2,
    TF_CUDA_MMA = 4,
    TF_CUDA_LIBRARY = 8,
    TF_CUDA_PDL = 16,
    TF_CUDA_NCCL = 32,
    TF_CUDA_RELU = 64,
    TF_CUDA_SCATTER = 128,
    TF_CUDA_BESIDE = 256,
    TF_CUDA_WGMMA = 512, /* only with TF_CUDA_WITH=wgmma */
};
bool tf_cuda_uses(unsigned part);
/* A row space. `head` is device memory that a step reads: counts, then the packed row of the first
 * row. */
struct tf_rows_head {
    uint32_t n, rows, first, longest;
};
struct tf_rows {
    size_t max_rows, cap_sentences; /* what rows_new was given */
    /* what kernels and products work on: tf_rows_round_up() of the rows in use, where the buffers
     * have so many. A function of the batch alone, as its bytes must be */
    size_t cap_rows;
    /* tf_rows_round_up() of the sentences in use, at most cap_sentences: attention has blocks for
     * so many */
    size_t cap_used;
    /* the longest sentence, rounded up in steps of 16 to 64, then of 64 */
    uint32_t cap_longest;
    struct tf_rows_head *head;      /* device */
    /* device [cap_sentences + 1]: off[0] = 0, row of the buffer at which sentence s begins */
    uint32_t *off;
    /* device [cap_rows]: sentence of each row, UINT32_MAX past the last */
    uint32_t *sentence;
};

/* While one lives, what is queued counts as `what`, which is copied, in the account of
 * TF_CUDA_TIMES. times.cu */
struct tf_cuda_timed {
    cudaStream_t stream;
    int place;
    bool open;
    tf_cuda_timed(struct tf_ctx *c, const char *what);
    ~tf_cuda_timed();
    tf_cuda_timed(const tf_cuda_timed &) = delete;
};
void tf_cuda_times_show(struct tf_ctx *c);
bool tf_cuda_timing(); /* is there an account? */

/* Launch kernel(args...) on the lane's stream. */
template <typename... P, typename... Q>
static inline void launch(struct tf_ctx *c, const char *what, void (*kernel)(P...), dim3 grid,
                          dim3 block, size_t shared, Q... args)
{
    if (grid.x == 0 || grid.y == 0 || grid.z == 0)
        return;
    cudaStream_t stream = tf_cuda_stream(c);
    tf_cuda_timed timed(c, what);
#ifdef TF_EMULATE
    emulate::launch(stream, what, (const void *)kernel, grid, block, shared,
                    emulate::thread_of(kernel, static_cast<P>(args)...));
#else
    kernel<<<grid, block, shared, stream>>>(static_cast<P>(args)...);
#endif
    tf_cuda_failed(c, cudaGetLastError(), what);
}

/* Programmatic dependent launch, from compute capability 9.0 on: a kernel launched by
 * launch_early() may start while the one before it still runs. It must call wait_for_previous() in
 * every thread before it reads or writes anything that an earlier kernel writes or reads. Before
 * that it may only read memory that is written by plain launches and copies, as packed weights are:
 * a kernel starts early only after another one of launch_early(), and that one starts its successor
 * only when all earlier work is done. */
template <typename... P, typename... Q>
static inline void launch_early(struct tf_ctx *c, const char *what, void (*kernel)(P...), dim3 grid,
                                dim3 block, size_t shared, Q... args)
{
    if (grid.x == 0 || grid.y == 0 || grid.z == 0)
        return;
    tf_cuda_catch_up(c);
    bool early = c->pdl && tf_cuda_started_early[c->place] && !tf_cuda_timing();
    cudaStream_t stream = tf_cuda_stream(c);
    tf_cuda_timed timed(c, what);
#ifdef TF_EMULATE
    (void)early;
    emulate::launch(stream, what, (const void *)kernel, grid, block, shared,
                    emulate::thread_of(kernel, static_cast<P>(args)...), true);
#else
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = grid;
    config.blockDim = block;
    config.dynamicSmemBytes = shared;
    config.stream = stream;
    config.attrs = &attribute;
    config.numAttrs = early ? 1 : 0;
    tf_cuda_failed(c, cudaLaunchKernelEx(&config, kernel, static_cast<P>(args)...), what);
#endif
    tf_cuda_started_early[c->place] = true;
}

__device__ static inline void wait_for_previous()
{
#ifdef TF_EMULATE
    emulate::wait_for_previous();
#elif __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

/* Declare the block's dynamic shared memory as an array; at most one in a kernel. A launch that may
 * need more than 47 KiB (48 KiB with static arrays) needs tf_cuda_allow_shared() first. */
#ifdef TF_EMULATE
#define TF_SHARED(type, name) type *name = (type *)emulate::shared_memory()
#else
#define TF_SHARED(type, name)                                  \
    extern __shared__ __align__(16) unsigned char tf_shared[]; \
    type *name = (type *)tf_shared
#endif

static inline unsigned div_up(size_t a, size_t b)
{
    return (unsigned)((a + b - 1) / b);
}

/* ---- elements ---- */

#ifdef TF_EMULATE
/* emulate.h has bf16, half and these for them. */
#else
__device__ static inline float to_float(float x) { return x; }
__device__ static inline float to_float(bf16 x) { return __bfloat162float(x); }
__device__ static inline float to_float(half x) { return __half2float(x); }
template <typename A> __device__ static inline A from_float(float x);
template <> __device__ inline float from_float<float>(float x) { return x; }
template <> __device__ inline bf16 from_float<bf16>(float x) { return __float2bfloat16_rn(x); }
template <> __device__ inline half from_float<half>(float x) { return __float2half_rn(x); }
#endif

/* 16 bytes of elements at once; the address must be a multiple of 16. */
template <typename A> struct alignas(16) vec {
    enum { N = 16 / sizeof(A) };
    A v[N];
};

static constexpr float LOG2E = 1.4426950408889634f, LN2 = 0.6931471805599453f;

__device__ static inline float sigmoid(float x)
{
    return 1 / (1 + expf(-x));
}

/* ---- sums in a fixed order ---- */

/* Over the 32 threads of a warp; every thread has the result. */
template <typename T> __device__ static inline T warp_sum(T x)
{
    for (int d = 16; d > 0; d /= 2)
        x += __shfl_xor_sync(0xffffffffu, x, d);
    return x;
}
__device__ static inline float warp_max(float x)
{
    for (int d = 16; d > 0; d /= 2)
        x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, d));
    return x;
}
/* Over a block of up to 1024 threads, a multiple of 32; every thread has the result. `room`:
 * shared, 32 elements; two calls may use the same. */
template <typename T> __device__ static inline T block_sum(T x, T *room)
{
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    x = warp_sum(x);
    __syncthreads();
    if (lane == 0)
        room[warp] = x;
    __syncthreads();
    x = lane < warps ? room[lane] : T(0);
    return warp_sum(x);
}
__device__ static inline float block_max(float x, float *room)
{
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    x = warp_max(x);
    __syncthreads();
    if (lane == 0)
        room[warp] = x;
    __syncthreads();
    x = lane < warps ? room[lane] : -INFINITY;
    return warp_max(x);
}

/* f(i, x[i]) for this thread's part of x[0 .. n): i = its number in the block, and on by the size
 * of the block. All threads of the block must come along. AT_ONCE loads are made before the first
 * of them is used; the barrier is there because the compiler would put each off to where it is
 * used, and the way from the memory would be gone so many times. */
template <uint32_t AT_ONCE = 8, typename U, typename F>
__device__ static inline void each_of_block(const U *x, uint32_t n, F f)
{
    for (uint32_t from = 0; from < n; from += AT_ONCE * blockDim.x) {
        U v[AT_ONCE];
#pragma unroll
        for (uint32_t k = 0; k < AT_ONCE; k++) {
            uint32_t i = from + k * blockDim.x + threadIdx.x;
            v[k] = x[i < n ? i : n - 1];
        }
        __syncwarp();
#pragma unroll
        for (uint32_t k = 0; k < AT_ONCE; k++) {
            uint32_t i = from + k * blockDim.x + threadIdx.x;
            if (i < n)
                f(i, v[k]);
        }
    }
}

/* ---- dropout: the rule of backend.h, struct tf_dropout ---- */

/* Philox4x32-10 (Salmon et al. 2011). */
__device__ static inline void philox(uint32_t w[4], uint32_t c0, uint32_t c1, uint32_t c2,
                                     uint32_t c3, uint64_t seed)
{
    uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
    for (int i = 0; i < 10; i++) {
        uint64_t a = (uint64_t)0xD2511F53u * c0, b = (uint64_t)0xCD9E8D57u * c2;
        c0 = (uint32_t)(b >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)b;
        c2 = (uint32_t)(a >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)a;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    w[0] = c0, w[1] = c1, w[2] = c2, w[3] = c3;
}

/* What a kernel gets of a struct tf_dropout: made on the host. threshold = ceil(p * 2^32); scale =
 * 1 / (1 - p). */
struct dropout_args {
    uint64_t threshold; /* kept iff u >= threshold; 0: all are kept */
    float scale;
    uint32_t site;
    const struct tf_rng_state *rng; /* device */
};
struct dropout_args tf_cuda_dropout(const struct tf_ctx *c, struct tf_dropout d);

/* The same inside a kernel, which reads the state once, when it begins. */
struct dropout {
    bool on;
    uint32_t last; /* dropped iff u <= last */
    float scale;
    uint32_t site, update;
    uint64_t seed;
};
__device__ static inline struct dropout dropout_of(const struct dropout_args &a)
{
    bool on = a.threshold != 0;
    return {on,     (uint32_t)(a.threshold - 1), a.scale,
            a.site, on ? a.rng->update : 0,      on ? a.rng->seed : 0};
}

/* Factors (0 or scale) of columns 4*quad .. 4*quad + 3 of a packed row. */
__device__ static inline void dropout4(float f[4], const struct dropout &d, uint32_t quad,
                                       uint32_t row, uint32_t site)
{
    if (!d.on) {
        f[0] = f[1] = f[2] = f[3] = 1;
        return;
    }
    uint32_t w[4];
    philox(w, quad, row, site, d.update, d.seed);
    for (int i = 0; i < 4; i++)
        f[i] = w[i] > d.last ? d.scale : 0;
}

/* ---- tensor cores ---- */

/* d (16 x 8, float) += a (16 x 16) b (16 x 8) over a warp, A bf16 (sm_80 and later) or half (sm_75
 * and later). Fragments as PTX's mma.m16n8k16: with g = lane / 4 and t = lane % 4, a[0] = rows g,
 * columns 2t, 2t+1; a[1] = rows g+8, columns 2t..; a[2] = rows g, columns 2t+8..; a[3] = rows g+8,
 * columns 2t+8..; b[0] = rows 2t, 2t+1, column g; b[1] = rows 2t+8.., column g; d[0], d[1] = row
 * g, columns 2t, 2t+1; d[2], d[3] = row g+8. Two elements a register, the lower index in the low
 * half. */
template <typename A> __device__ void mma(float d[4], const uint32_t a[4], const uint32_t b[2]);
#ifndef TF_EMULATE
template <> __device__ inline void mma<bf16>(float d[4], const uint32_t a[4], const uint32_t b[2])
{
#if __CUDA_ARCH__ >= 800
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, "
                 "{%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
    __trap(); /* has_mma<bf16>() keeps away from here */
#endif
}
template <> __device__ inline void mma<half>(float d[4], const uint32_t a[4], const uint32_t b[2])
{
#if __CUDA_ARCH__ >= 800
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
                 "{%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else /* sm_75 has half of it: k in two steps of 8 */
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, "
                 "{%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(b[0]));
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, "
                 "{%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[2]), "r"(a[3]), "r"(b[1]));
#endif
}
#endif
/* Does the lane's device have mma() for A? Chosen by the host. */
template <typename A> bool has_mma(const struct tf_ctx *c);

/* ---- copies into shared memory ---- */

/* d (16 x 8) += a b over 32 columns by two mma(). a0 and a1 are of rows lane / 4 and 8 further of
 * a, b of column lane / 4 of b; a thread has eight neighbouring columns, 16 bytes, half of them for
 * each mma(): which column stands where in a sum is free to choose, if it is the same on both
 * sides. */
template <typename A>
__device__ static inline void multiply(float d[4], const uint4 &a0, const uint4 &a1, const uint4 &b)
{
    const uint32_t a[2][4] = {{a0.x, a1.x, a0.y, a1.y}, {a0.z, a1.z, a0.w, a1.w}},
                   k[2][2] = {{b.x, b.y}, {b.z, b.w}};
    mma<A>(d, a[0], k[0]);
    mma<A>(d, a[1], k[1]);
}

/* Asynchronous copies of 16 bytes from global to shared memory. copy() writes zeros where `there`
 * is false. commit() ends a group. wait<N>() waits for all groups but the last N; after it the
 * calling thread sees its own copies, and after a barrier also those of other threads. */
#ifndef TF_EMULATE
struct async_copies {
    __device__ void copy(uint4 *to, const uint4 *from, bool there)
    {
#if __CUDA_ARCH__ >= 800
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(
                         (uint32_t)__cvta_generic_to_shared(to)),
                     "l"(from), "r"(there ? 16 : 0)
                     : "memory");
#else
        *to = there ? *from : make_uint4(0, 0, 0, 0);
#endif
    }
    __device__ void commit()
    {
#if __CUDA_ARCH__ >= 800
        asm volatile("cp.async.commit_group;" ::: "memory");
#endif
    }
    template <int N> __device__ void wait()
    {
#if __CUDA_ARCH__ >= 800
        asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
#endif
    }
};
#endif

/* ---- the operations of a table (backend.h), by file; explicit instantiations for float, bf16 and
 * half stand at the end of each file ---- */

/* embed.cu, norm.cu, attention_fwd.cu, attention_bwd.cu, xent.cu, linear.cu, decode.cu */
template <typename A> struct tf_cuda_ops {
#define TF_CUDA_MEMBER(op) static tf_##op##_fn op;
    TF_ACT_OPS(TF_CUDA_MEMBER)
    TF_PACKED_OPS(TF_CUDA_MEMBER)
    TF_LISTED_OPS(TF_CUDA_MEMBER)
#undef TF_CUDA_MEMBER
};
/* At the end of the file that defines them: the operation for every precision. */
#define TF_CUDA_EVERY(op)                         \
    template tf_##op##_fn tf_cuda_ops<float>::op; \
    template tf_##op##_fn tf_cuda_ops<bf16>::op;  \
    template tf_##op##_fn tf_cuda_ops<half>::op;

/* plugin.cu, memory.cu, link.cu, rows.cu, update.cu, softmax.cu, search.cu: the same for every A */
#define TF_CUDA_OP(op) tf_##op##_fn tf_cuda_##op;
TF_LANE_OPS(TF_CUDA_OP)
TF_VALUE_OPS(TF_CUDA_OP)
#undef TF_CUDA_OP
struct tf_ctx *tf_cuda_open(size_t act, const char *precision, int place, struct tf_err *err);

/* ---- what memory.cu reports to files that use it ---- */

/* weights.cu: there was a write to p[0 .. n), which its shadow follows. adam writes the shadows
 * directly. */
void tf_cuda_wrote(struct tf_ctx *c, const tf_mem *p, size_t n);
/* weights.cu: an allocation of n PARAMs, or of so many bytes for WEIGHTs, and its end. */
void tf_cuda_weights_new(struct tf_ctx *c, tf_mem *p, size_t n);
void tf_cuda_narrow_new(struct tf_ctx *c, tf_mem *p, size_t bytes);
void tf_cuda_weights_gone(struct tf_ctx *c, tf_mem *p);
/* linear.cu: memory is freed; what it keeps beside it goes along. */
void tf_cuda_mask_gone(const tf_mem *y);

#endif
