/* openblas.c - loading OpenBLAS; see openblas.h. Compiled once. */
#include "ops/cpu/openblas.h"
#include "base/memory.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIBRARY "libopenblas.so.0"

/* CBLAS's names */
enum { ROW_MAJOR = 101, AS_IS = 111, TRANSPOSED = 112 };
typedef void sgemm_fn(int order, int ta, int tb, int m, int n, int k, float alpha, const float *a,
                      int lda, const float *b, int ldb, float beta, float *c, int ldc);

static sgemm_fn *sgemm;
static char about[96];
static struct tf_err failure; /* status 0: loaded */
static pthread_once_t once = PTHREAD_ONCE_INIT;

void tf_sgemm(const struct tf_sgemm *g)
{
    sgemm(ROW_MAJOR, g->at ? TRANSPOSED : AS_IS, g->bt ? TRANSPOSED : AS_IS, (int)g->M, (int)g->N,
          (int)g->K, 1, g->a, (int)g->lda, g->b, (int)g->ldb, g->add ? 1 : 0, g->c, (int)g->ldc);
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

/* Whether TF_OPENBLAS_ROWS equal rows of x give equal rows of y = x w, and equal columns of y' = w'
 * x'. x and y have at least that many rows of K and N. */
static bool rows_alike(float *x, float *w, float *y, size_t N, size_t K)
{
    const size_t R = TF_OPENBLAS_ROWS;
    uint32_t u = 1;
    for (size_t i = 0; i < K * N; i++)
        w[i] = (float)(int32_t)(u = u * 1664525 + 1013904223) * 0x1p-31f;
    for (size_t i = 0; i < K; i++)
        for (size_t r = 0; r < R; r++)
            x[r * K + i] = r > 0 ? x[i] : (float)(int32_t)(u = u * 1664525 + 1013904223) * 0x1p-31f;
    tf_sgemm(&(struct tf_sgemm){
        .c = y, .ldc = N, .a = x, .lda = K, .b = w, .ldb = N, .M = R, .N = N, .K = K});
    for (size_t r = 1; r < R; r++)
        if (memcmp(y + r * N, y, N * sizeof *y) != 0)
            return false;
    tf_sgemm(&(struct tf_sgemm){
        .c = y, .ldc = R, .a = w, .lda = K, .b = x, .ldb = K, .M = N, .N = R, .K = K, .bt = true});
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
    float *x = tf_xarray(NULL, TF_OPENBLAS_ROWS * MOST_K, sizeof *x),
          *w = tf_xarray(NULL, MOST_N * MOST_K, sizeof *w),
          *y = tf_xarray(NULL, TF_OPENBLAS_ROWS * MOST_N, sizeof *y);
    bool alike = true;
    for (size_t i = 0; i < sizeof shape / sizeof shape[0]; i++)
        alike = alike && rows_alike(x, w, y, shape[i][0], shape[i][1]);
    free(x);
    free(w);
    free(y);
    return alike;
}

static void load(void)
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
    pthread_once(&once, load);
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
