/* graphs.cu - sequences of launches that come again with the same arguments, queued as one CUDA
 * graph: for decoding a few sentences and for training on small batches, where launching takes
 * longer than the work (estimated, not measured).
 *
 * A sequence is launched plainly when its key is seen for the first time, which reserves memory,
 * loads kernels and chooses algorithms; captured the second time; and replayed from then on. The
 * graphs of the MOST keys used last are kept. Graphs hold addresses, so freeing device memory drops
 * them all. They also take device memory themselves, and so give way where there is none left. */
#include "device_private.h"
#include "ops/cuda/graphs_private.h"

#include <list>
#include <string>
#include <unordered_map>
#include <unordered_set>

namespace {

enum {
    MOST = 512,
    MOST_SEEN = 8192, /* keys that were seen once: each is only its bytes */
};

struct sequence {
    std::string key;
    cudaGraphExec_t exec;
};

struct recorder {
    std::list<struct sequence> sequences; /* the one used last comes first */
    std::unordered_map<std::string, std::list<struct sequence>::iterator> by_key;
    std::unordered_set<std::string> seen; /* once */
    bool capturing;
    std::string captured; /* its key */
    bool refused; /* this device or driver does not capture */
    bool clean;   /* no failure was noted before the capture */
} recorders[TF_CUDA_PLACES];

} // namespace

static void destroy(struct tf_ctx *c, struct sequence &s)
{
    tf_cuda_failed(c, cudaStreamSynchronize(tf_cuda_stream(c)), "the device");
    cudaGraphExecDestroy(s.exec);
}

void tf_cuda_graphs_forget(struct tf_ctx *c)
{
    struct recorder &r = recorders[c->place];
    TF_ASSERT(!r.capturing);
    for (struct sequence &s : r.sequences)
        destroy(c, s);
    r.sequences.clear();
    r.by_key.clear();
    r.seen.clear();
}

bool tf_cuda_capturing(const struct tf_ctx *c)
{
    return recorders[c->place].capturing;
}

/* Was this key seen before, and not replayed? */
static bool seen_before(struct recorder &r, const std::string &key)
{
    if (r.seen.erase(key) > 0)
        return true;
    if (r.seen.size() >= MOST_SEEN)
        r.seen.clear();
    r.seen.insert(key);
    return false;
}

static void keep(struct tf_ctx *c, const std::string &key, cudaGraphExec_t exec)
{
    struct recorder &r = recorders[c->place];
    if (r.sequences.size() >= MOST) {
        destroy(c, r.sequences.back());
        r.by_key.erase(r.sequences.back().key);
        r.sequences.pop_back();
    }
    r.sequences.push_front({key, exec});
    r.by_key[key] = r.sequences.begin();
}

/* Capturing failed: launch plainly from now on, and say so once. */
static void refuse(struct recorder &r, cudaError_t e)
{
    cudaGetLastError();
    if (!r.refused)
        tf_cuda_report("capturing a graph: %s; kernels are launched one by one",
                       cudaGetErrorString(e));
    r.refused = true;
}

bool tf_cuda_graph_begin(struct tf_ctx *c, const void *key, size_t n)
{
    struct recorder &r = recorders[c->place];
    if (r.refused || tf_cuda_timing() || !tf_cuda_uses(TF_CUDA_GRAPHS))
        return false;
    std::string name((const char *)key, n);
    auto known = r.by_key.find(name);
    if (known != r.by_key.end()) {
        r.sequences.splice(r.sequences.begin(), r.sequences, known->second);
        tf_cuda_failed(c, cudaGraphLaunch(known->second->exec, tf_cuda_stream(c)), "graph");
        return true;
    }
    if (seen_before(r, name)) {
        cudaError_t e = cudaStreamBeginCapture(tf_cuda_stream(c), cudaStreamCaptureModeRelaxed);
        if (e == cudaSuccess)
            r.capturing = true, r.captured = name, r.clean = c->err.status == 0;
        else
            refuse(r, e);
    }
    return false;
}

/* Without memory for a graph, try again without all others. Where that does not help, the key
 * counts as one that was never seen, so that the caller's next try is a plain one. */
static cudaError_t instantiate(struct tf_ctx *c, cudaGraphExec_t *exec, cudaGraph_t graph)
{
    cudaError_t e = cudaGraphInstantiate(exec, graph, 0);
    if (e != cudaErrorMemoryAllocation)
        return e;
    cudaGetLastError();
    tf_cuda_graphs_forget(c);
    return cudaGraphInstantiate(exec, graph, 0);
}

bool tf_cuda_graph_end(struct tf_ctx *c)
{
    struct recorder &r = recorders[c->place];
    if (!r.capturing)
        return true;
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    cudaError_t e = cudaStreamEndCapture(tf_cuda_stream(c), &graph);
    r.capturing = false;
    if (e == cudaSuccess)
        e = instantiate(c, &exec, graph);
    if (graph != nullptr)
        cudaGraphDestroy(graph);
    if (e == cudaSuccess) {
        keep(c, r.captured, exec);
        tf_cuda_failed(c, cudaGraphLaunch(exec, tf_cuda_stream(c)), "graph");
        return true;
    }
    /* Nothing has run. */
    if (r.clean)
        c->err.status = 0;
    if (e == cudaErrorMemoryAllocation)
        cudaGetLastError();
    else
        refuse(r, e);
    return false;
}
