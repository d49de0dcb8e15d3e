/* cublaslt.cc - products of matrices as loops; see cublasLt.h. Matrices are stored by columns, as
 * the library's. */
#include "cublasLt.h"
#include "emulate_private.h"

#include <cstdlib>
#include <map>
#include <string>
#include <vector>

enum { OFFERED = 3 };

struct emulate_lt {};
struct emulate_preference {};
struct emulate_layout {
    cudaDataType_t type;
    size_t rows, columns, ld;
};
struct emulate_product {
    cublasOperation_t ta, tb;
    cublasLtEpilogue_t epilogue;
    void *vector, *aux;
    cudaDataType_t vector_type;
    int64_t aux_ld;
};

/* Is the word in TF_EMULATE_LT? */
static bool refuses(const char *word)
{
    const char *list = getenv("TF_EMULATE_LT");
    return list != nullptr &&
           ("," + std::string(list) + ",").find("," + std::string(word) + ",") != std::string::npos;
}

static float get(const void *p, cudaDataType_t type, size_t i)
{
    return type == CUDA_R_32F    ? ((const float *)p)[i]
           : type == CUDA_R_16BF ? to_float(((const bf16 *)p)[i])
                                 : to_float(((const half *)p)[i]);
}

static void put(void *p, cudaDataType_t type, size_t i, float x)
{
    if (type == CUDA_R_32F)
        ((float *)p)[i] = x;
    else if (type == CUDA_R_16BF)
        ((bf16 *)p)[i] = from_float<bf16>(x);
    else
        ((half *)p)[i] = from_float<half>(x);
}

size_t cublasLtGetVersion()
{
    const char *version = getenv("TF_EMULATE_LT_VERSION");
    return version != nullptr ? strtoul(version, nullptr, 10) : 130000;
}

const char *cublasLtGetStatusString(cublasStatus_t s)
{
    return s == CUBLAS_STATUS_SUCCESS         ? "CUBLAS_STATUS_SUCCESS"
           : s == CUBLAS_STATUS_INVALID_VALUE ? "CUBLAS_STATUS_INVALID_VALUE"
                                              : "CUBLAS_STATUS_NOT_SUPPORTED";
}

static std::map<void *, cudaStream_t> users; /* of workspaces, since there was a new handle */

cublasStatus_t cublasLtCreate(cublasLtHandle_t *lt)
{
    emulate::guard alone;
    users.clear();
    *lt = new emulate_lt();
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t lt)
{
    delete lt;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *p, cublasComputeType_t,
                                        cudaDataType_t)
{
    *p = new emulate_product();
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t p)
{
    delete p;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t p,
                                              cublasLtMatmulDescAttributes_t which,
                                              const void *value, size_t size)
{
    struct {
        void *to;
        size_t size;
    } const members[] = {{&p->ta, sizeof p->ta},
                         {&p->tb, sizeof p->tb},
                         {&p->epilogue, sizeof p->epilogue},
                         {&p->vector, sizeof p->vector},
                         {&p->vector_type, sizeof p->vector_type},
                         {&p->aux, sizeof p->aux},
                         {&p->aux_ld, sizeof p->aux_ld}};
    if (size != members[which].size)
        return CUBLAS_STATUS_INVALID_VALUE;
    memcpy(members[which].to, value, size);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *m, cudaDataType_t type,
                                          uint64_t rows, uint64_t columns, int64_t ld)
{
    *m = new emulate_layout{type, rows, columns, (size_t)ld};
    return (uint64_t)ld >= rows ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t m)
{
    delete m;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *p)
{
    *p = new emulate_preference();
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t p)
{
    delete p;
    return CUBLAS_STATUS_SUCCESS;
}

static size_t room; /* the largest workspace that the caller says it has */

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t,
                                                    cublasLtMatmulPreferenceAttributes_t which,
                                                    const void *value, size_t size)
{
    if (which == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES)
        memcpy(&room, value, size);
    return CUBLAS_STATUS_SUCCESS;
}

/* Of the first algorithm, with these words in TF_EMULATE_LT. */
static bool few_rows(const char *word, const cublasLtMatmulAlgo_t *algo, const emulate_layout &d)
{
    return refuses(word) && algo->data[0] == 0 && d.columns >= 2 && d.columns <= 32;
}

static bool has_aux(const emulate_product &p)
{
    return p.epilogue == CUBLASLT_EPILOGUE_RELU_AUX ||
           p.epilogue == CUBLASLT_EPILOGUE_RELU_AUX_BIAS || p.epilogue == CUBLASLT_EPILOGUE_DRELU;
}

static bool has_algorithm(const emulate_product &p, const emulate_layout &d)
{
    if (refuses("none") || (refuses("epilogues") && p.epilogue != CUBLASLT_EPILOGUE_DEFAULT))
        return false;
    return d.rows % 8 == 0 || !(has_aux(p) || p.epilogue == CUBLASLT_EPILOGUE_BGRADA);
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t p,
                                              cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                              cublasLtMatrixLayout_t, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t, int most,
                                              cublasLtMatmulHeuristicResult_t *found, int *n)
{
    *n = 0;
    if (!has_algorithm(*p, *d))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    for (; *n < most && *n < OFFERED; ++*n) {
        found[*n] = {};
        found[*n].algo.data[0] = (uint64_t)*n;
    }
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoCheck(cublasLtHandle_t, cublasLtMatmulDesc_t p,
                                       cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                       cublasLtMatrixLayout_t, cublasLtMatrixLayout_t d,
                                       const cublasLtMatmulAlgo_t *algo,
                                       cublasLtMatmulHeuristicResult_t *found)
{
    bool refused = refuses("rows") && algo->data[0] == 0 && d->columns == 4096;
    *found = {};
    found->algo = *algo;
    found->workspaceSize = few_rows("workspace", algo, *d) ? room + 1 : 0;
    return algo->data[0] < OFFERED && has_algorithm(*p, *d) && !refused
               ? CUBLAS_STATUS_SUCCESS
               : CUBLAS_STATUS_NOT_SUPPORTED;
}

/* No sum is split here. */
cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(const cublasLtMatmulAlgo_t *,
                                                    cublasLtMatmulAlgoConfigAttributes_t,
                                                    void *value, size_t size, size_t *written)
{
    memset(value, 0, size);
    *written = size;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t product, const void *alpha,
                              const void *A, cublasLtMatrixLayout_t layout_a, const void *B,
                              cublasLtMatrixLayout_t layout_b, const void *beta, const void *,
                              cublasLtMatrixLayout_t, void *D, cublasLtMatrixLayout_t layout_d,
                              const cublasLtMatmulAlgo_t *algo, void *workspace,
                              size_t workspace_size, cudaStream_t stream)
{
    emulate_product p = *product;
    emulate_layout a = *layout_a, b = *layout_b, d = *layout_d;
    size_t K = p.ta == CUBLAS_OP_T ? a.rows : a.columns;
    if (K != (p.tb == CUBLAS_OP_T ? b.columns : b.rows) || *(const float *)alpha != 1)
        return CUBLAS_STATUS_INVALID_VALUE;
    if (workspace_size > room) {
        fprintf(stderr, "emulate: cublasLtMatmul may write past the end of its workspace\n");
        abort();
    }
    emulate::guard alone;
    if (users.emplace(workspace, stream).first->second != stream) {
        fprintf(stderr, "emulate: two streams share a workspace of cublasLtMatmul\n");
        abort();
    }
    if (refuses("run") || (refuses("first") && algo->data[0] == 0) || few_rows("few", algo, d) ||
        !has_algorithm(p, d))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    emulate::enqueue(stream, [=, times = *(const float *)beta] {
        bool relu = p.epilogue == CUBLASLT_EPILOGUE_RELU ||
                    p.epilogue == CUBLASLT_EPILOGUE_RELU_BIAS ||
                    p.epilogue == CUBLASLT_EPILOGUE_RELU_AUX ||
                    p.epilogue == CUBLASLT_EPILOGUE_RELU_AUX_BIAS,
             bias = p.epilogue == CUBLASLT_EPILOGUE_BIAS ||
                    p.epilogue == CUBLASLT_EPILOGUE_RELU_BIAS ||
                    p.epilogue == CUBLASLT_EPILOGUE_RELU_AUX_BIAS;
        if (emulate::sample() > 0) { /* corners and a few between */
            auto step = [](size_t n, size_t i) { /* the next of those that count */
                return i < 8 ? i + 1 : i + 8 < n ? (i + n / 3 < n - 8 ? i + n / 3 : n - 8) : i + 1;
            };
            for (size_t j = 0; j < d.columns; j = step(d.columns, j))
                for (size_t i = 0; i < d.rows; i = step(d.rows, i)) {
                    float sum = 0;
                    size_t ks = K < 4096 ? 1 : K / 1024;
                    for (size_t k = 0; k < K; k = k + ks < K || k == K - 1 ? k + ks : K - 1)
                        sum += get(A, a.type, p.ta == CUBLAS_OP_T ? i * a.ld + k : k * a.ld + i) *
                               get(B, b.type, p.tb == CUBLAS_OP_T ? k * b.ld + j : j * b.ld + k);
                    float y = sum + (times != 0 ? times * get(D, d.type, j * d.ld + i) : 0) +
                              (bias ? get(p.vector, p.vector_type, i) : 0);
                    put(D, d.type, j * d.ld + i, relu && !(y > 0) ? 0 : y);
                }
            return;
        }
        std::vector<float> left(K * d.rows), sums(d.rows);
        for (size_t k = 0; k < K; k++)
            for (size_t i = 0; i < d.rows; i++)
                left[k * d.rows + i] =
                    get(A, a.type, p.ta == CUBLAS_OP_T ? i * a.ld + k : k * a.ld + i);
        for (size_t j = 0; j < d.columns; j++) {
            std::fill(sums.begin(), sums.end(), 0.0f);
            for (size_t k = 0; k < K; k++) {
                float x = get(B, b.type, p.tb == CUBLAS_OP_T ? k * b.ld + j : j * b.ld + k);
                float *sum = sums.data(), *column = &left[k * d.rows];
                for (size_t i = 0; i < d.rows; i++)
                    sum[i] += x * column[i];
            }
            for (size_t i = 0; i < d.rows; i++) {
                size_t at = j * d.ld + i, bit = j * (size_t)p.aux_ld + i;
                uint8_t *mask = has_aux(p) ? (uint8_t *)p.aux + bit / 8 : nullptr;
                float y = sums[i] + (times != 0 ? times * get(D, d.type, at) : 0) +
                          (bias ? get(p.vector, p.vector_type, i) : 0);
                if (mask != nullptr && relu)
                    *mask = (uint8_t)((*mask & ~(1 << bit % 8)) | (y > 0) << bit % 8);
                bool cut = relu ? !(y > 0) : mask != nullptr && (*mask >> bit % 8 & 1) == 0;
                put(D, d.type, at, cut ? 0 : y);
            }
        }
        if (p.epilogue != CUBLASLT_EPILOGUE_BGRADA)
            return;
        std::fill(sums.begin(), sums.end(), 0.0f);
        for (size_t k = 0; k < K; k++)
            for (size_t i = 0; i < d.rows; i++)
                sums[i] += left[k * d.rows + i];
        for (size_t i = 0; i < d.rows; i++)
            put(p.vector, p.vector_type, i, sums[i]);
    });
    return CUBLAS_STATUS_SUCCESS;
}
