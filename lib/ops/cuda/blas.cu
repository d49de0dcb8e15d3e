/* blas.cu - matrix products by cuBLASLt, and by a plain kernel where the library has no algorithm.
 * Emulated builds use tests/emulate/cublasLt.h. */
#include "blas_private.h"

#ifdef TF_EMULATE
#include "cublasLt.h"
#else
#include <cublasLt.h>
#endif

#include <algorithm>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <vector>

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

/* How many parts of its sums an algorithm adds, and by which scheme of the library's. */
static std::string split_of(const cublasLtMatmulAlgo_t *algo)
{
    int32_t parts = 1;
    uint32_t scheme = 0;
    size_t n;
    char text[60] = "";
    cublasLtMatmulAlgoConfigGetAttribute(algo, CUBLASLT_ALGO_CONFIG_SPLITK_NUM, &parts,
                                         sizeof parts, &n);
    cublasLtMatmulAlgoConfigGetAttribute(algo, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, &scheme,
                                         sizeof scheme, &n);
    if (parts > 1 || scheme != 0)
        snprintf(text, sizeof text, " in %d parts (scheme %u)", parts, scheme);
    return text;
}

/* As the account of TF_CUDA_TIMES names it: by all but its number of rows, which few products
 * share. */
static std::string family_of(const struct tf_gemm *g, const cublasLtMatmulAlgo_t *algo)
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
    return text + split_of(algo);
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

static_assert(sizeof(cublasLtMatmulAlgo_t) == sizeof(tf_tuned::algo),
              "an algorithm is kept as its bytes");

namespace {

#ifdef TF_EMULATE
constexpr size_t WORKSPACE = 256;
#else
constexpr size_t WORKSPACE = 32 << 20;
#endif

enum {
    OFFERED = 8,        /* algorithms requested from the heuristic, tried in its order */
    TRIED = 16,         /* algorithms that --tune measures */
    TIMES = 9,          /* measurements of each; the median counts */
    TYPICAL_ROWS = 512, /* the M that any_rows algorithms are chosen for */
    SPLIT_K = 128,      /* a split sum's length must be a multiple: some versions drop the rest */
    REPORT = 1 << 24,   /* multiplications from which a product by the plain kernel is reported */
};
/* Rows for which an any_rows algorithm is checked: it must run for every number of them. */
constexpr int CHECKED_ROWS[] = {1, 33, 4096};

/* What an algorithm may depend on; compared as bytes, so no member may leave a gap. */
struct shape {
    int64_t M, N, K, lda, ldb, ldd;
    int32_t ta, tb, relu, bias, add, ab, out, any_rows, mask, column_sums;
    int32_t align_a, align_b, align_d, align_vector;
};

struct algorithm {
    cublasLtMatmulAlgo_t algo;
    size_t workspace;
};

struct plan {
    cublasLtMatmulDesc_t op;
    cublasLtMatrixLayout_t a, b, d;
    std::vector<struct algorithm> algos; /* the first one runs; those that refuse to are removed */
    std::vector<struct algorithm> *any_rows; /* of its shape in struct tf_blas, or NULL */
    cublasStatus_t status; /* the library's last answer about an algorithm */
    bool reported;
};

} // namespace

struct tf_blas {
    cublasLtHandle_t lt;
    void *workspace;
    std::unordered_map<std::string, struct plan> plans; /* by the bytes of a shape */
    /* for any_rows: the algorithms of a shape, by its bytes with M = TYPICAL_ROWS */
    std::unordered_map<std::string, std::vector<struct algorithm>> any_rows;
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
    cudaError_t e = s == CUBLAS_STATUS_SUCCESS ? tf_blas_workspace_new(&b->workspace) : cudaSuccess;
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
    if (b == nullptr)
        return;
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

void *tf_blas_workspace(struct tf_blas *b)
{
    return b->workspace;
}

cudaError_t tf_blas_workspace_new(void **p)
{
    return cudaMalloc(p, WORKSPACE);
}

void tf_blas_describe(char *text, size_t size)
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

/* Set the addresses of the epilogue's vector and mask. Call it before requesting an algorithm, and
 * before every product. */
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
     * none. Sums in place would be in order, too, but where they are allowed an H200's heuristic
     * chooses the same algorithms. */
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

/* The heuristic's algorithms for a shape. */
static std::vector<struct algorithm> choose(struct tf_blas *b, const struct shape &s,
                                            struct plan &p, const struct tf_gemm *g)
{
    cublasLtMatmulHeuristicResult_t found[OFFERED];
    std::vector<struct algorithm> algos;
    int n = ask(b, s, p, g, found, OFFERED);
    for (int i = 0; i < n; i++)
        if (found[i].state == CUBLAS_STATUS_SUCCESS && found[i].workspaceSize <= WORKSPACE)
            algos.push_back({found[i].algo, found[i].workspaceSize});
        else
            p.status = found[i].state;
    return algos;
}

/* Does this algorithm work for the plan? Sets its workspace if it does. */
static bool check(struct tf_blas *b, struct plan &p, struct algorithm &a)
{
    cublasLtMatmulHeuristicResult_t r = {};
    p.status = cublasLtMatmulAlgoCheck(b->lt, p.op, p.a, p.b, p.d, p.d, &a.algo, &r);
    if (p.status == CUBLAS_STATUS_SUCCESS && r.workspaceSize > WORKSPACE)
        p.status = CUBLAS_STATUS_NOT_SUPPORTED;
    if (p.status != CUBLAS_STATUS_SUCCESS)
        return false;
    a.workspace = r.workspaceSize;
    return true;
}

static cublasStatus_t run(struct tf_ctx *c, const struct tf_gemm *g, const struct plan &p,
                          const struct algorithm &a, void *d)
{
    float one = 1;
    TF_ASSERT(a.workspace <= WORKSPACE);
    return cublasLtMatmul(c->blas->lt, p.op, &one, g->b, p.a, g->a, p.b, &g->beta, d, p.d, d, p.d,
                          &a.algo, c->workspace, a.workspace, tf_cuda_stream(c));
}

/* Median microseconds of the product, into other memory than its own; negative where it fails.
 * Another one goes before each, so that the device is at work when the host comes with the next. */
static double measure(struct tf_ctx *c, const struct tf_gemm *g, const struct plan &p,
                      const struct algorithm &a, void *d)
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
        cublasStatus_t before = run(c, g, p, a, d);
        cudaEventRecord(from, tf_cuda_stream(c));
        cublasStatus_t s = run(c, g, p, a, d);
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
    cudaGetLastError(); /* an algorithm that fails is none */
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
        struct algorithm a = {found[i].algo, found[i].workspaceSize};
        double us = found[i].state == CUBLAS_STATUS_SUCCESS && a.workspace <= WORKSPACE
                        ? measure(c, g, p, a, d)
                        : -1;
        if (us > 0 && e.first == 0)
            e.first = us;
        if (us > 0 && (e.best == 0 || us < (e.best == e.first ? 0.98 : 1) * e.best)) {
            e.best = us;
            memcpy(e.algo, &a.algo, sizeof e.algo);
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

/* What --tune measured for a shape, then what the heuristic offers. */
static std::vector<struct algorithm> algorithms_of(struct tf_ctx *c, const struct shape &s,
                                                   struct plan &p, const struct tf_gemm *g)
{
    struct tf_blas *b = c->blas;
    std::string name = name_of(g);
    if (b->tuning.measuring && b->tuning.entries.find(name) == b->tuning.entries.end())
        tune(c, s, p, g);
    std::vector<struct algorithm> algos = choose(b, s, p, g);
    auto tuned = b->tuning.entries.find(name);
    if (tuned != b->tuning.entries.end()) {
        struct algorithm a = {};
        memcpy(&a.algo, tuned->second.algo, sizeof a.algo);
        if (check(b, p, a))
            algos.insert(algos.begin(), a);
    }
    return algos;
}

/* Remove the plan's first algorithm, which refuses it. With any_rows it is removed for every new M,
 * too, so that these all take the next one; an M that it has run for keeps it. */
static void refuse_first(struct plan &p, const struct tf_gemm *g)
{
    cublasLtMatmulAlgo_t algo = p.algos.front().algo;
    p.algos.erase(p.algos.begin());
    if (p.any_rows == nullptr)
        return;
    std::erase_if(*p.any_rows, [&](const struct algorithm &a) {
        return memcmp(&a.algo, &algo, sizeof algo) == 0;
    });
    tf_cuda_report("%s: an algorithm refuses %d rows: %s; results may depend on the number of rows",
                   name_of(g).c_str(), g->M, cublasLtGetStatusString(p.status));
}

/* With any_rows the workspaces are of another M: remove the first algorithms that do not work for
 * this one, and set the workspace of the next. */
static void check_first(struct tf_blas *b, struct plan &p, const struct tf_gemm *g)
{
    while (p.any_rows != nullptr && !p.algos.empty() && !check(b, p, p.algos.front()))
        refuse_first(p, g);
}

/* For any number of rows the algorithms are those that the heuristic offers for TYPICAL_ROWS and
 * that work for few and for many rows, so that M never decides which of them runs. Chosen once a
 * shape. */
static std::vector<struct algorithm> *algorithms_of_any_rows(struct tf_blas *b,
                                                             const struct shape &s,
                                                             const struct tf_gemm *g)
{
    struct shape typical = s;
    typical.M = TYPICAL_ROWS;
    std::string key = bytes(typical);
    auto known = b->any_rows.find(key);
    if (known == b->any_rows.end()) {
        struct plan q = describe(typical);
        std::vector<struct algorithm> algos = choose(b, typical, q, g);
        drop(q);
        for (int rows : CHECKED_ROWS) {
            struct shape other = s;
            other.M = rows;
            q = describe(other);
            point(q, g);
            algos.erase(std::remove_if(algos.begin(), algos.end(),
                                       [&](struct algorithm &a) { return !check(b, q, a); }),
                        algos.end());
            drop(q);
        }
        known = b->any_rows.emplace(key, algos).first;
    }
    return &known->second;
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
    if (s.any_rows) { /* the base may be any row: use the stride's alignment */
        int32_t row_a = alignment((void *)(g->lda * (s.ab == TF_BLAS_F32 ? 4 : 2))),
                row_d = alignment((void *)(g->ldd * (s.out == TF_BLAS_F32 ? 4 : 2)));
        s.align_a = row_a < 16 ? row_a : 16;
        s.align_d = row_d < 16 ? row_d : 16;
    }
    tf_cuda_select(c);
    std::string key = bytes(s);
    auto known = b->plans.find(key);
    if (known != b->plans.end())
        return known->second;
    struct plan p = describe(s);
    point(p, g);
    if (!vector_fits(g) || !tf_cuda_uses(TF_CUDA_LIBRARY)) {
        p.algos.clear();
    } else if (s.any_rows) {
        p.any_rows = algorithms_of_any_rows(b, s, g);
        p.algos = *p.any_rows;
        check_first(b, p, g);
    } else {
        p.algos = algorithms_of(c, s, p, g);
    }
    return b->plans.emplace(key, p).first->second;
}

/* Queue the product by the first algorithm that does not refuse it. Refused algorithms are removed
 * for good. */
static bool by_library(struct tf_ctx *c, const struct tf_gemm *g)
{
    struct plan &p = plan_of(c, g);
    if (p.algos.empty())
        return false;
    tf_cuda_timed timed(c, family_of(g, &p.algos.front().algo).c_str());
    point(p, g);
    while (!p.algos.empty()) {
        p.status = run(c, g, p, p.algos.front(), g->d);
        if (p.status != CUBLAS_STATUS_NOT_SUPPORTED && p.status != CUBLAS_STATUS_INVALID_VALUE &&
            p.status != CUBLAS_STATUS_ARCH_MISMATCH) {
            if (p.status != CUBLAS_STATUS_SUCCESS && c->err.status == 0)
                tf_fail(&c->err, "a product of %d x %d x %d: %s", g->M, g->N, g->K,
                        cublasLtGetStatusString(p.status));
            return true;
        }
        refuse_first(p, g);
        check_first(c->blas, p, g);
    }
    return false;
}

/* Report, once a shape, what is done in place of the library's product. */
static void report(struct tf_ctx *c, const struct tf_gemm *g, const char *instead)
{
    struct plan &p = plan_of(c, g);
    if (p.reported || (int64_t)g->M * g->N < REPORT / g->K || !tf_cuda_uses(TF_CUDA_LIBRARY))
        return;
    p.reported = true;
    tf_cuda_report("%s: %s; %s", name_of(g).c_str(),
                   !vector_fits(g)                     ? "a bias not aligned to 16 bytes"
                   : p.status == CUBLAS_STATUS_SUCCESS ? "no algorithm"
                                                       : cublasLtGetStatusString(p.status),
                   instead);
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

/* d [M, N] = d + bias, then max(0, .). A thread an element. */
template <typename D>
static __global__ void end(D *d, const D *bias, size_t n, int N, size_t ldd, bool relu)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x, j = i % N;
    if (i >= n)
        return;
    D *at = d + i / N * ldd + j;
    float sum = to_float(*at) + (bias != nullptr ? to_float(bias[j]) : 0);
    *at = from_float<D>(relu && !(sum > 0) ? 0 : sum);
}

template <typename D> static void end_plainly(struct tf_ctx *c, const struct tf_gemm *g)
{
    size_t n = (size_t)g->M * (size_t)g->N;
    launch(c, "product: bias and ReLU", end<D>, dim3(div_up(n, 256)), dim3(256), 0, (D *)g->d,
           (const D *)g->bias, n, g->N, g->ldd, g->relu);
}

bool tf_blas_gemm_with(struct tf_ctx *c, const struct tf_gemm *g)
{
    return g->M != 0 && g->N != 0 && g->K != 0 && by_library(c, g);
}

/* The product without the library. */
static void by_kernel(struct tf_ctx *c, const struct tf_gemm *g)
{
    if (g->ab == TF_BLAS_F32)
        multiply_plainly<float, float>(c, g);
    else if (g->ab == TF_BLAS_BF16)
        g->out == TF_BLAS_F32 ? multiply_plainly<bf16, float>(c, g)
                              : multiply_plainly<bf16, bf16>(c, g);
    else
        g->out == TF_BLAS_F32 ? multiply_plainly<half, float>(c, g)
                              : multiply_plainly<half, half>(c, g);
}

/* Bias and ReLU of a product that was made without them. */
static void end_by_kernel(struct tf_ctx *c, const struct tf_gemm *g)
{
    if (g->out == TF_BLAS_F32)
        end_plainly<float>(c, g);
    else if (g->out == TF_BLAS_BF16)
        end_plainly<bf16>(c, g);
    else
        end_plainly<half>(c, g);
}

void tf_blas_gemm(struct tf_ctx *c, const struct tf_gemm *g)
{
    if (g->M == 0 || g->N == 0 || tf_blas_gemm_with(c, g))
        return;
    if (g->K > 0 && (g->bias != nullptr || g->relu)) {
        struct tf_gemm bare = *g;
        bare.bias = nullptr;
        bare.relu = false;
        if (by_library(c, &bare)) {
            report(c, g, "bias and ReLU take a kernel of their own");
            end_by_kernel(c, g);
            return;
        }
    }
    if (g->K > 0)
        report(c, g, "a plain kernel does it, which is slow");
    by_kernel(c, g);
}

struct tf_tuning *tf_blas_tuning(struct tf_blas *b)
{
    return &b->tuning;
}
