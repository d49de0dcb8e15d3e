/* times.cu - time of each operation on the device. With TF_CUDA_TIMES in the environment, a table
 * goes to stderr when the last lane of a device closes. */
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

struct account {
    std::vector<span> pending;
    std::map<std::string, sum> sums;
} accounts[TF_CUDA_PLACES];

} // namespace

static const bool on = getenv("TF_CUDA_TIMES") != nullptr;

bool tf_cuda_timing()
{
    return on;
}

static void fold(struct account &a, cudaStream_t s)
{
    cudaStreamSynchronize(s);
    for (const span &p : a.pending) {
        sum &to = a.sums[p.what];
        to.ms += between(p.from, p.to);
        to.n++;
    }
    a.pending.clear();
}

tf_cuda_timed::tf_cuda_timed(struct tf_ctx *c, const char *what)
    : stream(tf_cuda_stream(c)), place(c->place), open(on)
{
    if (open)
        accounts[place].pending.push_back({what, mark_new(stream), mark()});
}

tf_cuda_timed::~tf_cuda_timed()
{
    if (!open)
        return;
    struct account &a = accounts[place];
    a.pending.back().to = mark_new(stream);
    if (a.pending.size() == PENDING)
        fold(a, stream);
}

void tf_cuda_times_show(struct tf_ctx *c)
{
    if (!on)
        return;
    struct account &of = accounts[c->place];
    fold(of, tf_cuda_stream(c));
    std::vector<std::pair<std::string, sum>> all(of.sums.begin(), of.sums.end());
    std::sort(all.begin(), all.end(),
              [](const auto &a, const auto &b) { return a.second.ms > b.second.ms; });
    for (const auto &a : all)
        fprintf(stderr, "cuda: %10.3f ms %8zu  %s\n", a.second.ms, a.second.n, a.first.c_str());
    of.sums.clear();
}
