/* block.cc - kernels: blocks one after the other, their threads as coroutines that meet at barriers
 * and in operations of their warp. */
#include "coroutine_private.h"
#include "emulate_private.h"
#include "races_private.h"

#include <cstdlib>

uint3 threadIdx, blockIdx;
dim3 blockDim, gridDim;

/* Static shared memory of all kernels, as the linker names the section of __shared__. */
extern "C" char __start_tfshared[] __attribute__((weak, visibility("hidden")));
extern "C" char __stop_tfshared[] __attribute__((weak, visibility("hidden")));

namespace emulate {

void stop(const char *kernel, const std::string &why)
{
    fprintf(stderr, "emulate: kernel %s: %s\n", kernel, why.c_str());
    abort();
}

namespace {

uint64_t waited; /* threads of the running kernel that waited for the one before it */

struct thread {
    uint3 at;
    coroutine *on;
    bool at_barrier, gone;
};

const char *kernel_name;
const std::function<void()> *body;
thread threads[MAX_THREADS];
unsigned n_threads, n_started, n_gone, n_at_barrier;
struct warp_state {
    unsigned there, waiting; /* threads that have not gone; those at an operation of the warp */
    unsigned orders;         /* those whose operation is a barrier for memory, too */
    unsigned mask[32];       /* of the threads that each waits for; 0: not at an operation */
    collective *what[32];
    lane lanes[32];
} warps[MAX_THREADS / 32];
thread *self;
/* at the top of coroutine_main, for threads that have not started; kept to the end */
coroutine *idle[MAX_THREADS];
/* ring of runnable threads, starting at `first_ready` */
thread *ready[MAX_THREADS];
unsigned n_idle, first_ready, n_ready;
alignas(256) unsigned char shared_bytes[MAX_SHARED];
/* for meet(): one for the block, and one for each warp */
char places[1 + MAX_THREADS / 32][8];

const char *const order = getenv("TF_EMULATE_ORDER");
const bool reversed = order != nullptr && strcmp(order, "reverse") == 0;

void go_on(thread *t)
{
    self = t;
    threadIdx = t->at;
    be(fiber_of((unsigned)(t - threads)));
}

void coroutine_main(); /* below: never returns */

coroutine *stack_for(unsigned i) /* of a thread that has not started */
{
    static coroutine *own[MAX_THREADS];
    if (races) {
        if (own[i] == nullptr)
            own[i] = new_coroutine(coroutine_main);
        return own[i];
    }
    return n_idle > 0 ? idle[--n_idle] : new_coroutine(coroutine_main);
}

void run_last(thread *t)
{
    ready[(first_ready + n_ready++) % MAX_THREADS] = t;
}

void run_next(thread *t)
{
    first_ready = (first_ready + MAX_THREADS - 1) % MAX_THREADS;
    ready[first_ready] = t;
    n_ready++;
}

unsigned next_thread()
{
    return reversed ? n_threads - 1 - n_started : n_started;
}

/* Leave the running coroutine to another thread of the block; when all are gone, to the host. A
 * warp runs as far as it can before the next one starts, so that its stacks stay in the cache. */
void leave()
{
    if (n_ready > 0) {
        thread *t = ready[first_ready];
        first_ready = (first_ready + 1) % MAX_THREADS;
        n_ready--;
        switch_to(t->on);
    } else if (n_started < n_threads) {
        switch_to(stack_for(next_thread()));
    } else if (n_gone == n_threads) {
        switch_to(host);
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
    n_at_barrier = 0;
    meet(places[0], n_threads, [](unsigned i) { return !threads[i].gone; });
    for (unsigned k = 0; k < n_threads; k++) {
        thread *t = &threads[reversed ? n_threads - 1 - k : k];
        t->at_barrier = false;
        if (!t->gone && t != but)
            run_last(t);
    }
}

/* If all threads that thread `of` of warp `at` waits for have arrived, do their operation and make
 * them ready, except `but`, which runs now. */
bool release_warp(unsigned at, unsigned of, thread *but)
{
    warp_state *w = &warps[at];
    unsigned mask = w->mask[of], present = mask & w->there;
    if ((w->waiting & present) != present)
        return false;
    for (unsigned i = 0; i < 32; i++)
        if ((present >> i & 1) && (w->mask[i] != mask || w->what[i] != w->what[of]))
            stop(kernel_name, "threads of a warp meet in different operations");
    overlook(true);
    w->what[of](w->lanes, present);
    overlook(false);
    if (w->orders >> of & 1)
        meet(places[1 + at], n_threads,
             [&](unsigned i) { return i / 32 == at && (present >> i % 32 & 1); });
    w->waiting &= ~present;
    for (unsigned k = 0; k < 32; k++) {
        unsigned i = reversed ? k : 31 - k;
        if (present >> i & 1) {
            w->mask[i] = 0;
            if (&threads[32 * at + i] != but)
                run_next(&threads[32 * at + i]);
        }
    }
    return true;
}

/* The running thread has returned: those that waited for it need wait no more. */
void thread_ends()
{
    unsigned at = (unsigned)(self - threads) / 32;
    warp_state *w = &warps[at];
    self->gone = true;
    n_gone++;
    w->there &= ~(1u << (self - threads) % 32);
    if (n_at_barrier > 0 && n_at_barrier == n_threads - n_gone)
        release_block(nullptr);
    for (unsigned i = 0; i < 32 && w->waiting != 0; i++)
        if (w->mask[i] != 0)
            release_warp(at, i, nullptr);
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
        } while (!races && n_ready == 0 && n_started < n_threads);
        if (!races)
            idle[n_idle++] = running;
        leave();
    }
}

void run_block(size_t shared)
{
    memset(shared_bytes, 0xff, shared);
    memset(__start_tfshared, 0xff, (size_t)(__stop_tfshared - __start_tfshared));
    n_threads = blockDim.x * blockDim.y * blockDim.z;
    n_started = n_gone = n_at_barrier = 0;
    for (unsigned i = 0; i < n_threads; i += 32)
        warps[i / 32].there = n_threads - i < 32 ? (1u << (n_threads - i)) - 1 : 0xffffffffu;
    for (unsigned i = 0; i < n_threads; i++)
        threads[i] = {.at = {i % blockDim.x, i / blockDim.x % blockDim.y,
                             i / (blockDim.x * blockDim.y)},
                      .on = nullptr,
                      .at_barrier = false,
                      .gone = false};
    void *me = this_fiber();
    say(&begun);
    leave();
    be(me);
    hear(&ended);
}

} // namespace

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

void block()
{
    self->at_barrier = true;
    n_at_barrier++;
    if (n_at_barrier == n_threads - n_gone)
        release_block(self);
    else
        wait();
}

void warp(collective *what, unsigned mask, const void *in0, const void *in1, void *out, bool orders)
{
    unsigned at = (unsigned)(self - threads) / 32, i = (unsigned)(self - threads) % 32;
    warp_state *w = &warps[at];
    if (!(mask >> i & 1))
        stop(kernel_name, "a thread is not in the mask of its own operation");
    w->waiting |= 1u << i;
    w->orders = (w->orders & ~(1u << i)) | (unsigned)orders << i;
    w->mask[i] = mask;
    w->what[i] = what;
    w->lanes[i] = {{in0, in1}, out};
    if (!release_warp(at, i, self))
        wait();
}

void run_kernel(const char *name, dim3 grid, dim3 block, size_t shared, bool early,
                const std::function<void()> &thread)
{
    kernel_name = name;
    waited = 0;
    body = &thread;
    gridDim = grid;
    blockDim = block;
    uint64_t n = (uint64_t)grid.x * grid.y * grid.z, ran = 0;
    const uint64_t few = sample();
    const bool all = few == 0 || n <= 4 * few || strncmp(name, "search_step", 11) == 0 ||
                     strcmp(name, "rows") == 0;
    for (uint64_t k = 0; k < n; k++) {
        uint64_t i = reversed ? n - 1 - k : k;
        if (!all && i >= few && i < n - few && i % (n / few) != 7)
            continue;
        ran++;
        blockIdx = {(unsigned)(i % grid.x), (unsigned)(i / grid.x % grid.y),
                    (unsigned)(i / grid.x / grid.y)};
        run_block(shared);
    }
    if (early && waited != ran * n_threads)
        stop(name, "a thread does not wait for the kernel before");
}

} // namespace emulate
