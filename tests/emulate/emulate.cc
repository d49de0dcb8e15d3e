/* emulate.cc - streams that wait, graphs, and blocks whose threads are coroutines. See
 * emulate.h. */
#include "emulate.h"

#include <cstdlib>
#include <deque>
#include <map>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>
#ifndef __x86_64__
#include <ucontext.h>
#endif
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef EMULATE_RACES
#include <sanitizer/tsan_interface.h>
extern "C" {
void AnnotateIgnoreReadsBegin(const char *file, int line);
void AnnotateIgnoreReadsEnd(const char *file, int line);
void AnnotateIgnoreWritesBegin(const char *file, int line);
void AnnotateIgnoreWritesEnd(const char *file, int line);
}
#endif

uint3 threadIdx, blockIdx;
dim3 blockDim, gridDim;

#ifdef __x86_64__
extern "C" __attribute__((visibility("hidden"))) void tf_emulate_swap(void **from, void *to);
/* The registers that a call preserves stay on the stack that is left. */
asm(R"(
.pushsection .text
.globl tf_emulate_swap
.hidden tf_emulate_swap
.type tf_emulate_swap, @function
tf_emulate_swap:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
.size tf_emulate_swap, .-tf_emulate_swap
.popsection
)");
#endif

namespace {

[[noreturn]] void stop(const char *kernel, const std::string &why)
{
    fprintf(stderr, "emulate: kernel %s: %s\n", kernel, why.c_str());
    abort();
}

/* ---- coroutines ---- */

uint64_t waited; /* threads of the running kernel that waited for the one before it */

/* The kernel named by TF_EMULATE_FAULT was reached. */
bool faulted;

enum { STACK = 128 * 1024, MAX_THREADS = 1024, MAX_SHARED = 227 * 1024 };

struct coroutine {
#ifdef __x86_64__
    void *sp;
#else
    ucontext_t context;
#endif
    char *stack; /* NULL: the host's own */
#ifdef __SANITIZE_ADDRESS__
    const void *bottom;
    size_t size;
#endif
};

coroutine host; /* who called */
coroutine *running = &host;

void arrive(coroutine *from, void *fake)
{
#ifdef __SANITIZE_ADDRESS__
    const void *bottom;
    size_t size;
    __sanitizer_finish_switch_fiber(fake, &bottom, &size);
    if (from != nullptr && from->stack == nullptr) {
        from->bottom = bottom;
        from->size = size;
    }
#else
    (void)from, (void)fake;
#endif
}

coroutine *left; /* who switched last */

void switch_to(coroutine *to)
{
    coroutine *from = running;
    void *fake = nullptr;
    left = from;
    running = to;
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_start_switch_fiber(&fake, to->stack != nullptr ? to->stack : to->bottom,
                                   to->stack != nullptr ? (size_t)STACK : to->size);
#endif
#ifdef __x86_64__
    tf_emulate_swap(&from->sp, to->sp);
#else
    swapcontext(&from->context, &to->context);
#endif
    arrive(left, fake);
}

void coroutine_main(); /* below: never returns */

void entry()
{
    arrive(left, nullptr);
    coroutine_main();
}

coroutine *new_coroutine()
{
    coroutine *c = new coroutine();
    c->stack = (char *)mmap(nullptr, STACK, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    /* what runs over its end hits a wall */
    if (c->stack == MAP_FAILED || mprotect(c->stack, 4096, PROT_NONE) != 0)
        stop("", "no memory for a stack");
#ifdef __x86_64__
    /* Stacks begin at different distances from their ends, or all would fall into the same lines of
     * the cache. */
    static unsigned made;
    /* at entry, as after a call, the stack pointer is 8 past a multiple of 16 */
    void **top = (void **)(c->stack + STACK - made++ % 128 * 320) - 3;
    *--top = (void *)entry;
    c->sp = top - 6;
    memset(c->sp, 0, 6 * sizeof(void *));
#else
    getcontext(&c->context);
    c->context.uc_stack = {};
    c->context.uc_stack.ss_sp = c->stack;
    c->context.uc_stack.ss_size = STACK;
    makecontext(&c->context, entry, 0);
#endif
    return c;
}

/* ---- a block ---- */

/* ---- races ---- */

/* Under ThreadSanitizer every thread of a block is one of its fibers, which nothing but barriers
 * orders: __syncthreads for the block, __syncwarp for the threads in its mask, atomics as the C++
 * ones are. Shuffles and votes order no memory, as CUDA says. Blocks run in order, and each has a
 * stack of its own for every thread. This file is compiled without the sanitizer. */
#ifdef EMULATE_RACES
constexpr bool races = true;
void *fiber_of(unsigned i) /* of a block's thread */
{
    static void *fibers[MAX_THREADS];
    if (fibers[i] == nullptr)
        fibers[i] = __tsan_create_fiber(0);
    return fibers[i];
}
void be(void *fiber)
{
    __tsan_switch_to_fiber(fiber, __tsan_switch_to_fiber_no_sync);
}
void *this_fiber()
{
    return __tsan_get_current_fiber();
}
void say(char *what)
{
    __tsan_release(what);
}
void hear(char *what)
{
    __tsan_acquire(what);
}
void overlook(bool on) /* what is read and written next */
{
    if (on) {
        AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
        AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
    } else {
        AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
        AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
    }
}
#else
constexpr bool races = false;
void *fiber_of(unsigned) { return nullptr; }
void be(void *) {}
void *this_fiber() { return nullptr; }
void say(char *) {}
void hear(char *) {}
void overlook(bool) {}
#endif

/* Order memory for ThreadSanitizer as a barrier does, between all threads i with group(i): what
 * each did before comes before what any does after. `place` is an address that stands for the
 * barrier: one for the block, and one for each warp. */
char places[1 + MAX_THREADS / 32][8];
template <typename F> void meet(char *place, unsigned n, F group)
{
    if (!races)
        return;
    void *me = this_fiber();
    for (int pass = 0; pass < 2; pass++)
        for (unsigned i = 0; i < n; i++)
            if (group(i)) {
                be(fiber_of(i));
                pass == 0 ? say(place) : hear(place);
            }
    be(me);
}

struct thread {
    uint3 at;
    coroutine *on;
    unsigned mask; /* of the warp's threads that it waits for; 0: not at an operation of the warp */
    bool at_barrier, gone;
    emulate::collective *what;
    bool orders; /* the operation is a barrier for memory, too */
    emulate::lane lane;
    int value;
};

const char *kernel_name;
const std::function<void()> *body;
thread threads[MAX_THREADS];
unsigned n_threads, n_started, n_gone, n_at_barrier;
struct warp_bits {
    unsigned there, waiting; /* threads that have not gone; those at an operation of the warp */
} warps[MAX_THREADS / 32];
thread *self;
/* at the top of coroutine_main, for threads that have not started; kept to the end */
coroutine *idle[MAX_THREADS];
/* ring of runnable threads in their order, starting at `first_ready` */
thread *ready[MAX_THREADS];
unsigned n_idle, first_ready, n_ready;
alignas(256) unsigned char shared_bytes[MAX_SHARED];

bool reversed()
{
    static const bool is = [] {
        const char *order = getenv("TF_EMULATE_ORDER");
        return order != nullptr && strcmp(order, "reverse") == 0;
    }();
    return is;
}

void go_on(thread *t)
{
    self = t;
    threadIdx = t->at;
    be(fiber_of((unsigned)(t - threads)));
}

coroutine *stack_for(unsigned i) /* of a thread that has not started */
{
    static coroutine *own[MAX_THREADS];
    if (races) {
        if (own[i] == nullptr)
            own[i] = new_coroutine();
        return own[i];
    }
    return n_idle > 0 ? idle[--n_idle] : new_coroutine();
}

void make_ready(thread *t)
{
    ready[(first_ready + n_ready++) % MAX_THREADS] = t;
}

unsigned next_thread()
{
    return reversed() ? n_threads - 1 - n_started : n_started;
}

/* Leave the running coroutine to another thread of the block; when all are gone, to the host. */
void leave()
{
    if (n_started < n_threads) {
        switch_to(stack_for(next_thread()));
    } else if (n_ready > 0) {
        thread *t = ready[first_ready];
        first_ready = (first_ready + 1) % MAX_THREADS;
        n_ready--;
        switch_to(t->on);
    } else if (n_gone == n_threads) {
        switch_to(&host);
    } else {
        stop(kernel_name, "its threads wait for each other: " + std::to_string(n_at_barrier) +
                              " at the block's barrier, " +
                              std::to_string(n_threads - n_gone - n_at_barrier) +
                              " at operations of their warps");
    }
}

void wait()
{
    thread *me = self;
    me->on = running;
    leave();
    go_on(me);
}

/* All remaining threads of the block are at the barrier. Make them ready, except `but`, which runs
 * now. */
void release_block(thread *but)
{
    int sum = 0;
    for (unsigned i = 0; i < n_threads; i++)
        if (!threads[i].gone)
            sum += threads[i].value;
    n_at_barrier = 0;
    meet(places[0], n_threads, [](unsigned i) { return !threads[i].gone; });
    for (unsigned k = 0; k < n_threads; k++) {
        thread *t = &threads[reversed() ? n_threads - 1 - k : k];
        t->value = sum;
        t->at_barrier = false;
        if (!t->gone && t != but)
            make_ready(t);
    }
}

/* If all threads of the warp operation that t waits for have arrived, do it and release them. */
bool release_warp(thread *t, thread *but)
{
    unsigned at = (unsigned)(t - threads) / 32, base = 32 * at, mask = t->mask,
             present = mask & warps[at].there;
    if ((warps[at].waiting & present) != present)
        return false;
    emulate::lane lanes[32];
    for (unsigned i = 0; i < 32; i++)
        if (present >> i & 1) {
            if (threads[base + i].mask != mask || threads[base + i].what != t->what)
                stop(kernel_name, "threads of a warp meet in different operations");
            lanes[i] = threads[base + i].lane;
        }
    overlook(true);
    t->what(lanes, present);
    overlook(false);
    if (t->orders)
        meet(places[1 + at], n_threads,
             [&](unsigned i) { return i / 32 == at && (present >> i % 32 & 1); });
    warps[at].waiting &= ~present;
    for (unsigned k = 0; k < 32; k++) {
        unsigned i = reversed() ? 31 - k : k;
        if (present >> i & 1) {
            threads[base + i].mask = 0;
            if (&threads[base + i] != but)
                make_ready(&threads[base + i]);
        }
    }
    return true;
}

/* The running thread has returned: those that waited for it need wait no more. */
void thread_ends()
{
    self->gone = true;
    n_gone++;
    warps[(self - threads) / 32].there &= ~(1u << (self - threads) % 32);
    if (n_at_barrier > 0 && n_at_barrier == n_threads - n_gone)
        release_block(nullptr);
    unsigned base = (unsigned)(self - threads) / 32 * 32;
    for (unsigned i = base; i < base + 32 && i < n_threads; i++)
        if (threads[i].mask != 0)
            release_warp(&threads[i], nullptr);
}

char begun, ended; /* blocks */

void coroutine_main()
{
    for (;;) {
        do {
            thread *t = &threads[next_thread()];
            n_started++;
            go_on(t);
            hear(&begun);
            (*body)();
            say(&ended);
            thread_ends();
        } while (!races && n_started < n_threads);
        if (!races)
            idle[n_idle++] = running;
        leave();
    }
}

} // namespace
/* Static shared memory of all kernels, as the linker names the section of __shared__. */
extern "C" char __start_tfshared[] __attribute__((weak, visibility("hidden")));
extern "C" char __stop_tfshared[] __attribute__((weak, visibility("hidden")));
namespace {
void run_block(size_t shared)
{
    memset(shared_bytes, 0xff, shared);
    memset(__start_tfshared, 0xff, (size_t)(__stop_tfshared - __start_tfshared));
    n_threads = blockDim.x * blockDim.y * blockDim.z;
    n_started = n_gone = n_at_barrier = 0;
    for (unsigned i = 0; i < n_threads; i += 32)
        warps[i / 32] = {n_threads - i < 32 ? (1u << (n_threads - i)) - 1 : 0xffffffffu, 0};
    for (unsigned i = 0; i < n_threads; i++)
        threads[i] = {.at = {i % blockDim.x, i / blockDim.x % blockDim.y,
                             i / (blockDim.x * blockDim.y)},
                      .on = nullptr,
                      .mask = 0,
                      .at_barrier = false,
                      .gone = false,
                      .what = nullptr,
                      .orders = false,
                      .lane = {},
                      .value = 0};
    void *me = this_fiber();
    say(&begun);
    leave();
    be(me);
    hear(&ended);
}

} // namespace

namespace emulate {

/* TF_EMULATE_SAMPLE=N: of a large grid, run the first and last N blocks and about N between. */
uint64_t sample()
{
    static const uint64_t n = [] {
        const char *t = getenv("TF_EMULATE_SAMPLE");
        return t != nullptr ? strtoull(t, nullptr, 10) : 0ull;
    }();
    return n;
}

void wait_for_previous()
{
    waited++;
}

void *shared_memory()
{
    return shared_bytes;
}

int block(int value)
{
    self->value = value;
    self->at_barrier = true;
    n_at_barrier++;
    if (n_at_barrier == n_threads - n_gone)
        release_block(self);
    else
        wait();
    return self->value;
}

void warp(collective *what, unsigned mask, const void *in0, const void *in1, void *out, bool orders)
{
    if (!(mask >> (self - threads) % 32 & 1))
        stop(kernel_name, "a thread is not in the mask of its own operation");
    self->mask = mask;
    warps[(self - threads) / 32].waiting |= 1u << (self - threads) % 32;
    self->what = what;
    self->orders = orders;
    self->lane = {{in0, in1}, out};
    if (!release_warp(self, self))
        wait();
}

} // namespace emulate

/* ---- streams and graphs ---- */

typedef std::function<bool()> work; /* false: not done yet */
struct emulate_graph {
    std::vector<work> list;
};
struct emulate_stream {
    std::deque<work> queue;
    emulate_graph *capture;
};
struct emulate_event {
    emulate_stream *stream; /* recorded last on */
};

namespace {
std::map<const void *, size_t> allowed;  /* dynamic shared memory of kernels */
std::map<const char *, size_t> pinned;   /* cudaMallocHost's */
std::vector<emulate_stream *> streams;
size_t graphs_launched, graphs_made, graphs_kept;

/* Is there no memory besides that of graphs? */
bool full_of_graphs()
{
    const char *most = getenv("TF_EMULATE_GRAPHS");
    return most != nullptr && graphs_kept >= strtoull(most, nullptr, 10);
}

size_t most_shared()
{
    const char *most = getenv("TF_EMULATE_SHARED");
    return most != nullptr ? strtoull(most, nullptr, 10) : (size_t)MAX_SHARED;
}

bool is_pinned(const void *p)
{
    auto i = pinned.upper_bound((const char *)p);
    if (i == pinned.begin())
        return false;
    --i;
    return (const char *)p < i->first + i->second;
}

/* As far as possible without waiting: is it done? */
bool advance(emulate_stream *s)
{
    while (!s->queue.empty()) {
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

void enqueue_waiting(cudaStream_t s, std::function<bool()> run)
{
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
    auto limit = allowed.find(kernel);
    if ((uint64_t)block.x * block.y * block.z > MAX_THREADS || block.z > 64)
        stop(name, "too many threads in a block");
    if (grid.y > 65535 || grid.z > 65535 || grid.x > 0x7fffffff)
        stop(name, "too many blocks");
    if (shared > (limit != allowed.end() ? limit->second : 48 * 1024))
        stop(name, std::to_string(shared) + " bytes of shared memory were not allowed");
    const char *fault = getenv("TF_EMULATE_FAULT");
    if (fault != nullptr && strncmp(name, fault, strlen(fault)) == 0) {
        enqueue(s, [] { faulted = true; });
        return;
    }
    enqueue(s, [name, grid, block, shared, early, thread = std::move(thread)] {
        kernel_name = name;
        waited = 0;
        body = &thread;
        gridDim = grid;
        blockDim = block;
        uint64_t n = (uint64_t)grid.x * grid.y * grid.z, ran = 0;
        const uint64_t few = emulate::sample();
        const bool all = few == 0 || n <= 4 * few || strncmp(name, "search_step", 11) == 0 ||
                         strcmp(name, "rows") == 0;
        for (uint64_t k = 0; k < n; k++) {
            uint64_t i = reversed() ? n - 1 - k : k;
            if (!all && i >= few && i < n - few && i % (n / few) != 7)
                continue;
            ran++;
            blockIdx = {(unsigned)(i % grid.x), (unsigned)(i / grid.x % grid.y),
                        (unsigned)(i / grid.x / grid.y)};
            run_block(shared);
        }
        if (early && waited != ran * n_threads)
            stop(name, "a thread does not wait for the kernel before");
    });
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

cudaError_t cudaGetLastError()
{
    return cudaSuccess;
}

cudaError_t cudaFuncSetAttribute(const void *kernel, cudaFuncAttribute, int value)
{
    if (value < 0 || (size_t)value > most_shared())
        return cudaErrorInvalidValue;
    allowed[kernel] = (size_t)value;
    return cudaSuccess;
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *a, const void *)
{
    *a = {};
    return getenv("TF_EMULATE_NO_CODE") != nullptr ? cudaErrorNoKernelImageForDevice : cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int *n)
{
    const char *wanted = getenv("TF_EMULATE_DEVICES");
    *n = wanted != nullptr ? atoi(wanted) : 1;
    return cudaSuccess;
}

static int device_number;

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

cudaError_t cudaDriverGetVersion(int *v)
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

enum { WALL = 1 << 20 };
static std::map<void *, std::pair<char *, size_t>> mapped;

cudaError_t cudaMalloc(void **p, size_t n)
{
    for (emulate_stream *s : streams)
        if (s->capture != nullptr)
            return cudaErrorStreamCaptureUnsupported;
    static unsigned long long made;
    const char *most = getenv("TF_EMULATE_MOST"), *count = getenv("TF_EMULATE_ALLOCATIONS");
    if ((most != nullptr && n > strtoull(most, nullptr, 10)) ||
        (count != nullptr && made >= strtoull(count, nullptr, 10)) ||
        (graphs_kept > 0 && full_of_graphs()) || posix_memalign(p, 256, n) != 0)
        return cudaErrorMemoryAllocation;
    made++;
    if (emulate::sample() > 0) { /* pages of its own, zero until written, walls on both sides */
        free(*p);
        size_t room = (n + 255) / 256 * 256, pages = (room + 4095) / 4096 * 4096;
        char *m = (char *)mmap(nullptr, pages + 2 * WALL, PROT_NONE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (m == MAP_FAILED ||
            (pages > 0 && mprotect(m + WALL, pages, PROT_READ | PROT_WRITE) != 0))
            return cudaErrorMemoryAllocation;
        *p = m + WALL + pages - room;
        mapped[*p] = {m, pages + 2 * WALL};
        return cudaSuccess;
    }
    memset(*p, 0xff, n);
    return cudaSuccess;
}

cudaError_t cudaFree(void *p)
{
    for (emulate_stream *s : streams)
        if (s->capture != nullptr)
            return cudaErrorStreamCaptureUnsupported;
    for (emulate_stream *s : streams)
        flush(s);
    auto m = mapped.find(p);
    if (m != mapped.end()) {
        munmap(m->second.first, m->second.second);
        mapped.erase(m);
        return cudaSuccess;
    }
    free(p);
    return cudaSuccess;
}

cudaError_t cudaMallocHost(void **p, size_t n)
{
    *p = malloc(n);
    if (*p == nullptr)
        return cudaErrorMemoryAllocation;
    pinned[(const char *)*p] = n;
    return cudaSuccess;
}

cudaError_t cudaFreeHost(void *p)
{
    for (emulate_stream *s : streams)
        flush(s);
    pinned.erase((const char *)p);
    free(p);
    return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void *dst, const void *src, size_t n, cudaMemcpyKind kind,
                            cudaStream_t s)
{
    bool host = (kind == cudaMemcpyHostToDevice && !is_pinned(src)) ||
                (kind == cudaMemcpyDeviceToHost && !is_pinned(dst));
    /* CUDA captures copies from pinned memory, but a replay reads whatever is there by then. */
    if (s->capture != nullptr && (host || kind == cudaMemcpyHostToDevice))
        return cudaErrorStreamCaptureUnsupported;
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
    *s = new emulate_stream();
    streams.push_back(*s);
    return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t s)
{
    if (getenv("TF_EMULATE_TELL") != nullptr)
        fprintf(stderr, "emulate: %zu graphs launched of %zu\n", graphs_launched, graphs_made);
    flush(s);
    std::erase(streams, s);
    delete s;
    return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t s)
{
    if (s->capture != nullptr)
        return cudaErrorStreamCaptureUnsupported;
    flush(s);
    return faulted ? cudaErrorLaunchFailure : cudaSuccess;
}

cudaError_t cudaStreamQuery(cudaStream_t s)
{
    if (s->capture != nullptr)
        return cudaErrorStreamCaptureUnsupported;
    return !advance(s) ? cudaErrorNotReady : faulted ? cudaErrorLaunchFailure : cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t s, cudaStreamCaptureMode)
{
    if (s->capture != nullptr)
        return cudaErrorStreamCaptureUnsupported;
    s->capture = new emulate_graph();
    return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t s, cudaGraph_t *g)
{
    *g = s->capture;
    s->capture = nullptr;
    if (getenv("TF_EMULATE_NO_GRAPHS") != nullptr) {
        delete *g;
        *g = nullptr;
    }
    return *g != nullptr ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *x, cudaGraph_t g, unsigned long long)
{
    if (full_of_graphs())
        return cudaErrorMemoryAllocation;
    *x = new emulate_graph(*g);
    graphs_made++;
    graphs_kept++;
    return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t x, cudaStream_t s)
{
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
    delete x;
    graphs_kept--;
    return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *e, unsigned)
{
    *e = new emulate_event();
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
    e->stream = s;
    return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t e)
{
    for (emulate_stream *s : streams) /* a stream that is gone has done all of its work */
        if (s == e->stream)
            flush(s);
    return faulted ? cudaErrorLaunchFailure : cudaSuccess;
}
