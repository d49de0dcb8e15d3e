/* memory.cu - device memory, and copies between host and device.
 *
 * Uploads go through a ring of pinned blocks. An event recorded after a block's last copy says when
 * it can be reused. */
#include "device_private.h"
#include "ops/cuda/graphs_private.h"
#include "ops/cuda/memory_private.h"

#include <stdio.h>

#include <map>

enum { BLOCKS = 4, BLOCK = 1 << 20 };
static constexpr size_t PART = BLOCK / 4; /* the most that is copied at once */

static struct {
    unsigned char *block[BLOCKS]; /* pinned */
    cudaEvent_t done[BLOCKS];
    int at;
    size_t used; /* bytes of block `at` */
} stagings[TF_CUDA_PLACES];

size_t tf_cuda_size(const struct tf_ctx *c, enum tf_elem e)
{
    if (e == TF_ELEM_ACT || e == TF_ELEM_WEIGHT)
        return c->act;
    return e == TF_ELEM_F64 ? sizeof(double) : sizeof(float);
}

void tf_cuda_failed(struct tf_ctx *c, cudaError_t e, const char *what)
{
    if (e == cudaSuccess)
        return;
    cudaGetLastError();
    if (c->err.status == 0)
        tf_fail(&c->err, "%s: %s", what, cudaGetErrorString(e));
}

int tf_cuda_report_error(struct tf_ctx *c, struct tf_err *err)
{
    if (c->err.status == 0)
        return 0;
    *err = c->err;
    c->err.status = 0;
    return -1;
}

/* The limit of a kernel only grows: a captured launch may need the larger one. */
bool tf_cuda_allow_shared(struct tf_ctx *c, const char *what, const void *kernel, size_t n)
{
    static std::map<const void *, size_t> allowed[TF_CUDA_PLACES];
    if (n <= 47 * 1024)
        return true;
    tf_cuda_select(c);
    size_t &had = allowed[c->place][kernel];
    if (n <= had)
        return true;
    if (n > c->shared) {
        if (c->err.status == 0)
            tf_fail(&c->err, "%s: %zu bytes of shared memory for these widths, the device has %zu",
                    what, n, c->shared);
        return false;
    }
    cudaError_t e =
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)n);
    if (e == cudaSuccess) {
        had = n;
        return true;
    }
    tf_cuda_failed(c, e, what);
    return false;
}

void *tf_cuda_scratch(struct tf_ctx *c, size_t n)
{
    tf_cuda_select(c);
    if (n > c->scratch_size || c->scratch == nullptr) {
        if (tf_cuda_capturing(c)) { /* a graph that was forgotten for want of memory comes again */
            tf_cuda_failed(c, cudaErrorMemoryAllocation, "scratch memory of a graph");
            return nullptr;
        }
        size_t size = n + n / 4 + 256; /* so that it does not grow with every batch */
        tf_cuda_graphs_forget(c);
        cudaFree(c->scratch); /* waits for who uses it */
        cudaError_t e = cudaMalloc(&c->scratch, size);
        if (e != cudaSuccess) {
            cudaGetLastError();
            e = cudaMalloc(&c->scratch, size = n);
        }
        c->scratch_size = e == cudaSuccess ? size : 0;
        if (e != cudaSuccess) {
            char what[64];
            snprintf(what, sizeof what, "%zu bytes of scratch memory on the device", n);
            tf_cuda_failed(c, e, what);
            return c->scratch = nullptr;
        }
    }
    return c->scratch;
}

cudaError_t tf_cuda_malloc(struct tf_ctx *c, void **p, size_t size)
{
    tf_cuda_select(c);
    cudaError_t e = cudaMalloc(p, size);
    if (e != cudaErrorMemoryAllocation || tf_cuda_capturing(c))
        return e;
    cudaGetLastError();
    tf_cuda_graphs_forget(c);
    return cudaMalloc(p, size);
}

tf_mem *tf_cuda_alloc(struct tf_ctx *c, enum tf_elem e, size_t n, struct tf_err *err)
{
    size_t size;
    void *p = nullptr;
    cudaError_t failed = __builtin_mul_overflow(n, tf_cuda_size(c, e), &size)
                             ? cudaErrorMemoryAllocation
                             : tf_cuda_malloc(c, &p, size > 0 ? size : 1);
    if (failed == cudaSuccess)
        failed = cudaMemsetAsync(p, 0, size, tf_cuda_stream(c));
    if (failed != cudaSuccess) {
        cudaGetLastError(); /* reported here: see tf_cuda_failed() */
        cudaFree(p);
        tf_fail(err, "no memory for %zu elements on the device: %s", n, cudaGetErrorString(failed));
        return nullptr;
    }
    if (e == TF_ELEM_PARAM)
        tf_cuda_weights_new(c, p, n);
    if (e == TF_ELEM_WEIGHT)
        tf_cuda_narrow_new(c, p, size);
    return p;
}

void tf_cuda_free(struct tf_ctx *c, tf_mem *p)
{
    if (p == nullptr)
        return;
    tf_cuda_stream(c); /* while what was put off has its memory */
    tf_cuda_graphs_forget(c);
    tf_cuda_weights_gone(c, p);
    tf_cuda_mask_gone(p);
    tf_cuda_failed(c, cudaFree(p), "free");
}

/* n bytes of the current block, or NULL when there is no pinned memory. */
static unsigned char *stage(struct tf_ctx *c, size_t n)
{
    auto &staging = stagings[c->place];
    tf_cuda_select(c);
    n = (n + 15) / 16 * 16;
    if (staging.block[staging.at] != nullptr && staging.used + n > BLOCK) {
        tf_cuda_failed(c, cudaEventRecord(staging.done[staging.at], tf_cuda_stream(c)), "upload");
        staging.at = (staging.at + 1) % BLOCKS;
        staging.used = 0;
        if (staging.block[staging.at] != nullptr)
            tf_cuda_failed(c, cudaEventSynchronize(staging.done[staging.at]), "upload");
    }
    int at = staging.at;
    if (staging.block[at] == nullptr) {
        void *p = nullptr;
        if (cudaMallocHost(&p, BLOCK) != cudaSuccess ||
            cudaEventCreateWithFlags(&staging.done[at], cudaEventDisableTiming) != cudaSuccess) {
            if (p != nullptr)
                cudaFreeHost(p);
            cudaGetLastError();
            return nullptr;
        }
        staging.block[at] = (unsigned char *)p;
    }
    unsigned char *p = staging.block[at] + staging.used;
    staging.used += n;
    return p;
}

void tf_cuda_send(struct tf_ctx *c, void *dst, const void *src, size_t n)
{
    TF_ASSERT(!tf_cuda_capturing(c));
    for (size_t at = 0, part; at < n; at += part) {
        part = n - at < PART ? n - at : PART;
        const void *from = (const char *)src + at;
        unsigned char *room = stage(c, part);
        if (room != nullptr)
            from = memcpy(room, from, part);
        tf_cuda_failed(c,
                       cudaMemcpyAsync((char *)dst + at, from, part, cudaMemcpyHostToDevice,
                                       tf_cuda_stream(c)),
                       "upload");
        if (room == nullptr) /* where pageable memory is not staged, it may be read later */
            tf_cuda_failed(c, cudaStreamSynchronize(tf_cuda_stream(c)), "upload");
    }
}

void tf_cuda_upload(struct tf_ctx *c, tf_mem *dst, enum tf_elem e, const void *src, size_t n)
{
    tf_cuda_send(c, dst, src, n * tf_cuda_size(c, e));
    if (e == TF_ELEM_PARAM)
        tf_cuda_wrote(c, dst, n);
}

int tf_cuda_download(struct tf_ctx *c, void *dst, enum tf_elem e, const tf_mem *src, size_t n,
                     struct tf_err *err)
{
    if (n > 0)
        tf_cuda_failed(c,
                       cudaMemcpyAsync(dst, src, n * tf_cuda_size(c, e), cudaMemcpyDeviceToHost,
                                       tf_cuda_stream(c)),
                       "download");
    return tf_cuda_sync(c, err);
}

/* What is on its way to the host, in a ring: into pinned memory, from which the answer copies it,
 * or without that straight to where it goes. Of training, on one device. */
static struct fetch {
    double *room; /* pinned [TF_ASYNC_DOWNLOAD_MAX] */
    double *dst;
    size_t n;
    cudaEvent_t done;
    bool made;
} fetches[TF_ASYNC_DOWNLOADS];
static unsigned first_fetch, open_fetches;

int tf_cuda_download_async(struct tf_ctx *c, double *dst, const tf_mem_f64 *src, size_t n,
                           struct tf_err *err)
{
    if (c->err.status != 0)
        return tf_cuda_report_error(c, err);
    TF_ASSERT(open_fetches < TF_ASYNC_DOWNLOADS && n <= TF_ASYNC_DOWNLOAD_MAX);
    struct fetch *f = &fetches[(first_fetch + open_fetches++) % TF_ASYNC_DOWNLOADS];
    if (!f->made) {
        void *room = nullptr;
        tf_cuda_failed(c, cudaEventCreateWithFlags(&f->done, cudaEventDisableTiming), "fetch");
        if (cudaMallocHost(&room, TF_ASYNC_DOWNLOAD_MAX * sizeof *dst) != cudaSuccess)
            cudaGetLastError();
        f->room = (double *)room;
        f->made = true;
    }
    f->dst = dst;
    f->n = n;
    tf_cuda_failed(c,
                   cudaMemcpyAsync(f->room != nullptr ? f->room : dst, src, n * sizeof *dst,
                                   cudaMemcpyDeviceToHost, tf_cuda_stream(c)),
                   "fetch");
    tf_cuda_failed(c, cudaEventRecord(f->done, tf_cuda_stream(c)), "fetch");
    return 0;
}

int tf_cuda_download_wait(struct tf_ctx *c, struct tf_err *err)
{
    TF_ASSERT(open_fetches > 0);
    struct fetch *f = &fetches[first_fetch];
    first_fetch = (first_fetch + 1) % TF_ASYNC_DOWNLOADS;
    open_fetches--;
    tf_cuda_failed(c, cudaEventSynchronize(f->done), "the device");
    if (f->room != nullptr)
        memcpy(f->dst, f->room, f->n * sizeof *f->dst);
    return tf_cuda_report_error(c, err);
}

size_t tf_cuda_free_memory(struct tf_ctx *c)
{
    size_t available = 0, total;
    tf_cuda_select(c);
    tf_cuda_failed(c, cudaMemGetInfo(&available, &total), "memory");
    return available;
}

void tf_cuda_zero(struct tf_ctx *c, tf_mem *p, enum tf_elem e, size_t n)
{
    if (n > 0)
        tf_cuda_failed(c, cudaMemsetAsync(p, 0, n * tf_cuda_size(c, e), tf_cuda_stream(c)), "zero");
    if (e == TF_ELEM_PARAM)
        tf_cuda_wrote(c, p, n);
}

void tf_cuda_copy(struct tf_ctx *c, tf_mem *dst, enum tf_elem e, const tf_mem *src, size_t n)
{
    if (n > 0)
        tf_cuda_failed(c,
                       cudaMemcpyAsync(dst, src, n * tf_cuda_size(c, e), cudaMemcpyDeviceToDevice,
                                       tf_cuda_stream(c)),
                       "copy");
    if (e == TF_ELEM_PARAM)
        tf_cuda_wrote(c, dst, n);
}

int tf_cuda_sync(struct tf_ctx *c, struct tf_err *err)
{
    tf_cuda_failed(c, cudaStreamSynchronize(tf_cuda_stream(c)), "the device");
    return tf_cuda_report_error(c, err);
}
