/* streams.cc - streams that run when somebody waits, graphs and events. */
#include "emulate_private.h"

#include <atomic>
#include <cstdlib>
#include <deque>
#include <set>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

typedef std::function<bool()> work; /* false: not done yet */
struct emulate_graph {
    std::vector<work> list;
};
struct emulate_stream {
    std::deque<work> queue;
    emulate_graph *capture;
    int device;
};
struct emulate_event {
    emulate_stream *stream; /* recorded last on */
    int device;
};

namespace {

/* Devices where the kernel named by TF_EMULATE_FAULT was reached. */
std::set<int> faulted;

std::vector<emulate_stream *> streams;
size_t graphs_launched, graphs_made, graphs_kept;

/* Is there no memory besides that of graphs? */
bool full_of_graphs()
{
    const char *most = getenv("TF_EMULATE_GRAPHS");
    return most != nullptr && graphs_kept >= strtoull(most, nullptr, 10);
}

/* As far as possible without waiting: is it done? */
bool advance(emulate_stream *s)
{
    while (!s->queue.empty()) {
        emulate::enter(s->device);
        work w = std::move(s->queue.front());
        s->queue.pop_front();
        if (!w()) {
            s->queue.push_front(std::move(w));
            return false;
        }
    }
    return true;
}

void flush(emulate_stream *s)
{
    while (!advance(s))
        usleep(50);
}

} // namespace

namespace emulate {

bool capturing()
{
    for (emulate_stream *s : streams)
        if (s->capture != nullptr && s->device == device())
            return true;
    return false;
}

void flush_all()
{
    for (emulate_stream *s : streams)
        flush(s);
}

bool graphs_fill_memory()
{
    return graphs_kept > 0 && full_of_graphs();
}

void enqueue_waiting(cudaStream_t s, std::function<bool()> run)
{
    guard alone;
    if (s->device != device())
        stop("stream", "of another device than the thread's");
    if (s->capture != nullptr)
        s->capture->list.push_back(std::move(run));
    else
        s->queue.push_back(std::move(run));
}

void enqueue(cudaStream_t s, std::function<void()> run)
{
    enqueue_waiting(s, [run = std::move(run)] {
        run();
        return true;
    });
}

void launch(cudaStream_t s, const char *name, const void *kernel, dim3 grid, dim3 block,
            size_t shared, std::function<void()> thread, bool early)
{
    if ((uint64_t)block.x * block.y * block.z > MAX_THREADS || block.z > 64)
        stop(name, "too many threads in a block");
    if (grid.y > 65535 || grid.z > 65535 || grid.x > 0x7fffffff)
        stop(name, "too many blocks");
    if (shared > allowed_shared(kernel))
        stop(name, std::to_string(shared) + " bytes of shared memory were not allowed");
    static std::atomic<long> reached;
    const char *fault = getenv("TF_EMULATE_FAULT"), *after = getenv("TF_EMULATE_FAULT_AFTER");
    if (fault != nullptr && is_faulty(s->device) && strncmp(name, fault, strlen(fault)) == 0 &&
        reached++ >= (after != nullptr ? atol(after) : 0)) {
        enqueue(s, [device = s->device] { faulted.insert(device); });
        return;
    }
    enqueue(s, [name, grid, block, shared, early, thread = std::move(thread)] {
        run_kernel(name, grid, block, shared, early, thread);
    });
}

} // namespace emulate

cudaError_t cudaMemcpyAsync(void *dst, const void *src, size_t n, cudaMemcpyKind kind,
                            cudaStream_t s)
{
    emulate::guard alone;
    bool host = (kind == cudaMemcpyHostToDevice && !emulate::is_pinned(src)) ||
                (kind == cudaMemcpyDeviceToHost && !emulate::is_pinned(dst));
    /* CUDA captures copies from pinned memory, but a replay reads whatever is there by then. */
    if (s->capture != nullptr && (host || kind == cudaMemcpyHostToDevice))
        return emulate::noted(cudaErrorStreamCaptureUnsupported);
    emulate::enqueue(s, [=] { memmove(dst, src, n); });
    if (host)
        flush(s);
    return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void *p, int byte, size_t n, cudaStream_t s)
{
    emulate::enqueue(s, [=] {
        char *a = (char *)(((uintptr_t)p + 4095) / 4096 * 4096),
             *b = (char *)(((uintptr_t)p + n) / 4096 * 4096);
        if (emulate::sample() == 0 || byte != 0 || b <= a) {
            memset(p, byte, n);
            return;
        }
        memset(p, 0, (size_t)(a - (char *)p));
        if (madvise(a, (size_t)(b - a), MADV_DONTNEED) != 0)
            memset(a, 0, (size_t)(b - a));
        memset(b, 0, (size_t)((char *)p + n - b));
    });
    return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *s, unsigned)
{
    emulate::guard alone;
    *s = new emulate_stream();
    (*s)->device = emulate::device();
    streams.push_back(*s);
    return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t s)
{
    emulate::guard alone;
    if (getenv("TF_EMULATE_TELL") != nullptr) {
        fprintf(stderr, "emulate: %zu graphs launched of %zu\n", graphs_launched, graphs_made);
        emulate::tell_memory();
    }
    flush(s);
    std::erase(streams, s);
    delete s;
    return cudaSuccess;
}

static cudaError_t state_of(int device)
{
    return emulate::noted(faulted.count(device) > 0 ? cudaErrorLaunchFailure : cudaSuccess);
}

cudaError_t cudaStreamSynchronize(cudaStream_t s)
{
    emulate::guard alone;
    if (s->capture != nullptr)
        return emulate::noted(cudaErrorStreamCaptureUnsupported);
    flush(s);
    return state_of(s->device);
}

cudaError_t cudaStreamQuery(cudaStream_t s)
{
    emulate::guard alone;
    if (s->capture != nullptr)
        return emulate::noted(cudaErrorStreamCaptureUnsupported);
    return !advance(s) ? emulate::noted(cudaErrorNotReady) : state_of(s->device);
}

cudaError_t cudaStreamBeginCapture(cudaStream_t s, cudaStreamCaptureMode)
{
    emulate::guard alone;
    if (s->capture != nullptr)
        return emulate::noted(cudaErrorStreamCaptureUnsupported);
    s->capture = new emulate_graph();
    return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t s, cudaGraph_t *g)
{
    emulate::guard alone;
    *g = s->capture;
    s->capture = nullptr;
    if (getenv("TF_EMULATE_NO_GRAPHS") != nullptr) {
        delete *g;
        *g = nullptr;
    }
    return emulate::noted(*g != nullptr ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *x, cudaGraph_t g, unsigned long long)
{
    emulate::guard alone;
    if (full_of_graphs())
        return emulate::noted(cudaErrorMemoryAllocation);
    *x = new emulate_graph(*g);
    graphs_made++;
    graphs_kept++;
    return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t x, cudaStream_t s)
{
    emulate::guard alone;
    graphs_launched++;
    for (const work &w : x->list)
        s->queue.push_back(w);
    return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t g)
{
    delete g;
    return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t x)
{
    emulate::guard alone;
    delete x;
    graphs_kept--;
    return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *e, unsigned)
{
    *e = new emulate_event{nullptr, emulate::device()};
    return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t *e)
{
    return cudaEventCreateWithFlags(e, 0);
}

cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t, cudaEvent_t)
{
    *ms = 1;
    return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t e)
{
    delete e;
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t s)
{
    if (e->device != s->device)
        emulate::stop("event", "of another device than the stream's");
    e->stream = s;
    return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t e)
{
    emulate::guard alone;
    for (emulate_stream *s : streams) /* a stream that is gone has done all of its work */
        if (s == e->stream)
            flush(s);
    return state_of(e->device);
}
