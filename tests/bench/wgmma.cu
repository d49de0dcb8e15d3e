/* wgmma.cu - does wgmma add up as mma.sync does? Then decoding could multiply many rows by wgmma
 * and few by mma.sync (lib/ops/cuda/product.cu), and a row would still not depend on others. On a
 * device of compute capability 9.0 a tile, 64 rows by N columns, is multiplied by both, 16 of K at
 * a time; printed is how many sums have the same bytes, and how far the worst of each are from
 * those in double, which shows that both read the tile aright. In the emulation, which runs nvcc's
 * PTX of it, only the latter says something: its order of sums is one order for both. */
#include "ops/cuda/device_private.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

enum { M = 64, N = 64, K = 512 };

#ifdef TF_EMULATE
#define __half2float to_float
#define __float2half from_float<half>
static void tile(const half *, const half *, float *, float *)
{
    __builtin_trap();
}
#else
/* a [M, K], b [N, K]. 128 threads; fragments as device_private.h has them for mma(). */
static __global__ void tile(const half *a, const half *b, float *by_mma, float *by_wgmma)
{
    TF_SHARED(half, room); /* [2][N][8]: units of 8 rows of 16 bytes */
    const int warp = threadIdx.x / 32, g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    const half *row = a + (16 * warp + g) * K + 2 * t;
    float d[N / 8][4] = {}, e[N / 8][4] = {};
    for (int k = 0; k < K; k += 16) {
        auto pair = [&](const half *p) { return *(const uint32_t *)(p + k); };
        const uint32_t x[4] = {pair(row), pair(row + 8 * K), pair(row + 8), pair(row + 8 * K + 8)};
        for (int n = 0; n < N / 8; n++) {
            const half *column = b + (8 * n + g) * K + 2 * t;
            const uint32_t y[2] = {pair(column), pair(column + 8)};
            mma<half>(d[n], x, y);
        }
        __syncthreads();
        for (int i = threadIdx.x; i < 16 * N; i += 128)
            room[i] = b[i / 8 % N * K + k + i / 8 / N * 8 + i % 8];
        asm volatile("fence.proxy.async;" ::: "memory");
        __syncthreads();
        /* from one half of K to the other 16 N bytes, from 8 rows to the next 128 */
        const uint64_t at = __cvta_generic_to_shared(room),
                       layout = at >> 4 | (uint64_t)N << 16 | (uint64_t)(128 >> 4) << 32;
#define SUMS(n) "+f"(e[n][0]), "+f"(e[n][1]), "+f"(e[n][2]), "+f"(e[n][3])
        asm volatile("{ .reg .pred %%add; setp.eq.u32 %%add, 0, 0; wgmma.fence.sync.aligned;"
                     "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {%0,%1,%2,%3,%4,%5,%6,%7,"
                     "%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,"
                     "%27,%28,%29,%30,%31}, {%32,%33,%34,%35}, %36, %%add, 1, 1, 0;"
                     "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0; }"
                     : SUMS(0), SUMS(1), SUMS(2), SUMS(3), SUMS(4), SUMS(5), SUMS(6), SUMS(7)
                     : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "l"(layout)
                     : "memory");
    }
    for (int n = 0; n < N / 8; n++)
        for (int i = 0; i < 4; i++) {
            const int at = (16 * warp + g + i / 2 * 8) * N + 8 * n + 2 * t + i % 2;
            by_mma[at] = d[n][i];
            by_wgmma[at] = e[n][i];
        }
}
#endif

static void run(cudaStream_t s, const half *a, float *sums)
{
    const size_t shared = 2 * N * 16;
    float *others = sums + M * N;
#ifdef TF_EMULATE
    emulate::launch(s, "tile", (const void *)tile, 1, 128, shared,
                    emulate::thread_of(tile, a, a + M * K, sums, others));
#else
    tile<<<1, 128, shared, s>>>(a, a + M * K, sums, others);
#endif
}

int main()
{
    static half a[(M + N) * K];
    static float sums[2][M * N];
    void *x, *y;
    for (half &v : a)
        v = __float2half((float)(ldexp(rand(), -30) - 1) * exp2f((float)(rand() % 8 - 4)));
    cudaStream_t s;
    cudaError_t e = cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    e = e == cudaSuccess ? cudaMalloc(&x, sizeof a) : e;
    e = e == cudaSuccess ? cudaMalloc(&y, sizeof sums) : e;
    if (e == cudaSuccess) {
        cudaMemcpyAsync(x, a, sizeof a, cudaMemcpyHostToDevice, s);
        run(s, (const half *)x, (float *)y);
        cudaMemcpyAsync(sums, y, sizeof sums, cudaMemcpyDeviceToHost, s);
        e = cudaStreamSynchronize(s);
    }
    if (e != cudaSuccess) {
        fprintf(stderr, "wgmma: %s\n", cudaGetErrorString(e));
        return 1;
    }
    int same = 0;
    double worst[2] = {};
    for (int m = 0; m < M; m++)
        for (int n = 0; n < N; n++) {
            double sum = 0;
            for (int k = 0; k < K; k++)
                sum += (double)__half2float(a[m * K + k]) *
                       (double)__half2float(a[(M + n) * K + k]);
            for (int i = 0; i < 2; i++)
                worst[i] = fmax(worst[i], fabs(sums[i][m * N + n] - sum));
            same += memcmp(&sums[0][m * N + n], &sums[1][m * N + n], sizeof(float)) == 0;
        }
    printf("%d of %d sums have the same bytes; off by %.1e and %.1e at most\n", same, M * N,
           worst[0], worst[1]);
    return 0;
}
