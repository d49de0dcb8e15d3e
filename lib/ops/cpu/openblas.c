/* openblas.c - loading OpenBLAS (openblas.h), and products by it for linear.c and xent.c. Where
 * rows are promised not to depend on their number, they are multiplied ALIKE at a time, the last
 * ones padded with zeros. Sums over rows are over blocks of a fixed size, in order. Compiled once.
 */
#include "ops/cpu/openblas.h"
#include "base/memory.h"
#include "ops/cpu/kernels_private.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIBRARY "libopenblas.so.0"

/* Rows of a product whose rows must not depend on their number. OpenBLAS takes other kernels for
 * the edges of a matrix and for small ones, so such a product is always made of this many rows, the
 * last ones zero: a multiple of the tiles (4 to 32) of all its kernels. */
enum { ALIKE = 96 };

/* CBLAS's names */
enum { ROW_MAJOR = 101, AS_IS = 111, TRANSPOSED = 112 };
typedef void sgemm_fn(int order, int ta, int tb, int m, int n, int k, float alpha, const float *a,
                      int lda, const float *b, int ldb, float beta, float *c, int ldc);

static sgemm_fn *sgemm;
static char about[96];
static struct tf_err failure; /* status 0: loaded */
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* A and B as they lie. */
static void multiply_whole(const struct tf_cpu_gemm *g)
{
    sgemm(ROW_MAJOR, g->at ? TRANSPOSED : AS_IS, g->bt ? TRANSPOSED : AS_IS, (int)g->M, (int)g->N,
          (int)g->K, 1, g->a, (int)g->ras, g->b, (int)g->ldb, g->add ? 1 : 0, g->c, (int)g->ldc);
}

/* The core whose kernels to use, or NULL to leave it to OpenBLAS, which knows no CPU newer than
 * itself: 0.3.21 takes Emerald Rapids for Prescott and Zen 5 for Haswell. On AVX2 without AVX-512
 * we use the kernels for AVX, at half the speed, because those of Haswell and Zen round rows 6 to
 * 11 of 12 in another order than the others (rows_alike refuses them). */
static const char *core(void)
{
#if defined __x86_64__ || defined __i386__
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        return "SkylakeX";
    if (__builtin_cpu_supports("avx"))
        return "Sandybridge";
#endif
    return NULL;
}

/* Variables that OpenBLAS and OpenMP read while they are loaded, and only then. */
struct variable {
    const char *name, *value;
    char *before;
};

static void set_variables(struct variable *v, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const char *before = getenv(v[i].name);
        v[i].before = before != NULL ? tf_xstrdup(before) : NULL;
        if (v[i].value != NULL)
            setenv(v[i].name, v[i].value, 1);
    }
}

static void restore_variables(struct variable *v, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (v[i].before != NULL)
            setenv(v[i].name, v[i].before, 1);
        else
            unsetenv(v[i].name);
        free(v[i].before);
    }
}

/* Whether ALIKE equal rows of x give equal rows of y = x w, and equal columns of y' = w'
 * x'. x and y have at least that many rows of K and N. */
static bool rows_alike(float *x, float *w, float *y, size_t N, size_t K)
{
    const size_t R = ALIKE;
    uint32_t u = 1;
    for (size_t i = 0; i < K * N; i++)
        w[i] = (float)(int32_t)(u = u * 1664525 + 1013904223) * 0x1p-31f;
    for (size_t i = 0; i < K; i++)
        for (size_t r = 0; r < R; r++)
            x[r * K + i] = r > 0 ? x[i] : (float)(int32_t)(u = u * 1664525 + 1013904223) * 0x1p-31f;
    multiply_whole(&(struct tf_cpu_gemm){
        .c = y, .ldc = N, .M = R, .N = N, .K = K, .a = x, .ras = K, .b = w, .ldb = N});
    for (size_t r = 1; r < R; r++)
        if (memcmp(y + r * N, y, N * sizeof *y) != 0)
            return false;
    multiply_whole(&(struct tf_cpu_gemm){
        .c = y, .ldc = R, .M = N, .N = R, .K = K, .a = w, .ras = K, .b = x, .ldb = K, .bt = true});
    for (size_t j = 0; j < N; j++)
        for (size_t r = 1; r < R; r++)
            if (memcmp(y + j * R + r, y + j * R, sizeof *y) != 0)
                return false;
    return true;
}

/* Small enough for a path of its own, one block, and several blocks of all sizes. */
static bool all_rows_alike(void)
{
    static const size_t shape[][2] = {{1, 3}, {3, 17}, {33, 67}, {515, 517}};
    enum { MOST_N = 515, MOST_K = 517 };
    float *x = tf_xarray(NULL, ALIKE * MOST_K, sizeof *x),
          *w = tf_xarray(NULL, MOST_N * MOST_K, sizeof *w),
          *y = tf_xarray(NULL, ALIKE * MOST_N, sizeof *y);
    bool alike = true;
    for (size_t i = 0; i < sizeof shape / sizeof shape[0]; i++)
        alike = alike && rows_alike(x, w, y, shape[i][0], shape[i][1]);
    free(x);
    free(w);
    free(y);
    return alike;
}

static void load_library(void)
{
    const char *named = getenv("OPENBLAS_CORETYPE");
    struct variable v[] = {{"OPENBLAS_CORETYPE", named == NULL || named[0] == 0 ? core() : NULL,
                            NULL},
                           {"OPENBLAS_NUM_THREADS", "1", NULL},
                           {"OMP_NUM_THREADS", "1", NULL}};
    const size_t n = sizeof v / sizeof v[0];
    set_variables(v, n);
    void *lib = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    restore_variables(v, n);
    if (lib == NULL) {
        tf_fail(&failure, "%s", dlerror()); /* names the file */
        return;
    }
    char *(*config)(void), *(*corename)(void);
    int (*threads)(void);
    *(void **)&config = dlsym(lib, "openblas_get_config");
    *(void **)&corename = dlsym(lib, "openblas_get_corename");
    *(void **)&threads = dlsym(lib, "openblas_get_num_threads");
    *(void **)&sgemm = dlsym(lib, "cblas_sgemm");
    if (config == NULL || corename == NULL || threads == NULL || sgemm == NULL) {
        tf_fail(&failure, LIBRARY ": not OpenBLAS with CBLAS");
        return;
    }
    /* "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH ..." */
    const char *words = config(), *space = strchr(words, ' ');
    int len = (int)(space != NULL ? space + 1 + strcspn(space + 1, " ") - words : 0);
    snprintf(about, sizeof about, "%.*s, core %s", len, words, corename());
    if (threads() != 1)
        tf_fail(&failure, "%s: uses %d threads, not 1", about, threads());
    else if (!all_rows_alike())
        tf_fail(&failure,
                "%s: a row's bytes depend on the rows around it; set OPENBLAS_CORETYPE to "
                "another core",
                about);
}

int tf_openblas_load(struct tf_err *err)
{
    pthread_once(&once, load_library);
    if (failure.status == 0)
        return 0;
    if (err != NULL)
        *err = failure;
    return -1;
}

const char *tf_openblas_about(void)
{
    return about;
}

/* ---- for the operations ---- */

/* x [n, width] in room [rows, width], zeros below. */
static const float *padded(float *room, const float *x, size_t ld, size_t n, size_t rows,
                           size_t width)
{
    for (size_t i = 0; i < n; i++)
        memcpy(room + i * width, x + i * ld, width * sizeof *x);
    memset(room + n * width, 0, (rows - n) * width * sizeof *x);
    return room;
}

static void lay_out_a(struct tf_ctx *c, struct tf_cpu_gemm *g, const float *a, size_t lda,
                      bool transposed)
{
    (void)c;
    g->a = a;
    g->ras = lda;
    g->at = transposed;
}

static void lay_out_b(struct tf_ctx *c, struct tf_cpu_gemm *g, int buffer, const float *b,
                      size_t ldb, bool transposed)
{
    const size_t rows = (g->N + ALIKE - 1) / ALIKE * ALIKE;
    const bool pad = g->row_wise == TF_CPU_COLUMNS_OF_B;
    g->b = pad ? padded(tf_cpu_scratch(c, buffer, rows * g->K), b, ldb, g->N, rows, g->K) : b;
    g->ldb = pad ? g->K : ldb;
    g->bt = transposed;
}

/* y = y + b, with ReLU if requested. */
static void finish_row(float *y, const float *b, size_t n, bool relu)
{
    for (size_t j = 0; b != NULL && j < n; j++)
        y[j] += b[j];
    for (size_t j = 0; relu && j < n; j++)
        y[j] = 0 > y[j] ? 0 : y[j];
}

static void multiply_rows(struct tf_ctx *c, struct tf_cpu_gemm g)
{
    const size_t rows = g.M;
    const float *a = g.a;
    float *y = g.c;
    g.M = ALIKE;
    for (size_t i = 0; i < rows; i += ALIKE, a += ALIKE * g.ras, y += ALIKE * g.ldc) {
        const size_t m = least(ALIKE, rows - i);
        g.a = a;
        g.c = y;
        if (m < ALIKE) {
            g.a = padded(tf_cpu_scratch(c, TF_CPU_A, ALIKE * g.K), a, g.ras, m, ALIKE, g.K);
            g.ras = g.K;
            g.c = tf_cpu_scratch(c, TF_CPU_ROW, ALIKE * g.ldc);
        }
        multiply_whole(&g);
        if (m < ALIKE)
            memcpy(y, g.c, m * g.ldc * sizeof *y);
        for (size_t j = 0; j < m; j++)
            finish_row(y + j * g.ldc, g.bias, g.N, g.relu);
    }
}

static void multiply_columns(struct tf_cpu_gemm g)
{
    const size_t rows = g.N;
    g.N = ALIKE;
    for (size_t j = 0; j < rows; j += ALIKE, g.b += ALIKE * g.ldb, g.c += ALIKE)
        multiply_whole(&g);
}

static void multiply(struct tf_ctx *c, const struct tf_cpu_gemm *g)
{
    if (g->row_wise == TF_CPU_ROWS_OF_A)
        multiply_rows(c, *g);
    else if (g->row_wise == TF_CPU_COLUMNS_OF_B)
        multiply_columns(*g);
    else
        multiply_whole(g);
}

const struct tf_cpu_products tf_cpu_openblas = {.rows = 4 * ALIKE,
                                                .entries = 480,
                                                .multiple = ALIKE,
                                                .lay_out_a = lay_out_a,
                                                .lay_out_b = lay_out_b,
                                                .multiply = multiply};
