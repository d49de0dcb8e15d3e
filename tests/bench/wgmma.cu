/* wgmma.cu - does wgmma add up as mma.sync does? Then decoding could multiply many rows by wgmma
 * and few by mma.sync (lib/ops/cuda/product.cu), and a row would still not depend on others. On a
 * device of compute capability 9.0 a tile, 64 rows by 8 columns, is multiplied by both, 16 of K at
 * a time; printed is how many sums have the same bytes, and how far the worst of each are from
 * those in double, which shows that both read the tile aright. */
#include <cuda_fp16.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

enum { M = 64, N = 8, K = 512 };

/* a [M, K], b [N, K]. 128 threads; fragments as device_private.h has them for mma(). */
static __global__ void tile(const half *a, const half *b, float *by_mma, float *by_wgmma)
{
    __shared__ alignas(128) half room[N * 16];
    const int warp = threadIdx.x / 32, g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    const half *row = a + (16 * warp + g) * K + 2 * t, *column = b + g * K + 2 * t;
    float d[4] = {}, e[4] = {};
    for (int k = 0; k < K; k += 16) {
        auto pair = [&](const half *p) { return *(const uint32_t *)(p + k); };
        const uint32_t x[4] = {pair(row), pair(row + 8 * K), pair(row + 8), pair(row + 8 * K + 8)},
                       y[2] = {pair(column), pair(column + 8)};
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, "
                     "{%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                     : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
        /* b in two matrices of 8 rows of 16 bytes, 128 bytes apart */
        const int i = threadIdx.x;
        __syncthreads();
        room[i] = b[i % 64 / 8 * K + k + i / 64 * 8 + i % 8];
        asm volatile("fence.proxy.async;" ::: "memory");
        __syncthreads();
        const uint64_t at = __cvta_generic_to_shared(room),
                       layout = at >> 4 | (uint64_t)(128 >> 4) << 16 | (uint64_t)(128 >> 4) << 32;
        asm volatile("{ .reg .pred add; setp.eq.u32 add, 0, 0; wgmma.fence.sync.aligned;"
                     "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0,%1,%2,%3}, "
                     "{%4,%5,%6,%7}, %8, add, 1, 1, 0; wgmma.commit_group.sync.aligned;"
                     "wgmma.wait_group.sync.aligned 0; }"
                     : "+f"(e[0]), "+f"(e[1]), "+f"(e[2]), "+f"(e[3])
                     : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "l"(layout)
                     : "memory");
    }
    for (int i = 0; i < 4; i++) {
        const int at = (16 * warp + g + i / 2 * 8) * N + 2 * t + i % 2;
        by_mma[at] = d[i];
        by_wgmma[at] = e[i];
    }
}

int main()
{
    half *a;
    float *sums[2];
    if (cudaMallocManaged(&a, (M + N) * K * sizeof *a) != cudaSuccess ||
        cudaMallocManaged(&sums[0], 2 * M * N * sizeof(float)) != cudaSuccess)
        return 1;
    sums[1] = sums[0] + M * N;
    for (int i = 0; i < (M + N) * K; i++)
        a[i] = __float2half((float)(ldexp(rand(), -30) - 1) * exp2f((float)(rand() % 8 - 4)));
    const half *b = a + M * K;
    tile<<<1, 128>>>(a, b, sums[0], sums[1]);
    const cudaError_t failed = cudaDeviceSynchronize();
    if (failed != cudaSuccess) {
        fprintf(stderr, "wgmma: %s\n", cudaGetErrorString(failed));
        return 1;
    }
    int same = 0;
    double worst[2] = {};
    for (int m = 0; m < M; m++)
        for (int n = 0; n < N; n++) {
            double sum = 0;
            for (int k = 0; k < K; k++)
                sum += (double)__half2float(a[m * K + k]) * (double)__half2float(b[n * K + k]);
            for (int i = 0; i < 2; i++)
                worst[i] = fmax(worst[i], fabs(sums[i][m * N + n] - sum));
            same += memcmp(&sums[0][m * N + n], &sums[1][m * N + n], sizeof(float)) == 0;
        }
    printf("%d of %d sums have the same bytes; off by %.1e and %.1e at most\n", same, M * N,
           worst[0], worst[1]);
    return 0;
}
