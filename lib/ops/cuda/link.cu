/* link.cu - device memory from process to process, by NCCL. Only its send and receive: the order in
 * which its collectives add is its own choice, and results must not depend on that.
 *
 * The library is loaded when ranks are linked. What is declared here is of its interface since
 * release 2.7, which has ncclSend; https://docs.nvidia.com/deeplearning/nccl/user-guide */
#include "device_private.h"
#include "ops/cuda/memory_private.h"
#include "ops/cuda/weights_private.h"

#include <dlfcn.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

extern "C" {
typedef struct ncclComm *ncclComm_t;
struct nccl_id {
    unsigned char bytes[128];
};
}
enum { NCCL_SUCCESS = 0, NCCL_IN_PROGRESS = 7, NCCL_UINT8 = 1 };

#define NCCL_FUNCTIONS(F)                                                      \
    F(GetVersion, int, (int *))                                                \
    F(GetErrorString, const char *, (int))                                     \
    F(GetUniqueId, int, (struct nccl_id *))                                    \
    F(CommInitRank, int, (ncclComm_t *, int ranks, struct nccl_id, int rank))  \
    F(CommDestroy, int, (ncclComm_t))                                          \
    F(CommAbort, int, (ncclComm_t))                                            \
    F(CommGetAsyncError, int, (ncclComm_t, int *))                             \
    F(GroupStart, int, (void))                                                 \
    F(GroupEnd, int, (void))                                                   \
    F(Send, int, (const void *, size_t, int type, int peer, ncclComm_t, cudaStream_t)) \
    F(Recv, int, (void *, size_t, int type, int peer, ncclComm_t, cudaStream_t))

static struct {
    bool loaded;
#define FIELD(name, type, arguments) type(*name) arguments;
    NCCL_FUNCTIONS(FIELD)
#undef FIELD
} nccl;
static ncclComm_t ranks_linked; /* or NULL */
static bool refused; /* by the library, since they were linked */

#ifdef TF_EMULATE
#include "nccl.h"
#else
static void *open_library()
{
    return dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
}
#define find_symbol dlsym
#endif

static int load(struct tf_err *err)
{
    if (nccl.loaded)
        return 0;
    /* Only the calls of a blocking link have done their work when they return. */
    setenv("NCCL_COMM_BLOCKING", "1", 1);
    void *lib = open_library();
    if (lib == nullptr)
        return tf_fail(err, "NCCL is not installed (libnccl.so.2)");
#define LOAD(name, type, arguments)                                                     \
    if ((nccl.name = (type(*) arguments)find_symbol(lib, "nccl" #name)) == nullptr)     \
        return tf_fail(err, "NCCL is too old, or damaged: there is no nccl" #name);
    NCCL_FUNCTIONS(LOAD)
#undef LOAD
    nccl.loaded = true;
    return 0;
}

int tf_cuda_link_info(struct tf_ctx *c, struct tf_link_info *info, bool make, struct tf_err *err)
{
    int device, version = 0, rc;
    struct nccl_id id;
    static_assert(sizeof id == sizeof info->id, "an id travels as its bytes");
    *info = {};
    if (!tf_cuda_uses(TF_CUDA_NCCL))
        return tf_fail(err, "TF_CUDA_WITHOUT has nccl");
    if (load(err) != 0)
        return -1;
    tf_cuda_select(c);
    cudaError_t e = cudaGetDevice(&device);
    if (e == cudaSuccess)
        e = cudaDeviceGetPCIBusId(info->device, sizeof info->device, device);
    if (e != cudaSuccess) {
        cudaGetLastError();
        return tf_fail(err, "%s", cudaGetErrorString(e));
    }
    if ((rc = nccl.GetVersion(&version)) == NCCL_SUCCESS && make)
        rc = nccl.GetUniqueId(&id);
    if (rc != NCCL_SUCCESS)
        return tf_fail(err, "NCCL: %s", nccl.GetErrorString(rc));
    const int of_major = version < 10000 ? 1000 : 10000; /* from 2.9 on the latter */
    snprintf(info->library, sizeof info->library, "NCCL %d.%d.%d", version / of_major,
             version % of_major / 100, version % 100);
    if (make)
        memcpy(info->id, id.bytes, sizeof info->id);
    return 0;
}

int tf_cuda_link_open(struct tf_ctx *, const struct tf_link_info *info, int rank, int ranks,
                      struct tf_err *err)
{
    struct nccl_id id;
    memcpy(id.bytes, info->id, sizeof id.bytes);
    TF_ASSERT(nccl.loaded && ranks_linked == nullptr);
    refused = false;
    int rc = nccl.CommInitRank(&ranks_linked, ranks, id, rank);
    if (rc == NCCL_SUCCESS)
        return 0;
    ranks_linked = nullptr;
    return tf_fail(err, "NCCL: %s (NCCL_DEBUG=WARN prints the reason, TF_CUDA_WITHOUT=nccl goes "
                   "through host memory)", nccl.GetErrorString(rc));
}

void tf_cuda_link_close(struct tf_ctx *, bool stop)
{
    if (ranks_linked != nullptr)
        (void)(stop ? nccl.CommAbort(ranks_linked) : nccl.CommDestroy(ranks_linked));
    ranks_linked = nullptr;
}

/* Note the first failure. */
static void check(struct tf_ctx *c, int rc)
{
    if (rc != NCCL_SUCCESS && c->err.status == 0)
        tf_fail(&c->err, "NCCL: %s", nccl.GetErrorString(rc));
    refused |= rc != NCCL_SUCCESS;
}

/* In a group both directions make progress at the same time. After a refusal nothing more is
 * queued, which the other rank would not answer in order. */
void tf_cuda_send_receive(struct tf_ctx *c, int peer, enum tf_elem e, const tf_mem *out,
                          size_t n_out, tf_mem *in, size_t n_in)
{
    const size_t size = tf_cuda_size(c, e);
    cudaStream_t s = tf_cuda_stream(c);
    if (ranks_linked == nullptr || refused) /* since a failure */
        return;
    {
        struct tf_cuda_timed timed(c, "exchange");
        check(c, nccl.GroupStart());
        if (n_out > 0)
            check(c, nccl.Send(out, n_out * size, NCCL_UINT8, peer, ranks_linked, s));
        if (n_in > 0)
            check(c, nccl.Recv(in, n_in * size, NCCL_UINT8, peer, ranks_linked, s));
        check(c, nccl.GroupEnd());
    } /* what follows has a span of its own */
    if (e == TF_ELEM_PARAM)
        tf_cuda_wrote(c, in, n_in);
}

static double now()
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* What is wrong with the link, after so many seconds; NULL: nothing. */
static const char *trouble(double waited, double most)
{
    int rc = NCCL_SUCCESS;
    if (ranks_linked != nullptr && nccl.CommGetAsyncError(ranks_linked, &rc) == NCCL_SUCCESS &&
        rc != NCCL_SUCCESS && rc != NCCL_IN_PROGRESS)
        return nccl.GetErrorString(rc);
    return waited > most ? "no answer from another rank's GPU" : nullptr;
}

int tf_cuda_sync_within(struct tf_ctx *c, double seconds, struct tf_err *err)
{
    const double start = now();
    const cudaStream_t s = tf_cuda_stream(c);
    cudaError_t e;
    const char *what = nullptr;
    while (what == nullptr && (e = cudaStreamQuery(s)) == cudaErrorNotReady) {
        cudaGetLastError(); /* which counts as a failure for it */
        const double waited = now() - start;
        what = trouble(waited, seconds);
        if (waited < 0.1) { /* longer than most updates: a sleep would add its slack to each */
            sched_yield();
        } else {
            const struct timespec rest = {0, 50000};
            nanosleep(&rest, nullptr);
        }
    }
    if (what != nullptr) {
        tf_cuda_link_close(c, true); /* ends what is queued */
        c->err = {};
        return tf_fail(err, "NCCL, after %.0f s: %s", now() - start, what);
    }
    tf_cuda_failed(c, e, "the device");
    if (c->err.status != 0)
        tf_cuda_link_close(c, true);
    return tf_cuda_report_error(c, err);
}
