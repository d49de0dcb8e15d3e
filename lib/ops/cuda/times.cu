/* times.cu - time of each operation on the device. With TF_CUDA_TIMES in the environment, a table
 * goes to stderr when the last lane closes. */
#include "device_private.h"

#include <stdio.h>
#include <stdlib.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

/* ---- marks in the stream ---- */

#ifdef TF_EMULATE

#include <time.h>

typedef double *mark;

static mark mark_new(cudaStream_t s)
{
    mark m = new double(0);
    emulate::enqueue(s, [m] {
        struct timespec t;
        clock_gettime(CLOCK_MONOTONIC, &t);
        *m = (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
    });
    return m;
}

/* Milliseconds, once the stream has come to rest. */
static double between(mark a, mark b)
{
    double ms = *b - *a;
    delete a;
    delete b;
    return ms;
}

#else

typedef cudaEvent_t mark;

static mark mark_new(cudaStream_t s)
{
    mark m = nullptr;
    if (cudaEventCreate(&m) == cudaSuccess)
        cudaEventRecord(m, s);
    return m;
}

static double between(mark a, mark b)
{
    float ms = 0;
    cudaEventElapsedTime(&ms, a, b);
    cudaEventDestroy(a);
    cudaEventDestroy(b);
    return ms;
}

#endif

/* ---- the account ---- */

namespace {

enum { PENDING = 4096 };

struct span {
    std::string what;
    mark from, to;
};
struct sum {
    double ms;
    size_t n;
};

std::vector<span> pending;
std::map<std::string, sum> sums;

} // namespace

static const bool on = getenv("TF_CUDA_TIMES") != nullptr;

bool tf_cuda_timing()
{
    return on;
}

static void fold(cudaStream_t s)
{
    cudaStreamSynchronize(s);
    for (const span &p : pending) {
        sum &to = sums[p.what];
        to.ms += between(p.from, p.to);
        to.n++;
    }
    pending.clear();
}

tf_cuda_timed::tf_cuda_timed(struct tf_ctx *c, const char *what)
    : stream(tf_cuda_stream(c)), open(on)
{
    if (open)
        pending.push_back({what, mark_new(stream), mark()});
}

tf_cuda_timed::~tf_cuda_timed()
{
    if (!open)
        return;
    pending.back().to = mark_new(stream);
    if (pending.size() == PENDING)
        fold(stream);
}

void tf_cuda_times_show(cudaStream_t s)
{
    if (!on)
        return;
    fold(s);
    std::vector<std::pair<std::string, sum>> all(sums.begin(), sums.end());
    std::sort(all.begin(), all.end(),
              [](const auto &a, const auto &b) { return a.second.ms > b.second.ms; });
    for (const auto &a : all)
        fprintf(stderr, "cuda: %10.3f ms %8zu  %s\n", a.second.ms, a.second.n, a.first.c_str());
    sums.clear();
}
