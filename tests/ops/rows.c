/* rows.c - a row of linear_fwd, and the probability of a target in xent, have the same bytes alone
 * and in any number of rows, wherever they stand: on every kernel set, and for openblas with every
 * core that this processor can run. And how OpenBLAS is loaded. */
/* tags: no-asan no-emulator */
#include "../harness/child.h"
#include "../harness/problem.h"
#include "base/memory.h"
#include "ops/cpu/openblas.h"
#include "ops/registry.h"

#include <dirent.h>
#include <unistd.h>

enum { MOST = 200, VOCAB = 485 };

static float *drawn(size_t n, uint64_t seed)
{
    float *p = tf_xarray(NULL, n, sizeof *p);
    struct tf_rng g = tf_rng_new(seed, 0);
    for (size_t i = 0; i < n; i++)
        p[i] = normal(&g);
    return p;
}

/* Rows from .. from+rows-1 of x [MOST, K]: their y [rows, N] and log p(target) [rows]. */
struct work {
    struct tf_ctx *c;
    const struct tf_backend *be;
    size_t N, K;
    float *x, *w, *b, *e;
    uint32_t target[MOST];
};

static void compute(struct work *w, size_t from, size_t rows, float *y, float *logp)
{
    struct tf_err err = {0};
    uint32_t off[MOST + 1];
    for (size_t i = 0; i <= rows; i++)
        off[i] = (uint32_t)(from + i);
    struct tf_rows *r = w->be->rows_new(w->c, rows, rows, &err);
    if (r == NULL)
        bail_out("%s", err.msg);
    w->be->rows_set(w->c, r, rows, off);
    const float *x = w->x + from * w->K;
    w->be->linear_fwd(w->c, y, x, w->w, w->b, r, (int)w->N, (int)w->K, 0, (struct tf_dropout){0});
    double acc[4] = {0};
    w->be->xent(w->c, &(struct tf_xent){.rows = r,
                                        .x = x,
                                        .e = w->e,
                                        .targets = w->target + from,
                                        .V = VOCAB,
                                        .D = (int)w->K,
                                        .on = 0.9f,
                                        .off = 0.1f / VOCAB,
                                        .acc = acc,
                                        .logp = logp});
    w->be->rows_free(w->c, r);
}

/* The first number of rows with another result, or 0. */
static size_t differs(const struct tf_backend *be, size_t N, size_t K)
{
    struct tf_err err = {0};
    struct work w = {.c = be->open(&(struct tf_ctx_opts){.threads = 1}, &err),
                     .be = be,
                     .N = N,
                     .K = K,
                     .x = drawn(MOST * K, 1),
                     .w = drawn(K * N, 2),
                     .b = drawn(N, 3),
                     .e = drawn(VOCAB * K, 4)};
    float *alone = tf_xarray(NULL, MOST * N, sizeof *alone),
          *y = tf_xarray(NULL, MOST * N, sizeof *y), alone_p[MOST], p[MOST];
    size_t bad = 0;
    for (uint32_t i = 0; i < MOST; i++) {
        w.target[i] = i * 37 % VOCAB;
        compute(&w, i, 1, alone + i * N, alone_p + i);
    }
    for (size_t rows = 1; rows <= MOST && bad == 0; rows += rows < 70 ? 1 : 13) {
        const size_t from = rows * 29 % (MOST - rows + 1);
        compute(&w, from, rows, y, p);
        if (memcmp(y, alone + from * N, rows * N * sizeof *y) != 0 ||
            memcmp(p, alone_p + from, rows * sizeof *p) != 0)
            bad = rows;
    }
    float *all[] = {w.x, w.w, w.b, w.e, alone, y};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        free(all[i]);
    be->close(w.c);
    return bad;
}

static const size_t shapes[][2] = {{1, 1}, {1, 67}, {3, 5}, {7, 33}, {33, 67}, {131, 515}};
enum { SHAPES = sizeof shapes / sizeof shapes[0] };

static void test_set(const struct candidate *v)
{
    for (size_t i = 0; i < SHAPES; i++)
        is_int(differs(v->be, shapes[i][0], shapes[i][1]), 0,
               "%s: N %zu, K %zu: rows alone as among 1 to %d", v->name, shapes[i][0], shapes[i][1],
               MOST);
}

/* ---- in a process of their own: OpenBLAS is loaded once ---- */

/* A core either keeps rows apart or is refused. Prints which; exits with 1 otherwise. */
static void try_core(void *core)
{
    struct tf_err err = {0};
    setenv("OPENBLAS_CORETYPE", core, 1);
    setenv("TF_CPU_ISA", "openblas", 1);
    const struct tf_backend *be = tf_backend_find("cpu", NULL, TF_USE_TRAINING, NULL, &err);
    if (be == NULL) {
        printf("refused: %s", err.msg);
        exit(strstr(err.msg, "a row's bytes depend on the rows around it") != NULL ? 0 : 1);
    }
    printf("%s", tf_openblas_about());
    for (size_t i = 0; i < SHAPES; i++)
        if (differs(be, shapes[i][0], shapes[i][1]) > 0) {
            printf(": rows differ, N %zu, K %zu", shapes[i][0], shapes[i][1]);
            exit(1);
        }
    exit(0);
}

static void test_cores(void)
{
    const struct {
        const char *name;
        bool runs;
    } cores[] = {
#if defined __x86_64__
        {"Prescott", true},
        {"Nehalem", __builtin_cpu_supports("sse4.2") != 0},
        {"Sandybridge", __builtin_cpu_supports("avx") != 0},
        {"Haswell", __builtin_cpu_supports("avx2") != 0},
        {"Zen", __builtin_cpu_supports("avx2") != 0},
        {"SkylakeX", __builtin_cpu_supports("avx512vl") != 0},
#elif defined __aarch64__
        {"ARMV8", true},
        {"CORTEXA57", true},
        {"CORTEXA72", true},
        {"NEOVERSEN1", true},
        {"THUNDERX2T99", true},
#endif
        {"", true}
    };
    for (size_t i = 0; i < sizeof cores / sizeof cores[0]; i++) {
        static struct child c;
        if (!cores[i].runs) {
            skip(cores[i].name);
            continue;
        }
        run_child(&c, try_core, (void *)cores[i].name, NULL);
        is_int(c.status, 0, "core '%s': %s", cores[i].name, c.out);
    }
}

enum { MISSING = 2 };

static int count_tasks(void)
{
    int tasks = 0;
    DIR *d = opendir("/proc/self/task");
    for (struct dirent *e; d != NULL && (e = readdir(d)) != NULL;)
        tasks += e->d_name[0] != '.';
    if (d != NULL)
        closedir(d);
    return tasks;
}

/* Prints what loading adds to the threads, which QEMU has one more of, and the environment after
 * it. */
static void loaded(void *unused)
{
    (void)unused;
    setenv("OPENBLAS_NUM_THREADS", "4", 1);
    unsetenv("OPENBLAS_CORETYPE");
    unsetenv("OMP_NUM_THREADS");
    struct tf_err err = {0};
    const int tasks = count_tasks();
    if (tf_openblas_load(&err) != 0 || tf_openblas_load(&err) != 0) {
        printf("%s", err.msg);
        exit(strstr(err.msg, "No such file") != NULL ? MISSING : 1);
    }
    const char *threads = getenv("OPENBLAS_NUM_THREADS");
    printf("%s; %d more threads, %s %d %d", tf_openblas_about(), count_tasks() - tasks, threads,
           getenv("OPENBLAS_CORETYPE") != NULL, getenv("OMP_NUM_THREADS") != NULL);
    exit(0);
}

/* False if there is no OpenBLAS. */
static bool test_loading(void)
{
    static struct child c;
    run_child(&c, loaded, NULL, NULL);
    if (c.status == MISSING) {
        skip("no openblas");
        return false;
    }
    const char *rest = strchr(c.out, ';');
    if (is_int(c.status, 0, "loads: %s", c.out) && ok(rest != NULL, "says what it is"))
        is_str(rest, "; 0 more threads, 4 0 0", "no threads, and the environment as before");
#if defined __x86_64__
    if (__builtin_cpu_supports("avx"))
        ok(strstr(c.out, "Prescott") == NULL, "a core with AVX: %s", c.out);
#endif
    return true;
}

int main(void)
{
    if (test_loading())
        test_cores();
    struct candidate v[MAX_CANDIDATES];
    size_t n = candidates(v, false);
    for (size_t i = 0; i < n; i++)
        if (v[i].isa != NULL)
            test_set(&v[i]);
    return done();
}
