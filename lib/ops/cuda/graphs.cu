/* graphs.cu - sequences of launches that come again with the same arguments, queued as one CUDA
 * graph: for decoding a few sentences and for training on small batches, where launching takes
 * longer than the work (estimated, not measured).
 *
 * A sequence is launched plainly when its key is seen for the first time, which reserves memory,
 * loads kernels and chooses algorithms; captured the second time; and replayed from then on. The
 * MOST keys used last are kept. Graphs hold addresses, so freeing device memory drops them all. */
#include "device.h"

#include <list>
#include <string>
#include <unordered_map>

namespace {

enum { MOST = 512 };

struct sequence {
    std::string key;
    cudaGraphExec_t exec; /* or NULL: seen once */
};

std::list<struct sequence> sequences; /* the one used last comes first */
std::unordered_map<std::string, std::list<struct sequence>::iterator> by_key;
struct sequence *capturing;
bool refused; /* this device or driver does not capture */
bool clean;   /* no failure was noted before the capture */

} // namespace

static void destroy(struct tf_ctx *c, struct sequence &s)
{
    if (s.exec == nullptr)
        return;
    tf_cuda_failed(c, cudaStreamSynchronize(tf_cuda_stream(c)), "the device");
    cudaGraphExecDestroy(s.exec);
}

void tf_cuda_graphs_forget(struct tf_ctx *c)
{
    TF_ASSERT(capturing == nullptr);
    for (struct sequence &s : sequences)
        destroy(c, s);
    sequences.clear();
    by_key.clear();
}

bool tf_cuda_capturing()
{
    return capturing != nullptr;
}

/* The sequence of a key, moved to the front. *known: it was there before. */
static struct sequence &sequence_of(struct tf_ctx *c, const std::string &key, bool *known)
{
    auto i = by_key.find(key);
    *known = i != by_key.end();
    if (*known) {
        sequences.splice(sequences.begin(), sequences, i->second);
        return sequences.front();
    }
    if (sequences.size() >= MOST) {
        destroy(c, sequences.back());
        by_key.erase(sequences.back().key);
        sequences.pop_back();
    }
    sequences.push_front({key, nullptr});
    by_key[key] = sequences.begin();
    return sequences.front();
}

/* Capturing failed: launch plainly from now on, and say so once. */
static void refuse(cudaError_t e)
{
    cudaGetLastError();
    if (!refused)
        tf_cuda_report("capturing a graph: %s; kernels are launched one by one",
                       cudaGetErrorString(e));
    refused = true;
}

bool tf_cuda_graph_begin(struct tf_ctx *c, const void *key, size_t n)
{
    bool known;
    if (refused || tf_cuda_timing() || !tf_cuda_uses(TF_CUDA_GRAPHS))
        return false;
    struct sequence &s = sequence_of(c, std::string((const char *)key, n), &known);
    if (s.exec != nullptr) {
        tf_cuda_failed(c, cudaGraphLaunch(s.exec, tf_cuda_stream(c)), "graph");
        return true;
    }
    if (known) {
        cudaError_t e = cudaStreamBeginCapture(tf_cuda_stream(c), cudaStreamCaptureModeRelaxed);
        if (e == cudaSuccess)
            capturing = &s, clean = c->err.status == 0;
        else
            refuse(e);
    }
    return false;
}

bool tf_cuda_graph_end(struct tf_ctx *c)
{
    if (capturing == nullptr)
        return true;
    cudaGraph_t graph = nullptr;
    cudaError_t e = cudaStreamEndCapture(tf_cuda_stream(c), &graph);
    if (e == cudaSuccess)
        e = cudaGraphInstantiate(&capturing->exec, graph, 0);
    if (graph != nullptr)
        cudaGraphDestroy(graph);
    if (e == cudaSuccess) {
        tf_cuda_failed(c, cudaGraphLaunch(capturing->exec, tf_cuda_stream(c)), "graph");
    } else { /* nothing has run */
        capturing->exec = nullptr;
        if (clean)
            c->err.status = 0;
        refuse(e);
    }
    capturing = nullptr;
    return e == cudaSuccess;
}
