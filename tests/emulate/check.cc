/* check.cc - test of the emulation: barriers, warp operations, threads that leave early,
 * conversions, streams and graphs; built with SAN=thread, detection of races. */
#include "emulate.h"

#include <sys/wait.h>
#include <unistd.h>

extern "C" {
#include "../harness/tap.h"
}

static void run(cudaStream_t s, dim3 grid, dim3 block, size_t shared, std::function<void()> thread)
{
    emulate::launch(s, "check", nullptr, grid, block, shared, thread);
    cudaStreamSynchronize(s);
}

#ifdef __SANITIZE_THREAD__
static int reports;
extern "C" __attribute__((visibility("default"))) void __tsan_on_report(void *)
{
    reports++;
}

/* Each thread writes a number, calls order() and reads its neighbour's. A template, because
 * ThreadSanitizer reports a race at the same place only once. */
template <typename F> static int races(cudaStream_t s, unsigned threads, F order)
{
    static volatile int room[64];
    int before = reports;
    run(s, 1, threads, 0, [=] {
        unsigned t = threadIdx.x;
        room[t] = (int)t;
        order();
        (void)room[(t + 1) % threads];
    });
    return reports - before;
}

/* Ends the program with _Exit: at a regular exit ThreadSanitizer would turn the expected races,
 * which it has reported on stderr, into a failure. */
[[noreturn]] static void check_races(cudaStream_t s)
{
    ok(reports == 0, "no race in ordered code: %d reported", reports);
    ok(races(s, 64, [] { __syncthreads(); }) == 0, "a barrier of the block orders");
    ok(races(s, 32, [] { __syncwarp(); }) == 0, "a barrier of the warp orders its threads");
    ok(races(s, 64, [] {}) > 0, "no barrier: a race");
    ok(races(s, 64, [] { __syncwarp(); }) > 0,
       "a barrier of the warp between threads of two: a race");
    ok(races(s, 32, [] { __shfl_xor_sync(0xffffffffu, 0, 1); }) > 0,
       "a shuffle orders no memory: a race");
    _Exit(done());
}
#endif

/* Does a process that writes byte `at` of 256 bytes of the device end? */
static bool ends_at(size_t at)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        char *p;
        cudaMalloc((void **)&p, 256);
        ((volatile char *)p)[at] = 1;
        _exit(0);
    }
    waitpid(child, &status, 0);
    return status != 0;
}

int main()
{
    ok(!ends_at(255) && ends_at(256) && ends_at((size_t)-4097), "walls around an allocation");
    cudaStream_t s;
    cudaStreamCreateWithFlags(&s, 0);

    bool clean = true;
    run(s, 2, 1, 0, [&] {
        __shared__ float room[2];
        clean = clean && std::isnan(room[0]) && std::isnan(room[1]);
        room[1] = 0;
    });
    ok(clean, "static shared memory begins as nan in each block");

    /* Two rounds of a tree in shared memory; half of the threads of the second block leave
     * first. */
    int sums[2] = {};
    run(s, 2, 256, 256 * sizeof(int), [&] {
        int *room = (int *)emulate::shared_memory(), t = (int)threadIdx.x, n = 256;
        if (blockIdx.x == 1 && t >= 128)
            return;
        room[t] = t;
        if (blockIdx.x == 1)
            n = 128;
        for (int d = n / 2; d > 0; d /= 2) {
            __syncthreads();
            if (t < d)
                room[t] += room[t + d];
        }
        if (t == 0)
            sums[blockIdx.x] = room[0];
    });
    ok(sums[0] == 255 * 128 && sums[1] == 127 * 64, "barriers: %d %d", sums[0], sums[1]);

    int bad = 0;
    run(s, 1, dim3(8, 12), 0, [&] { /* three warps */
        int lane = (int)(threadIdx.x + 8 * threadIdx.y) % 32;
        int sum = lane;
        for (int d = 16; d > 0; d /= 2)
            sum += __shfl_xor_sync(0xffffffffu, sum, d);
        atomicAdd(&bad, (int)(sum != 31 * 16));
        atomicAdd(&bad, (int)(__shfl_sync(0xffffffffu, lane, 7) != 7));
        atomicAdd(&bad, (int)(__shfl_sync(0xffffffffu, lane, 1, 8) != lane / 8 * 8 + 1));
        atomicAdd(&bad, (int)(__ballot_sync(0xffffffffu, lane % 2) != 0xaaaaaaaau));
        if (lane < 16) { /* the two halves in different branches */
            atomicAdd(&bad, (int)(__shfl_xor_sync(0x0000ffffu, lane, 1) != (lane ^ 1)));
        } else {
            atomicAdd(&bad, (int)(__ballot_sync(0xffff0000u, lane == 20) != 1u << 20));
        }
        __syncthreads();
        if (lane >= 24)
            return;
        atomicAdd(&bad, (int)(__ballot_sync(0xffffffffu, 1) != 0xffffffu));
        __syncwarp();
    });
    ok(bad == 0, "operations of warps: %d wrong", bad);

    /* a[i][k] = i + k, b[k][j] = k - 2j: exact in both kinds. */
    bad = 0;
    auto product = [&](auto zero) {
        typedef decltype(zero) A;
        run(s, 1, 32, 0, [&] {
            int g = (int)threadIdx.x / 4, t = (int)threadIdx.x % 4;
            auto pair = [](int x, int y) {
                return from_float<A>((float)x).bits | (uint32_t)from_float<A>((float)y).bits << 16;
            };
            auto a_pair = [&](int i, int k) { return pair(i + k, i + k + 1); };
            auto b_pair = [&](int k, int j) { return pair(k - 2 * j, k + 1 - 2 * j); };
            uint32_t a[4] = {a_pair(g, 2 * t), a_pair(g + 8, 2 * t), a_pair(g, 2 * t + 8),
                             a_pair(g + 8, 2 * t + 8)},
                     b[2] = {b_pair(2 * t, g), b_pair(2 * t + 8, g)};
            float d[4] = {1, 1, 1, 1};
            mma<A>(d, a, b);
            for (int i = 0; i < 4; i++) {
                int row = g + i / 2 * 8, column = 2 * t + i % 2, want = 1;
                for (int k = 0; k < 16; k++)
                    want += (row + k) * (k - 2 * column);
                atomicAdd(&bad, (int)(d[i] != (float)want));
            }
        });
    };
    product(bf16());
    product(half());
    ok(bad == 0, "products of a warp: %d wrong", bad);

    bad = 0;
    static uint4 from[3] = {{1}, {2}, {3}}, to[3];
    run(s, 1, 1, 0, [&] {
        struct async_copies copies;
        for (int i = 0; i < 3; i++) {
            copies.copy(&to[i], &from[i], i != 1);
            copies.commit();
        }
        to[1].x = 7;
        copies.wait<1>();
        bad += to[0].x != 1 || to[1].x != 0 || to[2].x != 0;
        copies.wait<0>();
        bad += to[2].x != 3;
    });
    ok(bad == 0, "asynchronous copies are complete after their wait: %d wrong",
       bad);

    bad = 0;
    run(s, 1, 32, 4096, [&] { /* a row of A has its number in all columns; B is all ones */
        struct async_products products;
        half *b = (half *)emulate::shared_memory();
        const unsigned lane = threadIdx.x;
        for (unsigned i = lane; i < 2048; i += 32)
            b[i] = from_float<half>(1);
        __syncthreads();
        const uint32_t g = lane / 4, low = from_float<half>((float)g).bits * 0x10001u,
                       high = from_float<half>((float)(g + 8)).bits * 0x10001u,
                       a[4] = {low, high, low, high};
        float d[4] = {1, 1, 1, 1}, two = 0;
        void *const at[4] = {&d[0], &d[1], &d[2], &d[3]};
        products.fence();
        products.multiply<half, 8>(at, a, 8ull << 16 | 8ull << 32, true);
        products.commit();
        bad += d[0] == d[0];
        b[lane] = from_float<half>(lane == 0 ? 2 : 1); /* too early: element 0, 0 */
        products.wait<0>();
        two = lane % 4 == 0 ? (float)g : 0;
        bad += d[0] != 1 + 16 * (float)g + two || d[1] != 1 + 16 * (float)g;
        bad += d[3] != 1 + 16 * (float)(g + 8);
        for (int mode = 1; mode <= 3; mode++)
            for (int n = 0; n < 16; n++)
                for (int k = 0; k < (128 >> mode); k++) {
                    const int row = 256 >> mode, piece = k / 8 ^ (n % 8 >> (mode - 1));
                    const uint16_t *p = async_products::at(
                        (uint64_t)mode << 62 | (uint64_t)(row / 2) << 32, n, k);
                    bad += (const char *)p - (const char *)b !=
                           n / 8 * 8 * row + n % 8 * row + piece % (row / 16) * 16 + k % 8 * 2;
                }
    });
    ok(bad == 0, "wgmma ends at its wait; where B is, swizzled, too: %d wrong", bad);

    bad = 0;
    for (unsigned i = 0; i < 65536; i++) {
        float h = to_float(half{(uint16_t)i}), b = to_float(bf16{(uint16_t)i});
        bad += h == h && from_float<half>(h).bits != i;
        bad += b == b && from_float<bf16>(b).bits != i;
        /* half way to the next number: to the even one */
        if (i + 1 < 0x7c00)
            bad += from_float<half>((h + to_float(half{(uint16_t)(i + 1)})) / 2).bits != i + i % 2;
    }
    bad += from_float<half>(65519.9f).bits != 0x7bff || from_float<half>(65520).bits != 0x7c00 ||
           from_float<half>(-1e30f).bits != 0xfc00;
    bad += from_float<bf16>(1 + 0x1p-8f).bits != 0x3f80 ||
           from_float<bf16>(1 + 0x3p-8f).bits != 0x3f82 || from_float<bf16>(3.4e38f).bits != 0x7f80;
    ok(bad == 0, "conversions: %d wrong", bad);

    int *host, *device, seen = 0;
    cudaMallocHost((void **)&host, sizeof *host);
    cudaMalloc((void **)&device, sizeof *device);
    *host = 1;
    cudaMemcpyAsync(device, host, sizeof *host, cudaMemcpyHostToDevice, s);
    *host = 2; /* too early: the copy has not run */
    cudaMemcpyAsync(&seen, device, sizeof seen, cudaMemcpyDeviceToHost, s);
    ok(seen == 2, "a copy from pinned memory runs late");
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed);
    emulate::launch(s, "add", nullptr, 1, 1, 0, [=] { *device += 10; });
    cudaStreamEndCapture(s, &graph);
    cudaGraphInstantiate(&exec, graph, 0);
    cudaGraphDestroy(graph);
    cudaGraphLaunch(exec, s);
    cudaGraphLaunch(exec, s);
    cudaMemcpyAsync(&seen, device, sizeof seen, cudaMemcpyDeviceToHost, s);
    ok(seen == 22, "a graph runs as often as it is launched, and not when it is recorded: %d",
       seen);
    cudaGraphExecDestroy(exec);

    cudaStream_t t;
    cudaEvent_t begun, done_there;
    int x = 0;
    cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&begun, cudaEventDisableTiming);
    cudaEventCreateWithFlags(&done_there, cudaEventDisableTiming);
    auto both = [&](bool wait) {
        emulate::launch(s, "one", nullptr, 1, 1, 0, [&] { x = x % 10 + 1; });
        cudaEventRecord(begun, s);
        cudaStreamWaitEvent(t, begun, 0);
        emulate::launch(t, "there", nullptr, 1, 1, 0, [&] { x *= 100; });
        cudaEventRecord(done_there, t);
        if (wait)
            cudaStreamWaitEvent(s, done_there, 0);
        emulate::launch(s, "two", nullptr, 1, 1, 0, [&] { x += 2; });
    };
    both(true);
    cudaStreamSynchronize(s);
    ok(x == 102, "streams wait for each other: %d", x);
    both(false);
    cudaStreamSynchronize(s);
    seen = x;
    cudaStreamSynchronize(t);
    ok(seen == 5 && x == 500, "a second stream is late where nobody waits: %d, then %d", seen, x);
    cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed);
    both(true);
    cudaStreamEndCapture(s, &graph);
    cudaGraphInstantiate(&exec, graph, 0);
    cudaGraphDestroy(graph);
    cudaGraphLaunch(exec, s);
    cudaGraphLaunch(exec, s);
    cudaStreamSynchronize(s);
    ok(x == 302, "and in a graph, with each launch: %d", x);
    cudaGraphExecDestroy(exec);
    cudaEventDestroy(begun);
    cudaEventDestroy(done_there);
    cudaStreamDestroy(t);
    ok(cudaGetLastError() == cudaSuccess && cudaStreamEndCapture(s, &graph) != cudaSuccess &&
           cudaFree(device) == cudaSuccess && cudaGetLastError() == cudaErrorInvalidValue &&
           cudaGetLastError() == cudaSuccess,
       "a failure is noted until it is requested");
    cudaFreeHost(host);
#ifdef __SANITIZE_THREAD__
    check_races(s);
#endif
    cudaStreamDestroy(s);
    return done();
}
