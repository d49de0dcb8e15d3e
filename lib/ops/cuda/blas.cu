/* blas.cu - matrix products: cuBLASLt, a kernel of our own for what it has no algorithm for, and
 * loops on the host in emulated builds. */
#include "blas.h"

#include <algorithm>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The largest power of two up to 256 that divides an address. */
static int32_t alignment(const void *p)
{
    uintptr_t x = (uintptr_t)p | 256;
    return (int32_t)(x & -x);
}

/* What the epilogue reads or writes by columns. */
static const void *vector_of(const struct tf_gemm *g)
{
    return g->column_sums != nullptr ? g->column_sums : g->bias;
}

/* The library has no word for how a vector is aligned, and may have a kernel that reads it by 16
 * bytes. */
static bool vector_fits(const struct tf_gemm *g)
{
    return alignment(vector_of(g)) >= 16;
}

/* As a tuning file names it: rows by about how many there are, and all else that an algorithm may
 * depend on. */
static std::string name_of(const struct tf_gemm *g)
{
    static const char *const kinds[] = {"fp32", "bf16", "fp16"};
    char text[200];
    snprintf(text, sizeof text,
             "%lldx%dx%lld %c%c %s %s%s%s%s%s%s%s ld %zu %zu %zu align %d %d %d %d",
             (long long)(g->over_rows ? g->M : tf_tuning_rows(g->M)), g->N,
             (long long)(g->over_rows ? tf_tuning_rows(g->K) : g->K), g->ta ? 't' : 'n',
             g->tb ? 't' : 'n', kinds[g->ab], kinds[g->out], g->bias != nullptr ? " bias" : "",
             g->relu ? " relu" : "", g->beta != 0 ? " add" : "", g->over_rows ? " over-rows" : "",
             g->mask != nullptr ? " mask" : "", g->column_sums != nullptr ? " column-sums" : "",
             g->lda, g->ldb, g->ldd, alignment(g->a), alignment(g->b), alignment(g->d),
             alignment(vector_of(g)));
    return text;
}

/* As the account of TF_CUDA_TIMES names it: by all but its number of rows, which few products
 * share. */
static std::string family_of(const struct tf_gemm *g)
{
    char text[100];
    if (!tf_cuda_timing())
        return "";
    if (g->over_rows)
        snprintf(text, sizeof text, "weights %d x %d%s", g->M, g->N,
                 g->column_sums != nullptr ? " +sums" : "");
    else
        snprintf(text, sizeof text, "product %c%c by %d x %d%s", g->ta ? 't' : 'n',
                 g->tb ? 't' : 'n', g->K, g->N, g->mask != nullptr ? " +mask" : "");
    return text;
}

/* Bits of a row of a mask: a multiple of 128, as the library wants it. */
static size_t mask_ld(size_t N)
{
    return (N + 127) / 128 * 128;
}

size_t tf_blas_mask_size(size_t rows, size_t N)
{
    return rows * mask_ld(N) / 8;
}

#ifdef TF_EMULATE

#include <vector>

struct tf_blas {
    struct tf_tuning tuning;
};

struct tf_blas *tf_blas_new(const char *device, struct tf_err *)
{
    return new tf_blas{
        {.device = device, .library = 0, .measuring = false, .entries = {}, .order = {}}};
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
    return e == TF_BLAS_F32    ? ((const float *)p)[i]
           : e == TF_BLAS_BF16 ? to_float(((const bf16 *)p)[i])
                               : to_float(((const half *)p)[i]);
}

static void put(void *p, enum tf_blas_elem e, size_t i, float x)
{
    if (e == TF_BLAS_F32)
        ((float *)p)[i] = x;
    else if (e == TF_BLAS_BF16)
        ((bf16 *)p)[i] = from_float<bf16>(x);
    else
        ((half *)p)[i] = from_float<half>(x);
}

void tf_blas_gemm(struct tf_ctx *c, const struct tf_gemm *given)
{
    if (c->blas->tuning.measuring && !given->any_rows && given->M > 0 && given->N > 0 &&
        given->K > 0)
        tf_tuning_add(&c->blas->tuning, name_of(given), {{0}, 1, 1}); /* nothing takes time here */
    tf_cuda_timed timed(c, family_of(given).c_str());
    emulate::enqueue(tf_cuda_stream(c), [g = *given] {
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
                size_t at = i * g.ldd + j, bit = i * mask_ld(N) + j;
                uint8_t *mask = g.mask != nullptr ? (uint8_t *)g.mask + bit / 8 : nullptr;
                float y = sums[j] + (g.beta != 0 ? g.beta * element(g.d, g.out, at) : 0) +
                          (g.bias != nullptr ? element(g.bias, g.out, j) : 0);
                if (mask != nullptr && g.relu)
                    *mask = (uint8_t)((*mask & ~(1 << bit % 8)) | (y > 0) << bit % 8);
                bool cut = g.relu ? !(y > 0) : mask != nullptr && (*mask >> bit % 8 & 1) == 0;
                put(g.d, g.out, at, cut ? 0 : y);
            }
        }
        if (g.column_sums == nullptr)
            return;
        std::fill(sums.begin(), sums.end(), 0.0f);
        for (size_t k = 0; k < K; k++)
            for (size_t j = 0; j < N; j++)
                sums[j] += b[k * N + j];
        for (size_t j = 0; j < N; j++)
            put(g.column_sums, g.out, j, sums[j]);
    });
}

/* Widths that are no multiple of 8 stand in for what the library has no algorithm for. */
bool tf_blas_gemm_with(struct tf_ctx *c, const struct tf_gemm *g)
{
    if (g->M == 0 || g->N == 0 || g->K == 0 || g->N % 8 != 0 || !vector_fits(g))
        return false;
    tf_blas_gemm(c, g);
    return true;
}

#else

#include <cublasLt.h>

static_assert(sizeof(cublasLtMatmulAlgo_t) == sizeof(tf_tuned::algo),
              "an algorithm is kept as its bytes");

namespace {

enum {
    WORKSPACE = 32 << 20,
    TYPICAL_ROWS = 512, /* the M by which the algorithm is chosen that serves any number of rows */
    TRIED = 16,         /* algorithms that are measured */
    TIMES = 9,          /* and how often each; the median counts */
    SPLIT_K = 128,      /* a split sum's length must be a multiple: some versions drop the rest */
    TELL = 1 << 24,     /* multiplications from which on it is told that there is no algorithm */
};

/* What an algorithm may depend on; compared as bytes, so no member may leave a gap. */
struct shape {
    int64_t M, N, K, lda, ldb, ldd;
    int32_t ta, tb, relu, bias, add, ab, out, any_rows, mask, column_sums;
    int32_t align_a, align_b, align_d, align_vector;
};

struct plan {
    cublasLtMatmulDesc_t op;
    cublasLtMatrixLayout_t a, b, d;
    cublasLtMatmulAlgo_t algo;
    size_t workspace;
    cublasStatus_t status; /* what the library last said of an algorithm */
    bool found; /* else the library has none that works, and multiply() does it */
};

} // namespace

struct tf_blas {
    cublasLtHandle_t lt;
    void *workspace;
    std::unordered_map<std::string, struct plan> plans; /* by the bytes of a shape */
    /* for any_rows: by the bytes of a shape with M = TYPICAL_ROWS */
    std::unordered_map<std::string, cublasLtMatmulAlgo_t> algos;
    struct tf_tuning tuning;
};

struct tf_blas *tf_blas_new(const char *device, struct tf_err *err)
{
    struct tf_blas *b = new tf_blas();
    b->tuning = {.device = device,
                 .library = cublasLtGetVersion(),
                 .measuring = false,
                 .entries = {},
                 .order = {}};
    cublasStatus_t s = cublasLtCreate(&b->lt);
    cudaError_t e = s == CUBLAS_STATUS_SUCCESS ? cudaMalloc(&b->workspace, WORKSPACE) : cudaSuccess;
    if (s == CUBLAS_STATUS_SUCCESS && e == cudaSuccess)
        return b;
    cudaGetLastError();
    tf_fail(err, "cuBLASLt: %s",
            s != CUBLAS_STATUS_SUCCESS ? cublasLtGetStatusString(s) : cudaGetErrorString(e));
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

static cudaDataType_t type_of(int32_t e)
{
    return e == TF_BLAS_F32 ? CUDA_R_32F : e == TF_BLAS_BF16 ? CUDA_R_16BF : CUDA_R_16F;
}

static std::string bytes(const struct shape &s)
{
    return std::string((const char *)&s, sizeof s);
}

/* Names of the library's: its first matrix is our b, so that sums over our b's columns are the
 * "bias gradient" of A. */
static cublasLtEpilogue_t epilogue(const struct shape &s)
{
    if (s.column_sums)
        return CUBLASLT_EPILOGUE_BGRADA;
    if (s.relu && s.mask)
        return s.bias ? CUBLASLT_EPILOGUE_RELU_AUX_BIAS : CUBLASLT_EPILOGUE_RELU_AUX;
    if (s.mask)
        return CUBLASLT_EPILOGUE_DRELU;
    if (s.relu)
        return s.bias ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_RELU;
    return s.bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
}

/* Where the epilogue's vector and mask lie: before an algorithm is asked for, and before every
 * product. */
static void point(const struct plan &p, const struct tf_gemm *g)
{
    const void *vector = vector_of(g);
    if (vector != nullptr)
        cublasLtMatmulDescSetAttribute(p.op, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &vector,
                                       sizeof vector);
    if (g->mask != nullptr)
        cublasLtMatmulDescSetAttribute(p.op, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, &g->mask,
                                       sizeof g->mask);
}

/* The library counts by columns: a row-major d = op(a) op(b) is its d' = op(b)' op(a)', with b as
 * its first matrix and bias along its columns. */
static struct plan describe(const struct shape &s)
{
    struct plan p = {};
    cublasOperation_t first = s.tb ? CUBLAS_OP_T : CUBLAS_OP_N,
                      second = s.ta ? CUBLAS_OP_T : CUBLAS_OP_N;
    cublasLtEpilogue_t end = epilogue(s);
    cudaDataType_t ab = type_of(s.ab), out = type_of(s.out);
    cublasLtMatmulDescCreate(&p.op, CUBLAS_COMPUTE_32F, CUDA_R_32F);
    cublasLtMatmulDescSetAttribute(p.op, CUBLASLT_MATMUL_DESC_TRANSA, &first, sizeof first);
    cublasLtMatmulDescSetAttribute(p.op, CUBLASLT_MATMUL_DESC_TRANSB, &second, sizeof second);
    cublasLtMatmulDescSetAttribute(p.op, CUBLASLT_MATMUL_DESC_EPILOGUE, &end, sizeof end);
    if (s.bias || s.column_sums)
        cublasLtMatmulDescSetAttribute(p.op, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, &out, sizeof out);
    if (s.mask) {
        int64_t ld = (int64_t)mask_ld((size_t)s.N);
        cublasLtMatmulDescSetAttribute(p.op, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, &ld, sizeof ld);
    }
    cublasLtMatrixLayoutCreate(&p.a, ab, s.tb ? s.K : s.N, s.tb ? s.N : s.K, s.ldb);
    cublasLtMatrixLayoutCreate(&p.b, ab, s.ta ? s.M : s.K, s.ta ? s.K : s.M, s.lda);
    cublasLtMatrixLayoutCreate(&p.d, out, s.N, s.M, s.ldd);
    return p;
}

/* The algorithms that the library would take, the best by its own estimate first; how many there
 * are. */
static int ask(struct tf_blas *b, const struct shape &s, struct plan &p, const struct tf_gemm *g,
               cublasLtMatmulHeuristicResult_t *found, int most)
{
    cublasLtMatmulPreference_t want;
    size_t workspace = WORKSPACE;
    /* Parts of a split sum are added in a fixed order, from the workspace; for any_rows there are
     * none. */
    uint32_t reduction = s.any_rows || s.K % SPLIT_K != 0 ? CUBLASLT_REDUCTION_SCHEME_NONE
                                                          : CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
    uint32_t align_a = (uint32_t)s.align_b, align_b = (uint32_t)s.align_a,
             align_d = (uint32_t)s.align_d;
    cublasLtMatmulPreferenceCreate(&want);
    cublasLtMatmulPreferenceSetAttribute(want, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace,
                                         sizeof workspace);
    cublasLtMatmulPreferenceSetAttribute(want, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
                                         &reduction, sizeof reduction);
    cublasLtMatmulPreferenceSetAttribute(want, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, &align_a,
                                         sizeof align_a);
    cublasLtMatmulPreferenceSetAttribute(want, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, &align_b,
                                         sizeof align_b);
    cublasLtMatmulPreferenceSetAttribute(want, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, &align_d,
                                         sizeof align_d);
    cublasLtMatmulPreferenceSetAttribute(want, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, &align_d,
                                         sizeof align_d);
    point(p, g);
    int n = 0;
    p.status =
        cublasLtMatmulAlgoGetHeuristic(b->lt, p.op, p.a, p.b, p.d, p.d, want, most, found, &n);
    cublasLtMatmulPreferenceDestroy(want);
    return p.status == CUBLAS_STATUS_SUCCESS ? n : 0;
}

static void choose(struct tf_blas *b, const struct shape &s, struct plan &p,
                   const struct tf_gemm *g)
{
    cublasLtMatmulHeuristicResult_t r = {};
    if (ask(b, s, p, g, &r, 1) > 0)
        p.found = (p.status = r.state) == CUBLAS_STATUS_SUCCESS;
    p.algo = r.algo;
    p.workspace = r.workspaceSize;
}

/* Take this algorithm, if it does the product. */
static void take(struct tf_blas *b, struct plan &p, const cublasLtMatmulAlgo_t *algo)
{
    cublasLtMatmulHeuristicResult_t r = {};
    p.algo = *algo;
    p.status = cublasLtMatmulAlgoCheck(b->lt, p.op, p.a, p.b, p.d, p.d, &p.algo, &r);
    p.found = p.status == CUBLAS_STATUS_SUCCESS && r.workspaceSize <= WORKSPACE;
    p.workspace = r.workspaceSize;
}

static cublasStatus_t run(struct tf_ctx *c, const struct tf_gemm *g, const struct plan &p, void *d)
{
    float one = 1;
    return cublasLtMatmul(c->blas->lt, p.op, &one, g->b, p.a, g->a, p.b, &g->beta, d, p.d, d, p.d,
                          &p.algo, c->blas->workspace, p.workspace, tf_cuda_stream(c));
}

/* Median microseconds of the product, into other memory than its own; negative where it fails.
 * Another one goes before each, so that the device is at work when the host comes with the next. */
static double measure(struct tf_ctx *c, const struct tf_gemm *g, const struct plan &p, void *d)
{
    cudaEvent_t from, to;
    std::vector<float> took;
    if (cudaEventCreate(&from) != cudaSuccess)
        return -1;
    if (cudaEventCreate(&to) != cudaSuccess) {
        cudaEventDestroy(from);
        return -1;
    }
    for (int i = 0; i < TIMES + 2; i++) { /* the first two do not count */
        float ms;
        cublasStatus_t before = run(c, g, p, d);
        cudaEventRecord(from, tf_cuda_stream(c));
        cublasStatus_t s = run(c, g, p, d);
        cudaEventRecord(to, tf_cuda_stream(c));
        if (before != CUBLAS_STATUS_SUCCESS || s != CUBLAS_STATUS_SUCCESS ||
            cudaEventSynchronize(to) != cudaSuccess ||
            cudaEventElapsedTime(&ms, from, to) != cudaSuccess)
            break;
        if (i >= 2)
            took.push_back(ms);
    }
    cudaEventDestroy(from);
    cudaEventDestroy(to);
    if (took.size() < TIMES)
        return -1;
    std::sort(took.begin(), took.end());
    return 1e3 * took[TIMES / 2];
}

/* Measure what the library offers and keep the fastest: the library's own first choice unless
 * another takes 2 % less. */
static void tune(struct tf_ctx *c, const struct shape &s, struct plan &p, const struct tf_gemm *g)
{
    cublasLtMatmulHeuristicResult_t found[TRIED];
    struct tf_tuned e = {};
    void *d = nullptr;
    int n = ask(c->blas, s, p, g, found, TRIED);
    size_t size = (size_t)g->M * g->ldd * (g->out == TF_BLAS_F32 ? 4 : 2);
    if (n == 0 || cudaMalloc(&d, size) != cudaSuccess) {
        cudaGetLastError();
        return;
    }
    cudaMemsetAsync(d, 0, size, tf_cuda_stream(c));
    for (int i = 0; i < n; i++) {
        struct plan q = p;
        q.algo = found[i].algo;
        q.workspace = found[i].workspaceSize;
        double us = found[i].state == CUBLAS_STATUS_SUCCESS && q.workspace <= WORKSPACE
                        ? measure(c, g, q, d)
                        : -1;
        if (us > 0 && e.first == 0)
            e.first = us;
        if (us > 0 && (e.best == 0 || us < (e.best == e.first ? 0.98 : 1) * e.best)) {
            e.best = us;
            memcpy(e.algo, &q.algo, sizeof e.algo);
        }
    }
    cudaFree(d);
    if (e.best > 0)
        tf_tuning_add(&c->blas->tuning, name_of(g), e);
}

static void drop(struct plan &p)
{
    cublasLtMatrixLayoutDestroy(p.a);
    cublasLtMatrixLayoutDestroy(p.b);
    cublasLtMatrixLayoutDestroy(p.d);
    cublasLtMatmulDescDestroy(p.op);
}

/* The plan of a shape, made at its first use. */
static struct plan &plan_of(struct tf_ctx *c, const struct tf_gemm *g)
{
    struct tf_blas *b = c->blas;
    struct shape s = {.M = g->M,
                      .N = g->N,
                      .K = g->K,
                      .lda = (int64_t)g->lda,
                      .ldb = (int64_t)g->ldb,
                      .ldd = (int64_t)g->ldd,
                      .ta = g->ta,
                      .tb = g->tb,
                      .relu = g->relu,
                      .bias = g->bias != nullptr,
                      .add = g->beta != 0,
                      .ab = g->ab,
                      .out = g->out,
                      .any_rows = g->any_rows,
                      .mask = g->mask != nullptr,
                      .column_sums = g->column_sums != nullptr,
                      .align_a = alignment(g->a),
                      .align_b = alignment(g->b),
                      .align_d = alignment(g->d),
                      .align_vector = alignment(vector_of(g))};
    if (s.any_rows) { /* where rows begin tells nothing of them */
        int32_t row_a = alignment((void *)(g->lda * (s.ab == TF_BLAS_F32 ? 4 : 2))),
                row_d = alignment((void *)(g->ldd * (s.out == TF_BLAS_F32 ? 4 : 2)));
        s.align_a = row_a < 16 ? row_a : 16;
        s.align_d = row_d < 16 ? row_d : 16;
    }
    std::string key = bytes(s);
    auto known = b->plans.find(key);
    if (known != b->plans.end())
        return known->second;
    struct plan p = describe(s);
    point(p, g);
    if (!vector_fits(g)) {
        p.found = false;
    } else if (s.any_rows) {
        struct shape typical = s;
        typical.M = TYPICAL_ROWS;
        std::string any = bytes(typical);
        auto algo = b->algos.find(any);
        if (algo == b->algos.end()) {
            struct plan q = describe(typical);
            choose(b, typical, q, g);
            drop(q);
            p.status = q.status;
            if (q.found)
                algo = b->algos.emplace(any, q.algo).first;
        }
        if (algo != b->algos.end())
            take(b, p, &algo->second);
    } else {
        std::string name = name_of(g);
        if (b->tuning.measuring && b->tuning.entries.find(name) == b->tuning.entries.end())
            tune(c, s, p, g);
        auto tuned = b->tuning.entries.find(name);
        if (tuned != b->tuning.entries.end()) {
            cublasLtMatmulAlgo_t algo;
            memcpy(&algo, tuned->second.algo, sizeof algo);
            take(b, p, &algo);
        }
        if (!p.found)
            choose(b, s, p, g);
    }
    /* What multiply() will do; a mask or column_sums have kernels of their own around a plain
     * product. */
    if (!p.found && s.mask == 0 && s.column_sums == 0 && s.M * s.N > TELL / s.K)
        tf_cuda_without(name_of(g).c_str(),
                        !vector_fits(g)                     ? "a bias not aligned to 16 bytes"
                        : p.status == CUBLAS_STATUS_SUCCESS ? "no algorithm"
                                                            : cublasLtGetStatusString(p.status));
    return b->plans.emplace(key, p).first->second;
}

/* A thread an element of d: for shapes that the library has nothing for. */
template <typename A, typename D>
static __global__ void multiply(D *d, const A *a, const A *b, const D *bias, int M, int N, int K,
                                size_t lda, size_t ldb, size_t ldd, bool ta, bool tb, bool relu,
                                float beta)
{
    int j = (int)(blockIdx.x * blockDim.x + threadIdx.x),
        i = (int)(blockIdx.y * blockDim.y + threadIdx.y);
    if (i >= M || j >= N)
        return;
    float sum = 0;
    for (int k = 0; k < K; k++)
        sum += to_float(ta ? a[k * lda + i] : a[i * lda + k]) *
               to_float(tb ? b[j * ldb + k] : b[k * ldb + j]);
    D *at = d + i * ldd + j;
    sum += (beta != 0 ? beta * to_float(*at) : 0) + (bias != nullptr ? to_float(bias[j]) : 0);
    *at = from_float<D>(relu && !(sum > 0) ? 0 : sum);
}

template <typename A, typename D>
static void multiply_plainly(struct tf_ctx *c, const struct tf_gemm *g)
{
    /* No more than 65535 blocks may lie above each other. */
    enum { ROWS = 8 * 65535 };
    for (int from = 0; from < g->M; from += ROWS) {
        int rows = g->M - from < ROWS ? g->M - from : ROWS;
        const A *a = (const A *)g->a + (g->ta ? (size_t)from : from * g->lda);
        launch(c, "product: plain", multiply<A, D>, dim3(div_up(g->N, 32), div_up(rows, 8)),
               dim3(32, 8), 0, (D *)g->d + from * g->ldd, a, (const A *)g->b, (const D *)g->bias,
               rows, g->N, g->K, g->lda, g->ldb, g->ldd, g->ta, g->tb, g->relu, g->beta);
    }
}

bool tf_blas_gemm_with(struct tf_ctx *c, const struct tf_gemm *g)
{
    if (g->M == 0 || g->N == 0 || g->K == 0)
        return false;
    struct plan &p = plan_of(c, g);
    if (!p.found)
        return false;
    tf_cuda_timed timed(c, family_of(g).c_str());
    point(p, g);
    cublasStatus_t s = run(c, g, p, g->d);
    if (s == CUBLAS_STATUS_NOT_SUPPORTED || s == CUBLAS_STATUS_INVALID_VALUE) {
        /* The library promised what it can't do, and nothing was queued. From now on this shape has
         * no algorithm. */
        tf_cuda_without(name_of(g).c_str(), cublasLtGetStatusString(s));
        return p.found = false;
    }
    if (s != CUBLAS_STATUS_SUCCESS && c->err.status == 0)
        tf_fail(&c->err, "a product of %d x %d x %d: %s", g->M, g->N, g->K,
                cublasLtGetStatusString(s));
    return true;
}

void tf_blas_gemm(struct tf_ctx *c, const struct tf_gemm *g)
{
    if (g->M == 0 || g->N == 0 || tf_blas_gemm_with(c, g))
        return;
    if (g->ab == TF_BLAS_F32)
        multiply_plainly<float, float>(c, g);
    else if (g->ab == TF_BLAS_BF16)
        g->out == TF_BLAS_F32 ? multiply_plainly<bf16, float>(c, g)
                              : multiply_plainly<bf16, bf16>(c, g);
    else
        g->out == TF_BLAS_F32 ? multiply_plainly<half, float>(c, g)
                              : multiply_plainly<half, half>(c, g);
}

#endif

struct tf_tuning *tf_blas_tuning(struct tf_blas *b)
{
    return &b->tuning;
}
