/* graphs.cu - sequences of launches that come again with the same arguments, queued as one CUDA
 * graph: for decoding a few sentences and for training on small batches, where launching should
 * take longer than the work (about 80 launches a step of decoding; not measured yet).
 *
 * A sequence is made plainly when its key is seen for the first time, which reserves memory, loads
 * kernels and chooses algorithms; recorded at the second time; and from then on replayed. Graphs
 * hold addresses, so whoever frees device memory drops them all. */
#include "device.h"

#include <string>
#include <unordered_map>

namespace {

enum { MOST = 64 }; /* keys kept */

struct sequence {
    bool seen;
    cudaGraphExec_t exec; /* or NULL */
};

std::unordered_map<std::string, struct sequence> sequences;
struct sequence *recording;
bool refused; /* this device or driver does not record */
bool clean;   /* no failure was noted before the recording */

} // namespace

void tf_cuda_graphs_forget(struct tf_ctx *c)
{
    TF_ASSERT(recording == nullptr);
    for (auto &s : sequences)
        if (s.second.exec != nullptr) {
            tf_cuda_failed(c, cudaStreamSynchronize(tf_cuda_stream(c)), "the device");
            cudaGraphExecDestroy(s.second.exec);
        }
    sequences.clear();
}

bool tf_cuda_graph_begin(struct tf_ctx *c, const void *key, size_t n)
{
    if (refused || tf_cuda_timing())
        return false;
    std::string name((const char *)key, n);
    if (sequences.size() >= MOST && sequences.find(name) == sequences.end())
        tf_cuda_graphs_forget(c);
    struct sequence &s = sequences[name];
    if (s.exec != nullptr) {
        tf_cuda_failed(c, cudaGraphLaunch(s.exec, tf_cuda_stream(c)), "graph");
        return true;
    }
    if (s.seen) {
        if (cudaStreamBeginCapture(tf_cuda_stream(c), cudaStreamCaptureModeRelaxed) == cudaSuccess)
            recording = &s, clean = c->err.status == 0;
        else
            cudaGetLastError();
    }
    s.seen = true;
    return false;
}

bool tf_cuda_graph_end(struct tf_ctx *c)
{
    if (recording == nullptr)
        return true;
    cudaGraph_t graph = nullptr;
    cudaError_t e = cudaStreamEndCapture(tf_cuda_stream(c), &graph);
    if (e == cudaSuccess)
        e = cudaGraphInstantiate(&recording->exec, graph, 0);
    if (graph != nullptr)
        cudaGraphDestroy(graph);
    if (e == cudaSuccess) {
        tf_cuda_failed(c, cudaGraphLaunch(recording->exec, tf_cuda_stream(c)), "graph");
    } else { /* nothing has run */
        cudaGetLastError();
        recording->exec = nullptr;
        if (clean)
            c->err.status = 0;
        refused = true;
    }
    recording = nullptr;
    return e == cudaSuccess;
}
