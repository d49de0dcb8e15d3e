/* blas.cu - matrix products: cuBLASLt, a kernel of our own for what it has no algorithm for, and loops on the host in emulated builds. */
#include "blas.h"

#include <stdio.h>
#include <stdlib.h>

#ifdef TF_EMULATE

#include <vector>

struct tf_blas {
    int unused;
};

struct tf_blas *tf_blas_new(int, struct tf_err *)
{
    return new tf_blas();
}

void tf_blas_free(struct tf_blas *b)
{
    delete b;
}

void tf_blas_describe(const struct tf_blas *, char *text, size_t size)
{
    snprintf(text, size, "loops");
}

static float element(const void *p, enum tf_blas_elem e, size_t i)
{
    return e == TF_BLAS_F32 ? ((const float *)p)[i] : e == TF_BLAS_BF16 ? to_float(((const bf16 *)p)[i]) : to_float(((const half *)p)[i]);
}

void tf_blas_gemm(struct tf_ctx *c, const struct tf_gemm *given)
{
    tf_cuda_timed timed(c, "product", given->N, given->K);
    emulate::enqueue(c->stream, [g = *given] {
        size_t M = (size_t)g.M, N = (size_t)g.N, K = (size_t)g.K;
        std::vector<float> b(K * N), sums(N);
        for (size_t k = 0; k < K; k++)
            for (size_t j = 0; j < N; j++)
                b[k * N + j] = element(g.b, g.ab, g.tb ? j * g.ldb + k : k * g.ldb + j);
        for (size_t i = 0; i < M; i++) {
            std::fill(sums.begin(), sums.end(), 0.0f);
            for (size_t k = 0; k < K; k++) {
                float x = element(g.a, g.ab, g.ta ? k * g.lda + i : i * g.lda + k);
                for (size_t j = 0; j < N; j++)
                    sums[j] += x * b[k * N + j];
            }
            for (size_t j = 0; j < N; j++) {
                size_t at = i * g.ldd + j;
                float y = sums[j] + (g.beta != 0 ? g.beta * element(g.d, g.out, at) : 0) + (g.bias != nullptr ? element(g.bias, g.out, j) : 0);
                y = g.relu && !(y > 0) ? 0 : y;
                if (g.out == TF_BLAS_F32)
                    ((float *)g.d)[at] = y;
                else if (g.out == TF_BLAS_BF16)
                    ((bf16 *)g.d)[at] = from_float<bf16>(y);
                else
                    ((half *)g.d)[at] = from_float<half>(y);
            }
        }
    });
}

#else

#include <cublasLt.h>
#include <string>
#include <unordered_map>

namespace {

enum { WORKSPACE = 32 << 20, TYPICAL_ROWS = 512 }; /* the latter: the M by which the algorithm is chosen that serves any number of rows */

/* What an algorithm may depend on; compared as bytes, so no member may leave a gap. */
struct shape {
    int64_t M, N, K, lda, ldb, ldd;
    int32_t ta, tb, relu, bias, add, ab, out, any_rows;
    int32_t align_a, align_b, align_d, align_bias;
};

struct plan {
    cublasLtMatmulDesc_t op;
    cublasLtMatrixLayout_t a, b, d;
    cublasLtMatmulAlgo_t algo;
    size_t workspace;
    bool found; /* else the library has none, and multiply() does it */
};

} // namespace

struct tf_blas {
    cublasLtHandle_t lt;
    void *workspace;
    std::unordered_map<std::string, struct plan> plans; /* by the bytes of a shape */
    std::unordered_map<std::string, cublasLtMatmulAlgo_t> algos; /* for any_rows: by the bytes of a shape with M = TYPICAL_ROWS */
};

struct tf_blas *tf_blas_new(int, struct tf_err *err)
{
    struct tf_blas *b = new tf_blas();
    cublasStatus_t s = cublasLtCreate(&b->lt);
    cudaError_t e = s == CUBLAS_STATUS_SUCCESS ? cudaMalloc(&b->workspace, WORKSPACE) : cudaSuccess;
    if (s == CUBLAS_STATUS_SUCCESS && e == cudaSuccess)
        return b;
    tf_fail(err, "cuBLASLt: %s", s != CUBLAS_STATUS_SUCCESS ? cublasLtGetStatusString(s) : cudaGetErrorString(e));
    if (s == CUBLAS_STATUS_SUCCESS)
        cublasLtDestroy(b->lt);
    delete b;
    return nullptr;
}

void tf_blas_free(struct tf_blas *b)
{
    for (auto &i : b->plans) {
        cublasLtMatrixLayoutDestroy(i.second.a);
        cublasLtMatrixLayoutDestroy(i.second.b);
        cublasLtMatrixLayoutDestroy(i.second.d);
        cublasLtMatmulDescDestroy(i.second.op);
    }
    cublasLtDestroy(b->lt);
    cudaFree(b->workspace);
    delete b;
}

void tf_blas_describe(const struct tf_blas *, char *text, size_t size)
{
    size_t v = cublasLtGetVersion();
    snprintf(text, size, "cuBLASLt %zu.%zu.%zu", v / 10000, v % 10000 / 100, v % 100);
}

/* The largest power of two up to 256 that divides an address. */
static int32_t alignment(const void *p)
{
    uintptr_t x = (uintptr_t)p | 256;
    return (int32_t)(x & -x);
}

static cudaDataType_t type_of(int32_t e)
{
    return e == TF_BLAS_F32 ? CUDA_R_32F : e == TF_BLAS_BF16 ? CUDA_R_16BF : CUDA_R_16F;
}

static std::string bytes(const struct shape &s)
{
    return std::string((const char *)&s, sizeof s);
}

/* The library counts by columns: a row-major d = op(a) op(b) is its d' = op(b)' op(a)', with b as its first matrix and bias along its columns. */
static struct plan describe(const struct shape &s)
{
    struct plan p = {};
    cublasOperation_t first = s.tb ? CUBLAS_OP_T : CUBLAS_OP_N, second = s.ta ? CUBLAS_OP_T : CUBLAS_OP_N;
    cublasLtEpilogue_t end = s.bias ? (s.relu ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_BIAS) : s.relu ? CUBLASLT_EPILOGUE_RELU : CUBLASLT_EPILOGUE_DEFAULT;
    cudaDataType_t ab = type_of(s.ab), out = type_of(s.out);
    cublasLtMatmulDescCreate(&p.op, CUBLAS_COMPUTE_32F, CUDA_R_32F);
    cublasLtMatmulDescSetAttribute(p.op, CUBLASLT_MATMUL_DESC_TRANSA, &first, sizeof first);
    cublasLtMatmulDescSetAttribute(p.op, CUBLASLT_MATMUL_DESC_TRANSB, &second, sizeof second);
    cublasLtMatmulDescSetAttribute(p.op, CUBLASLT_MATMUL_DESC_EPILOGUE, &end, sizeof end);
    if (s.bias)
        cublasLtMatmulDescSetAttribute(p.op, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, &out, sizeof out);
    cublasLtMatrixLayoutCreate(&p.a, ab, s.tb ? s.K : s.N, s.tb ? s.N : s.K, s.ldb);
    cublasLtMatrixLayoutCreate(&p.b, ab, s.ta ? s.M : s.K, s.ta ? s.K : s.M, s.lda);
    cublasLtMatrixLayoutCreate(&p.d, out, s.N, s.M, s.ldd);
    return p;
}

static void choose(struct tf_blas *b, const struct shape &s, struct plan &p, const void *bias)
{
    cublasLtMatmulPreference_t want;
    size_t workspace = WORKSPACE;
    /* Parts of a split sum are added in a fixed order, from the workspace; for any_rows there are none. */
    uint32_t reduction = s.any_rows ? CUBLASLT_REDUCTION_SCHEME_NONE : CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
    uint32_t align_a = (uint32_t)s.align_b, align_b = (uint32_t)s.align_a, align_d = (uint32_t)s.align_d;
    cublasLtMatmulPreferenceCreate(&want);
    cublasLtMatmulPreferenceSetAttribute(want, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace, sizeof workspace);
    cublasLtMatmulPreferenceSetAttribute(want, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &reduction, sizeof reduction);
    cublasLtMatmulPreferenceSetAttribute(want, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, &align_a, sizeof align_a);
    cublasLtMatmulPreferenceSetAttribute(want, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, &align_b, sizeof align_b);
    cublasLtMatmulPreferenceSetAttribute(want, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, &align_d, sizeof align_d);
    cublasLtMatmulPreferenceSetAttribute(want, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, &align_d, sizeof align_d);
    if (s.bias)
        cublasLtMatmulDescSetAttribute(p.op, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof bias);
    cublasLtMatmulHeuristicResult_t r = {};
    int n = 0;
    cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(b->lt, p.op, p.a, p.b, p.d, p.d, want, 1, &r, &n);
    p.found = status == CUBLAS_STATUS_SUCCESS && n > 0 && r.state == CUBLAS_STATUS_SUCCESS;
    p.algo = r.algo;
    p.workspace = r.workspaceSize;
    cublasLtMatmulPreferenceDestroy(want);
}

static void drop(struct plan &p)
{
    cublasLtMatrixLayoutDestroy(p.a);
    cublasLtMatrixLayoutDestroy(p.b);
    cublasLtMatrixLayoutDestroy(p.d);
    cublasLtMatmulDescDestroy(p.op);
}

/* The plan of a shape, made at its first use. */
static struct plan &plan_of(struct tf_blas *b, const struct tf_gemm *g)
{
    struct shape s = {.M = g->M, .N = g->N, .K = g->K, .lda = (int64_t)g->lda, .ldb = (int64_t)g->ldb, .ldd = (int64_t)g->ldd, .ta = g->ta, .tb = g->tb, .relu = g->relu,
                      .bias = g->bias != nullptr, .add = g->beta != 0, .ab = g->ab, .out = g->out, .any_rows = g->any_rows, .align_a = alignment(g->a), .align_b = alignment(g->b),
                      .align_d = alignment(g->d), .align_bias = alignment(g->bias)};
    if (s.any_rows) { /* where rows begin tells nothing of them */
        int32_t row_a = alignment((void *)(g->lda * (s.ab == TF_BLAS_F32 ? 4 : 2))), row_d = alignment((void *)(g->ldd * (s.out == TF_BLAS_F32 ? 4 : 2)));
        s.align_a = row_a < 16 ? row_a : 16;
        s.align_d = row_d < 16 ? row_d : 16;
    }
    std::string key = bytes(s);
    auto known = b->plans.find(key);
    if (known != b->plans.end())
        return known->second;
    struct plan p = describe(s);
    if (s.any_rows) {
        struct shape typical = s;
        typical.M = TYPICAL_ROWS;
        std::string any = bytes(typical);
        auto algo = b->algos.find(any);
        if (algo == b->algos.end()) {
            struct plan q = describe(typical);
            choose(b, typical, q, g->bias);
            drop(q);
            if (q.found)
                algo = b->algos.emplace(any, q.algo).first;
        }
        cublasLtMatmulHeuristicResult_t r = {};
        if (algo != b->algos.end()) {
            p.algo = algo->second;
            p.found = cublasLtMatmulAlgoCheck(b->lt, p.op, p.a, p.b, p.d, p.d, &p.algo, &r) == CUBLAS_STATUS_SUCCESS && r.workspaceSize <= WORKSPACE;
            p.workspace = r.workspaceSize;
        }
    } else {
        choose(b, s, p, g->bias);
    }
    return b->plans.emplace(key, p).first->second;
}

/* A thread an element of d: for odd shapes only. */
template <typename A, typename D>
static __global__ void multiply(D *d, const A *a, const A *b, const D *bias, int M, int N, int K, size_t lda, size_t ldb, size_t ldd, bool ta, bool tb, bool relu, float beta)
{
    int j = (int)(blockIdx.x * blockDim.x + threadIdx.x), i = (int)(blockIdx.y * blockDim.y + threadIdx.y);
    if (i >= M || j >= N)
        return;
    float sum = 0;
    for (int k = 0; k < K; k++)
        sum += to_float(ta ? a[k * lda + i] : a[i * lda + k]) * to_float(tb ? b[j * ldb + k] : b[k * ldb + j]);
    D *at = d + i * ldd + j;
    sum += (beta != 0 ? beta * to_float(*at) : 0) + (bias != nullptr ? to_float(bias[j]) : 0);
    *at = from_float<D>(relu && !(sum > 0) ? 0 : sum);
}

template <typename A, typename D> static void multiply_plainly(struct tf_ctx *c, const struct tf_gemm *g)
{
    /* No more than 65535 blocks may lie above each other. */
    enum { ROWS = 8 * 65535 };
    for (int from = 0; from < g->M; from += ROWS) {
        int rows = g->M - from < ROWS ? g->M - from : ROWS;
        const A *a = (const A *)g->a + (g->ta ? (size_t)from : from * g->lda);
        launch(c, "product", multiply<A, D>, dim3(div_up(g->N, 32), div_up(rows, 8)), dim3(32, 8), 0, (D *)g->d + from * g->ldd, a, (const A *)g->b, (const D *)g->bias, rows, g->N, g->K,
               g->lda, g->ldb, g->ldd, g->ta, g->tb, g->relu, g->beta);
    }
}

void tf_blas_gemm(struct tf_ctx *c, const struct tf_gemm *g)
{
    if (g->M == 0 || g->N == 0)
        return;
    if (g->K > 0) {
        struct plan &p = plan_of(c->blas, g);
        if (p.found) {
            tf_cuda_timed timed(c, "product", g->N, g->K);
            float one = 1;
            if (g->bias != nullptr)
                cublasLtMatmulDescSetAttribute(p.op, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &g->bias, sizeof g->bias);
            cublasStatus_t s = cublasLtMatmul(c->blas->lt, p.op, &one, g->b, p.a, g->a, p.b, &g->beta, g->d, p.d, g->d, p.d, &p.algo, c->blas->workspace, p.workspace, c->stream);
            if (s != CUBLAS_STATUS_SUCCESS && c->err.status == 0)
                tf_fail(&c->err, "a product of %d x %d x %d: %s", g->M, g->N, g->K, cublasLtGetStatusString(s));
            return;
        }
    }
    if (g->ab == TF_BLAS_F32)
        multiply_plainly<float, float>(c, g);
    else if (g->ab == TF_BLAS_BF16)
        g->out == TF_BLAS_F32 ? multiply_plainly<bf16, float>(c, g) : multiply_plainly<bf16, bf16>(c, g);
    else
        g->out == TF_BLAS_F32 ? multiply_plainly<half, float>(c, g) : multiply_plainly<half, half>(c, g);
}

#endif
