/* xent.cu - projection to the vocabulary, softmax and cross-entropy with label smoothing, and their
 * gradients, in chunks of rows: z = x E'; then a block a row adds the biases and turns its logits
 * into the terms of the loss and, in place, into dz = softmax(z) - q, both times the row's weight;
 * then dx = dz E, dE += dz' x and db += the sums of dz's columns.
 *
 * Logits are in A where gradients are computed, because the tensor cores need dz in A, and in float
 * where only the loss is requested. */
#include "blas_private.h"
#include "ops/cuda/memory_private.h"
#include "ops/cuda/weights_private.h"

enum {
    THREADS = 512, /* for a row, at most */
    STEP = 128, /* a chunk's rows are a multiple of this */
    ALIGN = 64, /* elements between rows of logits, too: 128 bytes or more, a line of the cache */
    TERMS = 3,  /* of a row: loss, -log p(target), whether the most probable id is the target */
};

/* Bytes for a chunk's logits. Each chunk reads and writes dE once more and costs four launches, and
 * dx of a few thousand rows and a width of 512 is fewer tiles than a large device has
 * multiprocessors, so there should be few chunks: 25,088 rows of 37,000 logits are one. What is
 * bound by memory is the one kernel here, and it goes over its row twice in a row, the second time
 * out of the cache, whatever the size of the chunk. TF_CUDA_XENT_ROOM: for devices with less
 * memory, and for tests, which have no batches as large as that. */
static size_t room_for_logits(const struct tf_ctx *c)
{
    return c->logits_room > 0 ? c->logits_room : (size_t)2 << 30;
}

/* What a thread has seen of a row. */
struct seen {
    float max, exps, sum; /* the largest logit, sum of exp(z - max), sum of z - z[target] */
    uint32_t best;        /* lowest column of the largest */
};

/* exp(z - max), and 0 for z = -inf whatever max. One multiplication with addition and one
 * exponential: 10^9 of them in a batch of 25,000 tokens. */
__device__ static inline float exp_of(float z, float max)
{
    return exp2f(fmaf(z, LOG2E, max == -INFINITY ? 0 : -max * LOG2E));
}

/* z [N] += b[j ..], of which those before V exist; b NULL: 0 */
template <int N>
__device__ static inline void add_bias(float z[N], const float *b, uint32_t j, uint32_t V)
{
    for (uint32_t i = 0; i < N && j + i < V; i++)
        z[i] += b[j + i];
}

/* N neighbours from column j on, of which those before V count. */
template <int N>
__device__ static inline void see(struct seen &s, float z[N], uint32_t j, uint32_t V, float target)
{
    if (j + N <= V)
        for (int i = 0; i < N; i++)
            s.sum += z[i] - target;
    else
        for (int i = 0; i < N; i++)
            if (j + i < V)
                s.sum += z[i] - target;
            else
                z[i] = -INFINITY;
    float max = z[0];
    for (int i = 1; i < N; i++)
        max = fmaxf(max, z[i]);
    if (max > s.max) {
        s.exps *= exp_of(s.max, max);
        s.max = max;
        for (int i = N; i-- > 0;)
            s.best = z[i] == max ? j + i : s.best;
    }
    for (int i = 0; i < N; i++)
        s.exps += exp_of(z[i], s.max);
}

/* Logits z [rows of the chunk, ld], ld a multiple of the elements of a vec. terms: TERMS arrays of
 * a row each; logp NULL or by row. GRADIENT: z becomes dz, 0 in rows past the count. */
template <typename Z, bool GRADIENT, bool BIAS>
static __global__ void __launch_bounds__(THREADS)
    softmax(Z *z, const float *b, size_t ld, size_t begin, const uint32_t *targets,
            const float *weights, const struct tf_rows_head *head, size_t cap, uint32_t V,
            float on, float off, double *terms, float *logp)
{
    constexpr int N = vec<Z>::N;
    __shared__ float room[32];
    __shared__ double wide[32];
    __shared__ uint32_t best;
    size_t row = begin + blockIdx.x;
    z += blockIdx.x * ld;
    if (row >= head->rows) {
        if (GRADIENT)
            for (uint32_t j = threadIdx.x * N; j < V; j += blockDim.x * N)
                *(vec<Z> *)(z + j) = vec<Z>{};
        return;
    }
    const float weight = weights != nullptr ? weights[row] : 1;
    uint32_t target = targets[row], vecs = (V + N - 1) / N;
    float zt = to_float(z[target]) + (BIAS ? b[target] : 0), v[N];
    struct seen s = {-INFINITY, 0, 0, UINT32_MAX};
    if (threadIdx.x == 0)
        best = UINT32_MAX;
    each_of_block<4>((const vec<Z> *)z, vecs, [&](uint32_t j, const vec<Z> &x) {
        for (int i = 0; i < N; i++)
            v[i] = to_float(x.v[i]);
        if (BIAS)
            add_bias<N>(v, b, j * N, V);
        see<N>(s, v, j * N, V, zt);
    });
    float max = block_max(s.max, room),
          total = block_sum(s.exps == 0 ? 0 : s.exps * exp_of(s.max, max), room);
    double sum = block_sum((double)s.sum, wide);
    if (s.max == max)
        atomicMin(&best, s.best);
    __syncthreads(); /* all have read z[target], too */
    if (threadIdx.x == 0) {
        double nll = log((double)total) + max - zt;
        terms[row] = weight * (((double)on - off) * nll + off * (V * nll - sum));
        terms[cap + row] = nll;
        terms[2 * cap + row] = best == target;
        if (logp != nullptr)
            logp[row] = (float)-nll;
    }
    if (!GRADIENT)
        return;
    const float scale = weight / total;
    on *= weight;
    off *= weight;
    each_of_block<4>((const vec<Z> *)z, vecs, [&](uint32_t j, vec<Z> x) {
        for (uint32_t i = 0; i < N; i++)
            v[i] = to_float(x.v[i]);
        if (BIAS)
            add_bias<N>(v, b, j * N, V);
        for (uint32_t i = 0; i < N; i++)
            x.v[i] =
                from_float<Z>(exp_of(v[i], max) * scale - (j * N + i == target ? on : off));
        *(vec<Z> *)(z + j * N) = x;
    });
}

/* acc[block] += sum over the rows of its term, in an order that is theirs alone; the first block
 * counts rows as well. */
static __global__ void __launch_bounds__(1024)
    add_terms(double *acc, const double *terms, const struct tf_rows_head *head, size_t cap)
{
    __shared__ double room[32];
    double sum = 0;
    for (size_t r = threadIdx.x; r < head->rows; r += 1024)
        sum += terms[blockIdx.x * cap + r];
    sum = block_sum(sum, room);
    if (threadIdx.x == 0) {
        acc[blockIdx.x] += sum;
        if (blockIdx.x == 0)
            acc[TERMS] += head->rows;
    }
}

/* db[j] (+)= the sum of column j of dz [rows, ld]; adds where it is not the first chunk. A block
 * has LANES columns; thread (lane, group) takes every GROUPS-th row. */
enum { LANES = 32, GROUPS = 16 };
template <typename A>
static __global__ void __launch_bounds__(LANES *GROUPS)
    bias_gradient(float *db, const A *dz, size_t ld, size_t rows, uint32_t V, bool add)
{
    __shared__ float room[GROUPS][LANES];
    const uint32_t j = blockIdx.x * LANES + threadIdx.x;
    float sum = 0;
    if (j < V)
        for (size_t r = threadIdx.y; r < rows; r += GROUPS)
            sum += to_float(dz[r * ld + j]);
    room[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y > 0 || j >= V)
        return;
    sum = add ? db[j] : 0;
    for (int g = 0; g < GROUPS; g++)
        sum += room[g][threadIdx.x];
    db[j] = sum;
}

static void clear(struct tf_ctx *c, tf_mem *p, size_t n)
{
    cudaError_t failed = cudaMemsetAsync(p, 0, n * sizeof(float), tf_cuda_stream(c));
    if (failed != cudaSuccess)
        tf_cuda_failed(c, failed, "xent");
}

template <typename A> void tf_cuda_ops<A>::xent(struct tf_ctx *c, const struct tf_xent *x)
{
    size_t cap = x->rows->cap_rows, V = (size_t)x->V, D = (size_t)x->D,
           ld = (V + ALIGN - 1) / ALIGN * ALIGN,
           size = x->dx != nullptr ? sizeof(A) : sizeof(float);
    /* a function of V alone and not of the memory that is there, so that the order of sums over
     * rows is too */
    size_t chunk = room_for_logits(c) / (ld * size) / STEP * STEP;
    if (chunk < STEP)
        chunk = STEP;
    size_t most = (chunk < cap ? chunk : cap) * ld * size, terms_at = (most + 255) / 256 * 256;
    char *room = (char *)tf_cuda_scratch(c, terms_at + TERMS * cap * sizeof(double));
    if (room == nullptr)
        return;
    double *terms = (double *)(room + terms_at);
    const A *e = tf_cuda_shadow<A>(c, x->e);
    if (e == nullptr)
        return;
    const enum tf_blas_elem kind = tf_blas_elem_of<A>(),
                            logit = x->dx != nullptr ? kind : TF_BLAS_F32;
    unsigned threads = div_up(ld, 1024) * 32; /* for about four loads each; a function of V alone */
    threads = threads < (unsigned)THREADS ? threads : (unsigned)THREADS;
    auto run = [&](auto kernel, auto *z, size_t begin, size_t n) {
        launch(c, "xent", kernel, dim3((unsigned)n), dim3(threads), 0, z,
               (const float *)x->b, ld, begin,
               (const uint32_t *)x->targets, (const float *)x->weights, x->rows->head, cap,
               (uint32_t)V, x->on, x->off, terms, (float *)x->logp);
    };
    for (size_t begin = 0; begin < cap; begin += chunk) {
        size_t n = cap - begin < chunk ? cap - begin : chunk;
        const A *in = (const A *)x->x + begin * D;
        struct tf_gemm logits = {};
        logits.M = (int)n, logits.N = x->V, logits.K = x->D;
        logits.a = in, logits.lda = D, logits.b = e, logits.ldb = D, logits.tb = true,
        logits.ab = kind;
        logits.d = room, logits.ldd = ld, logits.out = logit;
        tf_blas_gemm(c, &logits);
        if (x->dx == nullptr) {
            run(x->b != nullptr ? softmax<float, false, true> : softmax<float, false, false>,
                (float *)room, begin, n);
            continue;
        }
        run(x->b != nullptr ? softmax<A, true, true> : softmax<A, true, false>, (A *)room, begin,
            n);
        if (x->db != nullptr)
            launch(c, "xent", bias_gradient<A>, dim3(div_up(V, LANES)), dim3(LANES, GROUPS), 0,
                   (float *)x->db, (const A *)room, ld, n, (uint32_t)V, begin > 0);
        struct tf_gemm dx = {}, de = {};
        dx.M = (int)n, dx.N = x->D, dx.K = x->V;
        dx.a = room, dx.lda = ld, dx.b = e, dx.ldb = D, dx.ab = kind;
        dx.d = (A *)x->dx + begin * D, dx.ldd = D, dx.out = kind;
        tf_blas_gemm(c, &dx);
        de.M = x->V, de.N = x->D, de.K = (int)n, de.over_rows = true;
        de.a = room, de.lda = ld, de.ta = true, de.b = in, de.ldb = D, de.ab = kind;
        de.d = x->de, de.ldd = D, de.out = TF_BLAS_F32, de.beta = begin > 0 ? 1 : 0;
        tf_blas_gemm(c, &de);
    }
    if (cap > 0)
        launch(c, "xent", add_terms, dim3(TERMS), dim3(1024), 0, (double *)x->acc,
               (const double *)terms, x->rows->head, cap);
    else {
        if (x->de != nullptr)
            clear(c, x->de, V * D);
        if (x->db != nullptr)
            clear(c, x->db, V);
    }
}

TF_CUDA_EVERY(xent)
