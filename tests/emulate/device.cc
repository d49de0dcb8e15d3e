/* device.cc - the device: its errors, its properties and its memory. */
#include "emulate_private.h"

#include <cstdlib>
#include <map>
#include <mutex>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

namespace {

std::recursive_mutex lock;
thread_local int device_number;

/* dynamic shared memory of kernels, by device */
std::map<std::pair<int, const void *>, size_t> allowed;
std::map<const char *, size_t> pinned;  /* cudaMallocHost's */

size_t most_shared()
{
    const char *most = getenv("TF_EMULATE_SHARED");
    return most != nullptr ? strtoull(most, nullptr, 10) : (size_t)emulate::MAX_SHARED;
}

} // namespace

namespace emulate {

guard::guard()
{
    lock.lock();
}

guard::~guard()
{
    lock.unlock();
}

int device()
{
    return device_number;
}

bool is_faulty(int device)
{
    const char *faulty = getenv("TF_EMULATE_FAULTY");
    return faulty == nullptr || atoi(faulty) == device;
}

bool is_pinned(const void *p)
{
    auto i = pinned.upper_bound((const char *)p);
    if (i == pinned.begin())
        return false;
    --i;
    return (const char *)p < i->first + i->second;
}

size_t allowed_shared(const void *kernel)
{
    guard alone;
    auto limit = allowed.find({device_number, kernel});
    return limit != allowed.end() ? limit->second : 48 * 1024;
}

} // namespace emulate

const char *cudaGetErrorString(cudaError_t e)
{
    switch (e) {
    case cudaSuccess:
        return "no error";
    case cudaErrorInvalidValue:
        return "invalid argument";
    case cudaErrorMemoryAllocation:
        return "out of memory";
    case cudaErrorNoDevice:
        return "no CUDA-capable device is detected";
    case cudaErrorInsufficientDriver:
        return "CUDA driver version is insufficient for CUDA runtime version";
    case cudaErrorStreamCaptureUnsupported:
        return "operation not permitted when stream is capturing";
    case cudaErrorLaunchFailure:
        return "unspecified launch failure";
    case cudaErrorNotReady:
        return "device not ready";
    case cudaErrorNoKernelImageForDevice:
        return "no kernel image is available for execution on the device";
    }
    return "unknown error";
}

static thread_local cudaError_t last_error;

cudaError_t emulate::noted(cudaError_t e)
{
    last_error = e != cudaSuccess ? e : last_error;
    return e;
}

cudaError_t cudaGetLastError()
{
    const cudaError_t e = last_error;
    last_error = cudaSuccess;
    return e;
}

cudaError_t cudaFuncSetAttribute(const void *kernel, cudaFuncAttribute, int value)
{
    if (value < 0 || (size_t)value > most_shared())
        return emulate::noted(cudaErrorInvalidValue);
    emulate::guard alone;
    allowed[{device_number, kernel}] = (size_t)value;
    return cudaSuccess;
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *a, const void *)
{
    *a = {};
    return emulate::noted(getenv("TF_EMULATE_NO_CODE") != nullptr ? cudaErrorNoKernelImageForDevice
                                                                  : cudaSuccess);
}

cudaError_t cudaGetDeviceCount(int *n)
{
    const char *wanted = getenv("TF_EMULATE_DEVICES");
    *n = wanted != nullptr ? atoi(wanted) : 1;
    return cudaSuccess;
}

cudaError_t cudaSetDevice(int device)
{
    device_number = device;
    return cudaSuccess;
}

cudaError_t cudaGetDevice(int *device)
{
    *device = device_number;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetPCIBusId(char *id, int size, int device)
{
    snprintf(id, (size_t)size, "0000:%02X:00.0", (unsigned)device);
    return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp *p, int device)
{
    *p = {};
    const bool alike = device == 0 || getenv("TF_EMULATE_ALIKE") != nullptr;
    snprintf(p->name, sizeof p->name, alike ? "emulation" : "emulation %d", device);
    p->totalGlobalMem = (size_t)1 << 30;
    p->major = 9;
    p->multiProcessorCount = 4;
    p->sharedMemPerBlockOptin = most_shared();
    return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int *v)
{
    *v = 13000;
    return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t *free, size_t *total)
{
    const char *wanted = getenv("TF_EMULATE_FREE");
    *total = (size_t)1 << 30;
    *free = wanted != nullptr ? strtoull(wanted, nullptr, 10) : *total;
    return cudaSuccess;
}

/* ---- what device memory there is, and the most so far; of the process besides it ---- */

static std::map<const void *, size_t> allocated; /* cudaMalloc's */
static size_t on_device, most_on_device, most_on_host;

/* Before what is on the device changes. */
static void account()
{
    static size_t peak; /* of the process, the last time */
    if (getenv("TF_EMULATE_TELL") == nullptr)
        return;
    struct rusage u;
    size_t pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (f == nullptr || fscanf(f, "%*u %zu", &pages) != 1 || getrusage(RUSAGE_SELF, &u) != 0)
        emulate::stop("memory", "no account of the process");
    fclose(f);
    size_t now = pages * (size_t)sysconf(_SC_PAGESIZE), top = (size_t)u.ru_maxrss * 1024;
    now = top > peak && top > now ? top : now;
    peak = top;
    if (now > on_device + most_on_host)
        most_on_host = now - on_device;
}

void emulate::tell_memory()
{
    account();
    fprintf(stderr, "emulate: at most %zu bytes on the device, %zu on the host\n", most_on_device,
            most_on_host);
}

enum { WALL = 1 << 20, ALIGN = 256, NONE = -1 };
struct mapping {
    char *begin;
    size_t size;
    int device; /* NONE: the host's */
};
static std::map<void *, mapping> mapped;
static int entered;

void emulate::enter(int device)
{
    if (device == entered)
        return;
    entered = device;
    for (auto &m : mapped)
        if (m.second.device != NONE && m.second.size > 2 * WALL &&
            mprotect(m.second.begin + WALL, m.second.size - 2 * WALL,
                     m.second.device == device ? PROT_READ | PROT_WRITE : PROT_NONE) != 0)
            stop("memory", "a change of the device");
}

/* Memory with walls on both sides: pages of its own, whose last byte is the last of n rounded up to
 * the alignment. An access beyond that ends the program; in front it may be up to a page away. */
static void *walled(size_t n, int device)
{
    const size_t room = (n + ALIGN - 1) / ALIGN * ALIGN, pages = (room + 4095) / 4096 * 4096;
    char *m = (char *)mmap(nullptr, pages + 2 * WALL, PROT_NONE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (m == MAP_FAILED)
        return nullptr;
    if (pages > 0 && mprotect(m + WALL, pages, PROT_READ | PROT_WRITE) != 0) {
        munmap(m, pages + 2 * WALL);
        return nullptr;
    }
    char *p = m + WALL + pages - room;
    mapped[p] = {m, pages + 2 * WALL, device};
    return p;
}

static void free_walled(void *p)
{
    auto m = mapped.find(p);
    if (m == mapped.end())
        return;
    munmap(m->second.begin, m->second.size);
    mapped.erase(m);
}

cudaError_t cudaMalloc(void **p, size_t n)
{
    emulate::guard alone;
    if (emulate::capturing())
        return emulate::noted(cudaErrorStreamCaptureUnsupported);
    static unsigned long long made;
    const bool faulty = emulate::is_faulty(device_number);
    const char *most = faulty ? getenv("TF_EMULATE_MOST") : nullptr,
               *count = faulty ? getenv("TF_EMULATE_ALLOCATIONS") : nullptr;
    account();
    emulate::enter(device_number);
    if ((most != nullptr && n > strtoull(most, nullptr, 10)) ||
        (count != nullptr && made >= strtoull(count, nullptr, 10)) ||
        emulate::graphs_fill_memory() || (*p = walled(n, device_number)) == nullptr)
        return emulate::noted(cudaErrorMemoryAllocation);
    made += faulty;
    allocated[*p] = n;
    on_device += n;
    most_on_device = on_device > most_on_device ? on_device : most_on_device;
    if (emulate::sample() == 0) /* else zero until written: most of it never is */
        memset(*p, 0xff, n);
    return cudaSuccess;
}

cudaError_t cudaFree(void *p)
{
    emulate::guard alone;
    if (emulate::capturing())
        return emulate::noted(cudaErrorStreamCaptureUnsupported);
    emulate::flush_all();
    account();
    auto a = allocated.find(p);
    if (a != allocated.end()) {
        on_device -= a->second;
        allocated.erase(a);
    }
    free_walled(p);
    return cudaSuccess;
}

cudaError_t cudaMallocHost(void **p, size_t n)
{
    emulate::guard alone;
    *p = walled(n, NONE);
    if (*p == nullptr)
        return emulate::noted(cudaErrorMemoryAllocation);
    pinned[(const char *)*p] = n;
    return cudaSuccess;
}

cudaError_t cudaFreeHost(void *p)
{
    emulate::guard alone;
    emulate::flush_all();
    pinned.erase((const char *)p);
    free_walled(p);
    return cudaSuccess;
}
