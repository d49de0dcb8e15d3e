/* beside.cu - a second stream of a device. A product there begins when an event of the lane's
 * stream has come, and leaves one of its own, which everything that is queued on the lane's stream
 * later waits for: by default at once (tf_cuda_stream), and in an operation that says what it
 * writes (tf_cuda_writes) where that is read by the product. The stream is in order: an event is
 * also that of the products before it. In a graph the events are its edges. */
#include "blas_private.h"
#include "ops/cuda/beside_private.h"
#include "ops/cuda/graphs_private.h"

#include <utility>

namespace {

enum { MOST = 4 }; /* products at once that nobody has waited for */

struct second {
    cudaStream_t stream, lane; /* lane: what c->queue is meanwhile */
    void *workspace;
    cudaEvent_t mark, done[MOST];
    bool refused; /* there is no memory for it */
    struct {
        const char *x, *dy;
        size_t n, m;
        cudaEvent_t done;
    } open[MOST]; /* the oldest first */
    int n, turn; /* turn: of `done`, the event that is recorded next */
} seconds[TF_CUDA_PLACES];

} // namespace

void tf_cuda_beside_close(int place)
{
    struct second &b = seconds[place];
    if (b.stream != nullptr)
        cudaStreamDestroy(b.stream);
    for (cudaEvent_t e : {b.mark, b.done[0], b.done[1], b.done[2], b.done[3]})
        if (e != nullptr)
            cudaEventDestroy(e);
    cudaFree(b.workspace);
    b = {};
}

static bool make(struct second &b)
{
    bool made = cudaStreamCreateWithFlags(&b.stream, cudaStreamNonBlocking) == cudaSuccess &&
                tf_blas_workspace_new(&b.workspace) == cudaSuccess;
    for (cudaEvent_t *e : {&b.mark, &b.done[0], &b.done[1], &b.done[2], &b.done[3]})
        made = made && cudaEventCreateWithFlags(e, cudaEventDisableTiming) == cudaSuccess;
    return made;
}

/* Not where times are taken: two kernels at once would count twice. */
static bool is_there(struct tf_ctx *c)
{
    struct second &b = seconds[c->place];
    if (!tf_cuda_uses(TF_CUDA_BESIDE) || tf_cuda_timing() || tf_blas_tuning(c->blas)->measuring)
        return false;
    if (b.stream == nullptr && !b.refused && !tf_cuda_capturing(c) && !make(b)) {
        cudaGetLastError();
        tf_cuda_beside_close(c->place);
        b.refused = true;
    }
    return b.stream != nullptr;
}

/* The lane's stream waits for the first n that are open. */
static void wait_for(struct tf_ctx *c, int n)
{
    struct second &b = seconds[c->place];
    if (n == 0)
        return;
    tf_cuda_failed(c, cudaStreamWaitEvent(c->queue, b.open[n - 1].done, 0), "the second stream");
    for (int i = n; i < b.n; i++)
        b.open[i - n] = b.open[i];
    b.n -= n;
}

void tf_cuda_join(struct tf_ctx *c)
{
    wait_for(c, seconds[c->place].n);
}

tf_cuda_writes::tf_cuda_writes(struct tf_ctx *lane, std::initializer_list<const void *> written)
    : c(lane)
{
    const struct second &b = seconds[c->place];
    int n = 0;
    tf_cuda_catch_up(c);
    for (int i = 0; i < b.n; i++)
        for (const void *w : written) {
            const char *p = (const char *)w;
            if ((p >= b.open[i].x && p < b.open[i].x + b.open[i].n) ||
                (p >= b.open[i].dy && p < b.open[i].dy + b.open[i].m))
                n = i + 1;
        }
    tf_cuda_select(c);
    wait_for(c, n);
    c->beside = true;
}

tf_cuda_writes::~tf_cuda_writes()
{
    c->beside = false;
}

bool tf_cuda_beside_mark(struct tf_ctx *c)
{
    if (!is_there(c))
        return false;
    tf_cuda_failed(c, cudaEventRecord(seconds[c->place].mark, tf_cuda_stream(c)), "an event");
    return true;
}

void tf_cuda_beside_begin(struct tf_ctx *c)
{
    struct second &b = seconds[c->place];
    TF_ASSERT(c->beside);
    if (b.n == MOST)
        wait_for(c, 1);
    tf_cuda_failed(c, cudaStreamWaitEvent(b.stream, b.mark, 0), "the second stream");
    b.lane = c->queue;
    c->queue = b.stream;
    std::swap(c->workspace, b.workspace);
}

void tf_cuda_beside_end(struct tf_ctx *c, const void *x, size_t n, const void *dy, size_t m)
{
    struct second &b = seconds[c->place];
    cudaEvent_t done = b.done[b.turn];
    b.turn = (b.turn + 1) % MOST;
    tf_cuda_failed(c, cudaEventRecord(done, b.stream), "an event");
    std::swap(c->workspace, b.workspace);
    c->queue = b.lane;
    b.open[b.n++] = {(const char *)x, (const char *)dy, n, m, done};
}
