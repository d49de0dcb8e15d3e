/* streams.cc - streams that run when somebody waits, graphs and events. */
#include "emulate_private.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <deque>
#include <memory>
#include <set>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

typedef std::function<bool()> work; /* false: not done yet */
/* What a replay does in order on the stream that it is launched on. Work of another stream that was
 * captured with it is queued on that one's `inside` when its turn comes: a replay is not in order
 * with what is queued on the other stream itself. */
struct emulate_graph {
    emulate_stream *origin;
    std::vector<work> list;
};
struct emulate_stream {
    std::deque<work> queue;
    size_t queued, done; /* pieces of work, from the beginning */
    emulate_graph *capture;
    size_t captured, joined; /* into it; of these, those that the graph's stream waits for */
    int device;
    bool second; /* there was one of this device before */
    emulate_stream *inside; /* does this one's part of replays; NULL before the first */
};
struct emulate_event {
    emulate_stream *stream; /* recorded last on */
    int device;
    emulate_graph *capture; /* in this graph; else NULL */
    size_t captured;        /* into it by then */
    /* of the stream's work, what was queued by then; in a graph at the replay's turn */
    std::shared_ptr<size_t> queued;
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

/* As far as possible without waiting, up to so much of the stream's work: is it done? */
bool advance(emulate_stream *s, size_t to = SIZE_MAX)
{
    while (!s->queue.empty() && s->done < to) {
        emulate::enter(s->device);
        work w = std::move(s->queue.front());
        s->queue.pop_front();
        if (!w()) {
            s->queue.push_front(std::move(w));
            return false;
        }
        s->done++;
    }
    return true;
}

/* Up to where an event was recorded. A stream that is gone has done all of its work. */
bool reach(emulate_stream *s, const size_t *queued)
{
    return std::find(streams.begin(), streams.end(), s) == streams.end() || advance(s, *queued);
}

void flush(emulate_stream *s)
{
    while (!advance(s))
        usleep(50);
}

emulate_stream *new_stream(int device)
{
    emulate_stream *s = new emulate_stream();
    s->device = device;
    for (const emulate_stream *other : streams)
        s->second = s->second || other->device == device;
    streams.push_back(s);
    return s;
}

emulate_stream *inside(emulate_stream *s)
{
    if (s->inside == nullptr)
        s->inside = new_stream(s->device);
    return s->inside;
}

void destroy(emulate_stream *s)
{
    flush(s);
    std::erase(streams, s);
    delete s;
}

/* A second stream is as late as the first, or with TF_EMULATE_ORDER=reverse as early as allowed. */
void push(emulate_stream *s, work run)
{
    static const char *const order = getenv("TF_EMULATE_ORDER");
    s->queue.push_back(std::move(run));
    s->queued++;
    if (s->second && order != nullptr && strcmp(order, "reverse") == 0)
        advance(s);
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
    if (s->capture == nullptr) {
        push(s, std::move(run));
        return;
    }
    s->captured++;
    if (s->capture->origin != s)
        run = [s = inside(s), run = std::move(run)] {
            push(s, run);
            return true;
        };
    s->capture->list.push_back(std::move(run));
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
    *s = new_stream(emulate::device());
    return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t s)
{
    emulate::guard alone;
    if (getenv("TF_EMULATE_TELL") != nullptr && !s->second) {
        fprintf(stderr, "emulate: %zu graphs launched of %zu\n", graphs_launched, graphs_made);
        emulate::tell_memory();
    }
    if (s->inside != nullptr)
        destroy(s->inside);
    destroy(s);
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
    s->capture = new emulate_graph{s, {}};
    return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t s, cudaGraph_t *g)
{
    emulate::guard alone;
    *g = s->capture;
    for (emulate_stream *other : streams)
        if (other->capture == *g && other != s) {
            if (other->joined < other->captured)
                emulate::stop("graph", "a stream that it does not wait for at its end");
            other->capture = nullptr;
            other->captured = other->joined = 0;
        }
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
    if (x->origin != s)
        emulate::stop("graph", "of another stream than it was captured on");
    for (const work &w : x->list)
        push(s, w);
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
    *e = new emulate_event{nullptr, emulate::device(), nullptr, 0, {}};
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
    emulate::guard alone;
    if (e->device != s->device)
        emulate::stop("event", "of another device than the stream's");
    e->stream = s;
    e->capture = s->capture;
    e->captured = s->captured;
    e->queued = std::make_shared<size_t>(s->queued);
    if (s->capture != nullptr && s->capture->origin != s)
        s->capture->list.push_back([s = inside(s), queued = e->queued] {
            *queued = s->queued;
            return true;
        });
    return cudaSuccess;
}

/* TF_EMULATE_UNORDERED: is it this call's turn? */
static bool is_left_out()
{
    static long calls;
    const char *left_out = getenv("TF_EMULATE_UNORDERED");
    calls = left_out != nullptr ? calls + 1 : 0;
    return left_out != nullptr && calls == atol(left_out);
}

cudaError_t cudaStreamWaitEvent(cudaStream_t s, cudaEvent_t e, unsigned)
{
    emulate::guard alone;
    if (e->device != s->device)
        emulate::stop("event", "of another device than the stream's");
    if (s->capture == nullptr && e->capture != nullptr) /* which it is captured into from now on */
        s->capture = e->capture;
    if (s->capture != e->capture)
        emulate::stop("graph", "a wait for an event that is not in it");
    if (s->capture != nullptr && s->capture->origin == s)
        e->stream->joined = e->captured;
    /* All that a graph's stream did before is done when work of others has its turn. */
    if (!is_left_out() && (e->capture == nullptr || e->capture->origin != e->stream))
        emulate::enqueue_waiting(
            s, [from = e->capture != nullptr ? inside(e->stream) : e->stream, queued = e->queued] {
                return reach(from, queued.get());
            });
    return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t e)
{
    emulate::guard alone;
    while (e->stream != nullptr && !reach(e->stream, e->queued.get()))
        usleep(50);
    return state_of(e->device);
}
